public import Foundation
internal import OpenSSLCrypto

/// A JSON Web Key with all its members
/// ([RFC 7517 §4](https://www.rfc-editor.org/rfc/rfc7517#section-4)).
///
/// A `JWK` is a document, not yet a key: it can have any `kty`, and keeps members that this package
/// doesn't know. The numbers are checked when you create a ``SigningKey`` or a ``VerificationKey``
/// from it. Descriptions show only the public part, and reflections nothing; ``members`` has
/// everything. A property that is set to `nil` removes its member.
public struct JWK: Sendable, Hashable {
    /// All members, including private ones.
    public var members: JSONObject

    /// Creates a JWK from its members, which must have the right JSON types.
    ///
    /// - Parameter members: The members, at most 128.
    /// - Throws: ``TokenError`` with the code `malformedKey` or `tooLarge`.
    public init(_ members: JSONObject) throws(TokenError) {
        self.members = members
        try checkTypes()
    }

    /// Parses a JWK from JSON text.
    ///
    /// - Parameter text: The JSON text.
    /// - Throws: ``TokenError`` with the code `malformedJSON`, `tooLarge` or `malformedKey`.
    public init(parsing text: String) throws(TokenError) {
        try self.init(JSONObject(parsing: text))
    }

    /// Parses a JWK from JSON text in UTF-8.
    ///
    /// - Parameter data: The JSON text.
    /// - Throws: ``TokenError`` with the code `malformedJSON`, `tooLarge` or `malformedKey`.
    public init(parsing data: Data) throws(TokenError) {
        try self.init(JSONObject(parsing: data))
    }
}

extension JWK {
    /// The key type, `kty`: `EC`, `RSA`, `OKP`, `oct` or another.
    public var keyType: String { members["kty"]?.string ?? "" }
    /// The curve, `crv`, for the key types that have one.
    public var curve: String? { members["crv"]?.string }
    /// The key's ID, `kid`.
    public var keyID: String? {
        get { members["kid"]?.string }
        set { members["kid"] = newValue.map(JSONValue.string) }
    }
    /// The algorithm that the key is for, `alg`.
    ///
    /// It can be any algorithm, not only a signature algorithm.
    public var algorithm: String? {
        get { members["alg"]?.string }
        set { members["alg"] = newValue.map(JSONValue.string) }
    }
    /// The use of the key, `use`: `sig` or `enc`.
    public var use: String? {
        get { members["use"]?.string }
        set { members["use"] = newValue.map(JSONValue.string) }
    }
    /// The operations that the key is for, `key_ops`.
    package var keyOperations: [String]? {
        get { members["key_ops"]?.array?.compactMap(\.string) }
        set { members["key_ops"] = newValue.map { .array($0.map(JSONValue.string)) } }
    }

    /// A Boolean value that indicates whether the key has a private member or is symmetric.
    public var isPrivate: Bool {
        KeyType.privateMembers.contains { members[$0] != nil }
    }

    /// The key without its private members.
    ///
    /// Its `key_ops` are those of the public part: `verify` for `sign`, `encrypt` for `decrypt`,
    /// `wrapKey` for `unwrapKey`. A symmetric key (`oct`) has no usable public part: only its
    /// metadata remains.
    public var publicPart: JWK {
        guard isPrivate else { return self }
        var part = self
        for name in KeyType.privateMembers { part.members[name] = nil }
        if let operations = keyOperations {
            var publicOperations: [JSONValue] = []
            var known: Set<ByteComparedString> = []
            for operation in operations.map(ByteComparedString.init) {
                let counterpart = Self.publicCounterparts[operation] ?? operation
                if known.insert(counterpart).inserted { publicOperations.append(.string(counterpart.text)) }
            }
            part.members["key_ops"] = .array(publicOperations)
        }
        return part
    }

    private static let publicCounterparts = [
        ByteComparedString("sign"): ByteComparedString("verify"),
        ByteComparedString("decrypt"): ByteComparedString("encrypt"),
        ByteComparedString("unwrapKey"): ByteComparedString("wrapKey"),
    ]
}

extension JWK {
    /// The maximum number of members in a JWK, 128.
    ///
    /// Fewer than 30 members are registered.
    static let maximumMemberCount = 128

    private func checkTypes() throws(TokenError) {
        guard members.count <= Self.maximumMemberCount else {
            throw TokenError(
                .tooLarge,
                "the JWK has \(members.count) members, but the limit is \(Self.maximumMemberCount)"
            )
        }
        guard let keyType = members["kty"] else {
            throw TokenError(.malformedKey, "the JWK has no “kty”, the key type")
        }
        guard let keyType = keyType.string, !keyType.isEmpty else {
            throw TokenError(.malformedKey, "“kty” of the JWK must be a non-empty string")
        }
        for name in ["crv", "kid", "alg", "use", "x5u", "x5t", "x5t#S256"] {
            guard let value = members[name] else { continue }
            guard value.string != nil else {
                throw TokenError(.malformedKey, "“\(name)” of the JWK must be a string, not \(value.kind)")
            }
        }
        try checkStrings(in: "x5c")
        if let operations = try checkStrings(in: "key_ops"),
            Set(operations.map(ByteComparedString.init)).count != operations.count
        {
            throw TokenError(.malformedKey, "“key_ops” of the JWK has an operation twice")
        }
    }

    @discardableResult
    private func checkStrings(in name: String) throws(TokenError) -> [String]? {
        guard let value = members[name] else { return nil }
        let strings = value.array?.compactMap(\.string)
        guard let strings, strings.count == value.array?.count else {
            throw TokenError(.malformedKey, "“\(name)” of the JWK must be an array of strings")
        }
        return strings
    }
}

extension JWK: Redacted {
    /// The public part as JSON, with a note if there is a private part.
    public var description: String {
        isPrivate ? "\(publicPart.members) (private members not shown)" : members.description
    }
}
