import Networking

/// The parameters of a query in the form of RFC 9421
/// ([§2.2.8](https://www.rfc-editor.org/rfc/rfc9421#section-2.2.8)).
///
/// The query is parsed as `application/x-www-form-urlencoded`, and names and values are encoded
/// again ([URL Standard](https://url.spec.whatwg.org/#application/x-www-form-urlencoded)).
enum QueryParameters {
    /// Returns the encoded value of a component that is a parameter.
    ///
    /// - Throws: ``HTTPSignatureError`` with the code `invalidComponent` if the parameter occurs
    ///   more than once or its value isn't UTF-8, `missingComponent` if it doesn't occur.
    static func value(of component: ComponentIdentifier, in query: String) throws(HTTPSignatureError) -> String {
        let name = component.text(of: "name") ?? ""
        var value: [UInt8]?
        for sequence in query.utf8.split(separator: UInt8(ascii: "&")) {
            let end = sequence.firstIndex(of: UInt8(ascii: "=")) ?? sequence.endIndex
            let found = encoded(FormURLEncoded.decodeLeniently(sequence[..<end]))
            guard found.utf8.elementsEqual(name.utf8) else { continue }
            guard value == nil else { throw component.invalid("occurs more than once in the query; cover “@query”") }
            value = FormURLEncoded.decodeLeniently(sequence[end...].dropFirst())
        }
        guard let value else {
            throw HTTPSignatureError(
                .missingComponent,
                "the query has no parameter for the component \(component.shown)"
            )
        }
        // The standard would replace invalid bytes, so that different values look the same.
        guard String(validating: value, as: UTF8.self) != nil else {
            throw component.invalid("has a value that isn't UTF-8; cover “@query”")
        }
        return encoded(value)
    }

    /// Encodes all bytes except letters, digits and `*-._`.
    static func encoded(_ octets: [UInt8]) -> String {
        PercentEncoding.encode(octets: octets) { byte in
            byte == UInt8(ascii: "*") || PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: "~")
        }
    }
}
