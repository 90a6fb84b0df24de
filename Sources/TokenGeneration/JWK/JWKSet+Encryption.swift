extension JWKSet {
    /// Returns the key in the set to encrypt with, such as a client's key from its `jwks_uri`.
    ///
    /// Keys with another `alg`, with a `use` other than `enc`, and symmetric keys are ignored.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm to encrypt with.
    ///   - keyID: The key's ID. The default, `nil`, is for sets with one matching key.
    /// - Returns: The key, with its ID.
    /// - Throws: ``TokenError`` with the code `unknownKey` if no key matches, `ambiguousKey` if
    ///   several match, or the reason why the only matching key can't be used.
    public func encryptionKey(for algorithm: JWEAlgorithm, keyID: String? = nil) throws(TokenError) -> EncryptionKey {
        let matches = keys.filter { jwk in
            guard let stated = try? jwk.statedEncryption(for: .encryption, algorithm, nil), stated.type != .oct,
                algorithm.details.fits(stated.type, curve: stated.curve)
            else { return false }
            return keyID.map { jwk.keyID?.isExactly($0) ?? false } ?? true
        }
        guard let jwk = matches.first else {
            throw TokenError(.unknownKey, "the key set has no matching key to encrypt with \(algorithm)")
        }
        guard matches.count == 1 else {
            throw TokenError(.ambiguousKey, "several keys in the set can encrypt with \(algorithm); name the key's ID")
        }
        return try EncryptionKey(
            jwk: jwk,
            algorithm: algorithm,
            encryption: nil,
            maximumRSAKeySize: maximumRSAKeySize
        )
    }
}
