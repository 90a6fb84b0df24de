import TokenGeneration

/// The recipient whose key is in a JWK Set.
struct KeySetRecipient {
    let set: JWKSet
    /// The name of the set in messages.
    let name: String
    /// The ID of the key, if the user specifies one.
    let keyID: String?

    /// Returns the key to encrypt with: the one with the ID, or the only one that can encrypt.
    ///
    /// Keys with `use` or `alg` for encryption take precedence over those that don't state a use.
    /// Secrets in a set are ignored.
    func key(_ algorithm: JWEAlgorithm?, _ encryption: JWEEncryption?) throws(CommandFailure) -> EncryptionKey {
        try KeyFile.describing(name) {
            let named = keyID.map { set.keys(withID: $0) } ?? set.keys
            guard !named.isEmpty else {
                throw TokenError(.unknownKey, "the key set has no key\(keyID == nil ? "" : " with this kid")")
            }
            var keys: [(jwk: JWK, key: EncryptionKey)] = []
            var reason: TokenError?
            for jwk in named {
                do throws(TokenError) {
                    keys.append((jwk, try key(of: jwk, algorithm, encryption)))
                } catch {
                    reason = reason ?? error
                }
            }
            let stated = keys.filter { $0.jwk.use == "enc" || $0.jwk.algorithm != nil }
            let matches = stated.isEmpty ? keys : stated
            guard let match = matches.first else {
                let details = named.count == 1 ? reason.map { ": \($0.message)" } ?? "" : ""
                throw TokenError(.unknownKey, "the key set has no matching key for encryption\(details)")
            }
            guard matches.count == 1 else {
                throw TokenError(.ambiguousKey, "several keys in the set can encrypt; choose one with --kid")
            }
            return match.key
        }
    }

    private func key(
        of jwk: JWK,
        _ algorithm: JWEAlgorithm?,
        _ encryption: JWEEncryption?
    ) throws(TokenError) -> EncryptionKey {
        guard jwk.keyType != "oct" else { throw TokenError(.unsupportedKey, "secrets in a key set are ignored") }
        return try EncryptionCandidates(jwk: jwk).encryptionKey(algorithm, encryption) {
            jwk,
            algorithm,
            _ throws(TokenError) in
            guard let algorithm = algorithm ?? jwk.algorithm.flatMap(JWEAlgorithm.init(rawValue:)) else {
                return try EncryptionKey(jwk: jwk)
            }
            // The set limits the size of RSA keys.
            return try JWKSet(keys: [jwk], maximumRSAKeySize: set.maximumRSAKeySize).encryptionKey(for: algorithm)
        }
    }
}
