/// The fields of a request that a response depends on
/// ([RFC 9111 §4.1](https://www.rfc-editor.org/rfc/rfc9111#section-4.1)).
enum CacheVariant {
    private static let maximumLength = 1_024
    private static let maximumCount = 16

    /// The fields whose members have no order and no case.
    private static let unorderedFields: Set = ["accept-charset", "accept-encoding", "accept-language"]

    /// Returns the sorted lowercase names in a response's `Vary`; `nil` if it matches no request.
    ///
    /// A response with `*`, a malformed name, or more names than servers need isn't stored.
    static func fields(_ headers: HTTPHeaders) -> [String]? {
        let values = headers.values(for: "Vary")
        guard !values.isEmpty else { return [] }
        guard values.reduce(0, { $0 + $1.utf8.count }) <= maximumLength else { return nil }
        let names = values.flatMap { $0.asciiOnly.split(separator: ",") }
            .map { $0.trimmingHTTPWhitespace.lowercased() }
            .filter { !$0.isEmpty }
        let unique = Set(names)
        guard unique.count <= maximumCount, !unique.contains("*"), unique.allSatisfy(HTTPSyntax.isToken) else {
            return nil
        }
        return unique.sorted()
    }

    /// Returns a digest of the request's values of the given fields; `nil` if OpenSSL fails.
    ///
    /// The values can be secret, so they aren't stored.
    static func of(_ request: HTTPRequest, fields: [String]) -> String? {
        guard !fields.isEmpty else { return "" }
        return CacheDigest.of(
            fields.flatMap { name in
                guard let value = request.headers.combined(name) else { return [name] }
                return [name, normalized(value, of: name), ""]
            }
        )
    }

    /// Returns a value without differences that don't change its meaning.
    private static func normalized(_ value: String, of name: String) -> String {
        // White space within a quoted string is significant.
        guard !value.utf8.contains(UInt8(ascii: "\"")) else { return value }
        var members = value.utf8.split(separator: UInt8(ascii: ",")).map { Substring($0).trimmingHTTPWhitespace }
            .filter { !$0.isEmpty }
            .map(String.init)
        if unorderedFields.contains(name) { members = members.map { $0.lowercased() }.sorted() }
        return members.joined(separator: ",")
    }
}
