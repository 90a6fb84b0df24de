/// The `application/x-www-form-urlencoded` format of OAuth 2
/// ([RFC 6749 Appendix B](https://www.rfc-editor.org/rfc/rfc6749#appendix-B)).
///
/// Foundation's `URLComponents` doesn't escape `+` and `/`, so servers decode a token's `+` as a
/// space.
package enum FormURLEncoded {
    /// The media type of the format.
    package static let contentType = "application/x-www-form-urlencoded"

    /// Encodes name–value pairs in order.
    package static func encode(_ pairs: [(name: String, value: String)]) -> String {
        pairs.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
    }

    /// Encodes a name or value.
    ///
    /// Letters, digits and `*-._` are kept, a space becomes `+`, and other UTF-8 bytes `%XX`.
    package static func encode(_ text: String) -> String {
        let encoded = PercentEncoding.encode(text) { byte in
            byte == UInt8(ascii: " ") || byte == UInt8(ascii: "*")
                || PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: "~")
        }
        return String(decoding: encoded.utf8.map { $0 == UInt8(ascii: " ") ? UInt8(ascii: "+") : $0 }, as: UTF8.self)
    }

    /// Decodes the pairs of a form, in order; returns `nil` if an escape is malformed or the bytes
    /// aren't UTF-8.
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

    /// Decodes a name or value; returns `nil` if an escape is malformed or the bytes aren't UTF-8.
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
            let digits = byte == UInt8(ascii: "%") ? rest.prefix(2).compactMap(PercentEncoding.hexValue) : []
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
