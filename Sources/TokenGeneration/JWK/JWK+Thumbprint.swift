extension JWK {
    /// The SHA-256 thumbprint in base64url ([RFC 7638](https://www.rfc-editor.org/rfc/rfc7638)).
    ///
    /// It covers only the members that define the key. A private key and its public part therefore
    /// have the same thumbprint, regardless of `kid` or `alg`. The key's numbers aren't checked.
    ///
    /// - Warning: The thumbprint of a symmetric key (`oct`) is a hash of the secret. Don't publish
    ///   it if the secret could be guessed.
    /// - Throws: ``TokenError`` as ``thumbprint(_:)`` does.
    public var thumbprint: String {
        get throws(TokenError) { try thumbprint(.sha256) }
    }

    /// Returns the thumbprint in base64url, computed with the given hash function.
    ///
    /// - Parameter hash: The hash function.
    /// - Returns: The thumbprint. With SHA-256, it's the same as ``thumbprint``.
    /// - Throws: ``TokenError`` with the code `unsupportedKey` if thumbprints aren't defined for
    ///   the key type, or `malformedKey` if a member is missing.
    public func thumbprint(_ hash: NamedHash) throws(TokenError) -> String {
        try hash.digest(of: thumbprintInput().serializedBytes(), failure: .malformedKey)
    }

    /// Returns the thumbprint as a URI ([RFC 9278](https://www.rfc-editor.org/rfc/rfc9278)).
    ///
    /// - Parameter hash: The hash function. The default is SHA-256.
    /// - Returns: The URI: `urn:ietf:params:oauth:jwk-thumbprint:sha-256:`, for example, followed
    ///   by the thumbprint.
    /// - Throws: ``TokenError`` as ``thumbprint(_:)`` does.
    public func thumbprintURI(_ hash: NamedHash = .sha256) throws(TokenError) -> String {
        "urn:ietf:params:oauth:jwk-thumbprint:\(hash.rawValue):\(try thumbprint(hash))"
    }

    private func thumbprintInput() throws(TokenError) -> JSONObject {
        guard let names = KeyType(rawValue: keyType).thumbprintMembers else {
            throw TokenError(
                .unsupportedKey,
                "thumbprints aren't defined for kty \(TokenError.shown(keyType))"
            )
        }
        var input = JSONObject()
        for name in names {
            guard let value = members[name]?.string else {
                throw TokenError(.malformedKey, "the thumbprint requires “\(name)” of the JWK to be a string")
            }
            input[name] = .string(value)
        }
        return input
    }
}
