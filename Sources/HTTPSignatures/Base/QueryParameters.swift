import Networking

/// The parameters of a query in the form of RFC 9421
/// ([§2.2.8](https://www.rfc-editor.org/rfc/rfc9421#section-2.2.8)).
///
/// The query is parsed as `application/x-www-form-urlencoded`, and names and values are encoded
/// again ([URL Standard](https://url.spec.whatwg.org/#application/x-www-form-urlencoded)).
enum QueryParameters {
    /// Returns the encoded value of the only parameter with an encoded name.
    ///
    /// - Returns: The value, or `nil` if the query doesn't have the parameter.
    /// - Throws: ``Repeated`` if the query has it more than once, ``NotUnicode`` if its value isn't
    ///   UTF-8.
    static func value(of name: String, in query: String) throws -> String? {
        var found: [UInt8]?
        for sequence in query.utf8.split(separator: UInt8(ascii: "&")) {
            let end = sequence.firstIndex(of: UInt8(ascii: "=")) ?? sequence.endIndex
            guard encoded(decoded(sequence[..<end])).utf8.elementsEqual(name.utf8) else { continue }
            guard found == nil else { throw Repeated() }
            found = decoded(sequence[end...].dropFirst())
        }
        guard let found else { return nil }
        // The standard would replace invalid bytes, so that different values look the same.
        guard String(validating: found, as: UTF8.self) != nil else { throw NotUnicode() }
        return encoded(found)
    }

    struct Repeated: Error {}
    struct NotUnicode: Error {}

    /// Encodes all bytes except letters, digits and `*-._`.
    static func encoded(_ octets: [UInt8]) -> String {
        PercentEncoding.encode(octets: octets) { byte in
            byte == UInt8(ascii: "*") || PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: "~")
        }
    }

    /// Decodes escapes and plus signs.
    ///
    /// A percent sign that doesn't begin an escape stands for itself.
    private static func decoded(_ text: Substring.UTF8View) -> [UInt8] {
        let octets = Array(text)
        var decoded: [UInt8] = []
        decoded.reserveCapacity(octets.count)
        var index = 0
        while index < octets.count {
            if octets[index] == UInt8(ascii: "%"), index + 2 < octets.count,
                let high = PercentEncoding.hexValue(octets[index + 1]),
                let low = PercentEncoding.hexValue(octets[index + 2])
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(octets[index] == UInt8(ascii: "+") ? UInt8(ascii: " ") : octets[index])
                index += 1
            }
        }
        return decoded
    }
}
