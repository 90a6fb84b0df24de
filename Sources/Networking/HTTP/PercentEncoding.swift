/// The percent-encoding of RFC 3986 §2.1, applied to the bytes of UTF-8 text.
///
/// Foundation's character sets don't escape `+`, `&` and `=` where required, so this type defines
/// the allowed bytes.
package enum PercentEncoding {
    /// Encodes all bytes except those to keep, by default unreserved characters, with upper-case
    /// hex digits.
    package static func encode(
        _ text: some StringProtocol,
        keeping stays: (UInt8) -> Bool = PercentEncoding.isUnreserved
    ) -> String {
        encode(octets: text.utf8, keeping: stays)
    }

    /// Encodes all bytes except those to keep, which must be ASCII.
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
                byte == UInt8(ascii: "%") && index + 2 < octets.count && hexValue(octets[index + 1]) != nil
                && hexValue(octets[index + 2]) != nil
            if isEscape || isAllowed(byte) { encoded.append(byte) } else { escape(byte, into: &encoded) }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Decodes the escapes of a text, but no `+`; returns `nil` if one is malformed.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        decode(octets: text.utf8)
    }

    /// Decodes the escapes of UTF-8 text; returns `nil` if one is malformed.
    package static func decode(octets: some Sequence<UInt8>) -> [UInt8]? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(octets.underestimatedCount)
        var bytes = octets.makeIterator()
        while let byte = bytes.next() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard let high = bytes.next().flatMap(hexValue), let low = bytes.next().flatMap(hexValue) else {
                return nil
            }
            decoded.append(high << 4 | low)
        }
        return decoded
    }

    /// Returns whether each byte is allowed or part of a well-formed escape.
    package static func isEncoded(_ text: some StringProtocol, allowing isAllowed: (UInt8) -> Bool) -> Bool {
        decode(text) != nil && text.utf8.allSatisfy { $0 == UInt8(ascii: "%") || isAllowed($0) }
    }

    /// Returns whether the byte is `unreserved`
    /// ([RFC 3986 §2.3](https://www.rfc-editor.org/rfc/rfc3986#section-2.3)).
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Returns whether the byte is valid in a path segment
    /// ([RFC 3986 §3.3](https://www.rfc-editor.org/rfc/rfc3986#section-3.3)).
    package static func isPathCharacter(_ byte: UInt8) -> Bool {
        isUnreserved(byte) || isSubDelimiter(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "@")
    }

    /// Returns whether the byte is valid in a query
    /// ([RFC 3986 §3.4](https://www.rfc-editor.org/rfc/rfc3986#section-3.4)).
    package static func isQueryCharacter(_ byte: UInt8) -> Bool {
        isPathCharacter(byte) || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?")
    }

    private static func isSubDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("),
            UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ";"),
            UInt8(ascii: "="):
            true
        default: false
        }
    }

    private static func escape(_ byte: UInt8, into encoded: inout [UInt8]) {
        encoded.append(UInt8(ascii: "%"))
        encoded.append(hexDigit(byte >> 4))
        encoded.append(hexDigit(byte & 0x0F))
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    /// Returns the value of a hexadecimal digit, or `nil` for another byte.
    package static func hexValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
