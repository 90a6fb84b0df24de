internal import OpenSSLCrypto

/// The percent-encoding of RFC 3986 §2.1, applied to the bytes of UTF-8 text.
///
/// Foundation's character sets don't escape `+`, `&` and `=` where required, so this type defines
/// the allowed bytes.
package enum PercentEncoding {
    package static func encode(
        _ text: some StringProtocol,
        keeping stays: (UInt8) -> Bool = PercentEncoding.isUnreserved
    ) -> String {
        encode(octets: text.utf8, keeping: stays)
    }

    /// The bytes to keep must be ASCII, or whole characters.
    package static func encode(octets: some Sequence<UInt8>, keeping stays: (UInt8) -> Bool) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(octets.underestimatedCount)
        for byte in octets {
            if stays(byte) { encoded.append(byte) } else { escape(byte, into: &encoded) }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Encodes the invalid bytes of a text, keeping well-formed escapes and allowed bytes, so that
    /// ``isEncoded(_:allowing:)`` is `true` for the result.
    package static func repaired(_ text: some StringProtocol, allowing isAllowed: (UInt8) -> Bool) -> String {
        let octets = Array(text.utf8)
        var encoded: [UInt8] = []
        encoded.reserveCapacity(octets.count)
        for (index, byte) in octets.enumerated() {
            let isEscape =
                byte == UInt8(ascii: "%") && index + 2 < octets.count && octets[index + 1].hexadecimalValue != nil
                && octets[index + 2].hexadecimalValue != nil
            if isEscape || isAllowed(byte) { encoded.append(byte) } else { escape(byte, into: &encoded) }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Doesn't decode `+`; returns `nil` if an escape is malformed.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        decode(octets: text.utf8)
    }

    /// Returns `nil` if an escape is malformed.
    package static func decode(octets: some Sequence<UInt8>) -> [UInt8]? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(octets.underestimatedCount)
        var bytes = octets.makeIterator()
        while let byte = bytes.next() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard let high = bytes.next()?.hexadecimalValue, let low = bytes.next()?.hexadecimalValue else {
                return nil
            }
            decoded.append(high << 4 | low)
        }
        return decoded
    }

    package static func isEncoded(_ text: some StringProtocol, allowing isAllowed: (UInt8) -> Bool) -> Bool {
        decode(text) != nil && text.utf8.allSatisfy { $0 == UInt8(ascii: "%") || isAllowed($0) }
    }

    /// [RFC 3986 §2.3](https://www.rfc-editor.org/rfc/rfc3986#section-2.3).
    package static func isUnreserved(_ byte: UInt8) -> Bool { byte.isUnreserved }

    /// A character of a segment ([RFC 3986
    /// §3.3](https://www.rfc-editor.org/rfc/rfc3986#section-3.3)).
    package static func isPathCharacter(_ byte: UInt8) -> Bool {
        isQueryCharacter(byte) && byte != UInt8(ascii: "/") && byte != UInt8(ascii: "?")
    }

    /// [RFC 3986 §3.4](https://www.rfc-editor.org/rfc/rfc3986#section-3.4).
    package static func isQueryCharacter(_ byte: UInt8) -> Bool { byte.isURICharacter }

    private static func escape(_ byte: UInt8, into encoded: inout [UInt8]) {
        encoded.append(UInt8(ascii: "%"))
        encoded.append(hexDigit(byte >> 4))
        encoded.append(hexDigit(byte & 0x0F))
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}

/// The `application/x-www-form-urlencoded` format of OAuth 2
/// ([RFC 6749 Appendix B](https://www.rfc-editor.org/rfc/rfc6749#appendix-B)).
///
/// Foundation's `URLComponents` doesn't escape `+` and `/`, so servers decode a token's `+` as a
/// space.
package enum FormURLEncoded {
    package static let contentType = "application/x-www-form-urlencoded"

    package static func encode(_ pairs: [(name: String, value: String)]) -> String {
        pairs.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
    }

    /// Keeps letters, digits and `*-._`; a space becomes `+`.
    package static func encode(_ text: String) -> String {
        let encoded = PercentEncoding.encode(text) { byte in
            byte == UInt8(ascii: " ") || byte == UInt8(ascii: "*")
                || PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: "~")
        }
        return String(decoding: encoded.utf8.map { $0 == UInt8(ascii: " ") ? UInt8(ascii: "+") : $0 }, as: UTF8.self)
    }

    /// Returns `nil` if an escape is malformed or the bytes aren't UTF-8.
    package static func decode(_ form: some StringProtocol) -> [(name: String, value: String)]? {
        var pairs: [(name: String, value: String)] = []
        for pair in form.utf8.split(separator: UInt8(ascii: "&")) {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard let name = decodeComponent(octets: pair[..<end]),
                let value = decodeComponent(octets: pair[end...].dropFirst())
            else { return nil }
            pairs.append((name, value))
        }
        return pairs
    }

    /// Returns `nil` if an escape is malformed or the bytes aren't UTF-8.
    package static func decodeComponent(_ text: some StringProtocol) -> String? {
        decodeComponent(octets: text.utf8)
    }

    private static func decodeComponent(octets: some Sequence<UInt8>) -> String? {
        let octets = octets.lazy.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return PercentEncoding.decode(octets: octets).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Decodes the bytes of a name or value, and keeps malformed escapes.
    package static func decodeLeniently(_ octets: some Sequence<UInt8>) -> [UInt8] {
        var rest = Array(octets)[...]
        var decoded: [UInt8] = []
        while let byte = rest.popFirst() {
            let digits = byte == UInt8(ascii: "%") ? rest.prefix(2).compactMap(\.hexadecimalValue) : []
            if digits.count == 2 {
                decoded.append(digits[0] << 4 | digits[1])
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return decoded
    }
}
