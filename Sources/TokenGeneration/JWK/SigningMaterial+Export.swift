internal import OpenSSLCrypto

extension SigningMaterial {
    /// Returns the material that verifies the signatures.
    ///
    /// - Throws: ``TokenError`` if OpenSSL can't prepare it.
    func verification(_ details: AlgorithmDescription) throws(TokenError) -> VerificationMaterial {
        if case .hmac(let code, _) = self { return .hmac(code) }
        guard let key = keyPair?.publicKey else { throw TokenError(mismatched: details.algorithm, "a secret") }
        return try VerificationMaterial(key, details)
    }

    /// Returns the private members of the JWK.
    ///
    /// - Throws: ``TokenError`` with the code `malformedKey` if OpenSSL can't export the key.
    func privateMembers() throws(TokenError) -> JSONObject {
        if case .hmac(_, let secret) = self { return ["k": .base64URL(secret.bytes)] }
        return try TokenError.refusingKey(keyPair?.jwkPrivateMembers() ?? [:])
    }

    /// Returns the thumbprint of a secret, which can't be computed from public members, or `nil`
    /// for other keys.
    func secretThumbprint() throws(TokenError) -> String? {
        guard case .hmac = self else { return nil }
        var members = try privateMembers()
        members["kty"] = .string(KeyType.oct.rawValue)
        return try JWK(members).thumbprint
    }
}
