/// The `application/x-www-form-urlencoded` format as OAuth 2 uses it
/// ([RFC 6749 Appendix B](https://www.rfc-editor.org/rfc/rfc6749#appendix-B)).
///
/// Foundation's `URLComponents` leaves `+` and `/` bare, which turns every `+` of a token into a space at the server.
package enum FormURLEncoded {
    /// The media type of the format.
    package static let contentType = "application/x-www-form-urlencoded"

    /// Joins name–value pairs in their order.
    package static func encode(_ pairs: [(name: String, value: String)]) -> String {
        pairs.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
    }

    /// Encodes one name or value: letters, digits and `*-._` stay, a space becomes `+`, all else `%XX` of its UTF-8.
    package static func encode(_ text: String) -> String {
        let encoded = PercentEncoding.encode(text) { byte in
            byte == UInt8(ascii: " ") || byte == UInt8(ascii: "*")
                || PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: "~")
        }
        return String(decoding: encoded.utf8.map { $0 == UInt8(ascii: " ") ? UInt8(ascii: "+") : $0 }, as: UTF8.self)
    }

    /// Splits a form into its pairs, in order.
    ///
    /// - Returns: `nil` if an escape is malformed or the octets are not UTF-8.
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

    /// Decodes one name or value.
    ///
    /// - Returns: `nil` if an escape is malformed or the octets are not UTF-8.
    package static func decodeComponent(_ text: some StringProtocol) -> String? {
        decodeComponent(octets: text.utf8)
    }

    private static func decodeComponent(octets: some Sequence<UInt8>) -> String? {
        let octets = octets.lazy.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        return PercentEncoding.decode(octets: octets).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
