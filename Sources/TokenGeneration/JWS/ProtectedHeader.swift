/// A JOSE header with well-formed members
/// ([RFC 7515 §4.1](https://www.rfc-editor.org/rfc/rfc7515#section-4.1)).
///
/// It deliberately ignores `jwk`, `jku`, `x5u` and `x5c`, because a key that comes with the token
/// proves nothing.
struct ProtectedHeader {
    let members: JSONObject
    /// The value of `alg`, which can be any name, including `none`.
    let algorithm: String
    /// The value of `kid`, or `nil`.
    ///
    /// In a JSON serialization, it may come from the unprotected header, because it's only a hint.
    private(set) var keyID: String?
    /// The value of `typ`, or `nil`.
    let type: String?

    init(_ members: JSONObject) throws(TokenError) {
        guard let algorithm = try Self.string("alg", in: members) else {
            throw TokenError(.malformedToken, "the header has no “alg”")
        }
        self.members = members
        self.algorithm = algorithm
        keyID = try Self.string("kid", in: members)
        type = try Self.string("typ", in: members)
        _ = try Self.string("cty", in: members)
    }

    /// Creates the header of a token that isn't signed, with the algorithm of its encryption.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`.
    init(_ members: JSONObject, algorithm: String) throws(TokenError) {
        self.members = members
        self.algorithm = algorithm
        keyID = try Self.string("kid", in: members)
        type = try Self.string("typ", in: members)
    }

    /// Rejects a header that requires an extension that the verifier doesn't understand.
    ///
    /// - Throws: ``TokenError`` with the code `criticalHeaderUnsupported`, or `malformedToken` if
    ///   `crit` itself violates
    ///   [RFC 7515 §4.1.11](https://www.rfc-editor.org/rfc/rfc7515#section-4.1.11) or
    ///   [RFC 7797 §6](https://www.rfc-editor.org/rfc/rfc7797#section-6).
    func checkCriticalMembers(understanding extensions: Set<String> = []) throws(TokenError) {
        try CriticalExtensions(of: members).check(areIn: extensions)
    }

    /// Returns the same header with the given key ID.
    func naming(_ keyID: String?) -> ProtectedHeader {
        var header = self
        header.keyID = keyID
        return header
    }

    static func string(_ name: String, in members: JSONObject) throws(TokenError) -> String? {
        try members.string(name, " of the header")
    }
}
