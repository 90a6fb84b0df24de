import TokenGeneration

extension KeyFile {
    /// Returns the recipient's key: a public key, the public part of a private key, or a secret.
    ///
    /// The ID selects the key in a JWK Set.
    func encryptionKey(
        for algorithm: JWEAlgorithm?,
        _ encryption: JWEEncryption?,
        keyID: String?
    ) throws(CommandFailure) -> EncryptionKey {
        if case .set(let set) = content {
            return try KeySetRecipient(set: set, name: name, keyID: keyID).key(algorithm, encryption)
        }
        return try Self.describing(name) {
            try EncryptionCandidates(jwk: encryptionJWK()).encryptionKey(algorithm, encryption)
        }
    }

    /// Returns the keys for decryption: one for each accepted algorithm, of each key in a JWK Set.
    ///
    /// Without a list, all algorithms that fit the key are accepted.
    func decryptionKeys(
        for algorithms: [JWEAlgorithm]?,
        _ encryptions: [JWEEncryption]
    ) throws(CommandFailure) -> [DecryptionKey] {
        try Self.describing(name) {
            guard case .set(let set) = content else {
                return try EncryptionCandidates(jwk: decryptionJWK()).decryptionKeys(algorithms, encryptions)
            }
            var keys: [DecryptionKey] = []
            var reason: TokenError?
            for jwk in set.keys {
                do throws(TokenError) {
                    keys += try EncryptionCandidates(jwk: jwk).decryptionKeys(algorithms, encryptions)
                } catch {
                    reason = reason ?? error
                }
            }
            guard keys.isEmpty else { return keys }
            throw reason ?? TokenError(.unknownKey, "the key set is empty")
        }
    }

    /// Returns the key as a JWK without an algorithm, unless the file is a JWK.
    private func encryptionJWK() throws(TokenError) -> JWK {
        switch content {
        case .pem(let text) where !text.contains("PRIVATE KEY-----"):
            return try Self.withKeyType { algorithm throws(TokenError) in
                try EncryptionKey(pem: text, algorithm: algorithm).jwk
            }
        case .der(let bytes) where Self.isPublicDER(bytes):
            return try Self.withKeyType { algorithm throws(TokenError) in
                try EncryptionKey(der: bytes, algorithm: algorithm).jwk
            }
        default:
            do throws(TokenError) {
                return try decryptionJWK()
            } catch  where error.code == .passwordRequired {
                throw TokenError(
                    .publicKeyRequired,
                    "the private key is encrypted; pass its public part, which jwt key public prints"
                )
            }
        }
    }

    private func decryptionJWK() throws(TokenError) -> JWK {
        switch content {
        case .jwk(let jwk): return jwk
        case .secret(let octets): return try JWK(["kty": "oct", "k": .string(Base64URL.encode(octets))])
        case .pem(let text):
            return try Self.withKeyType { algorithm throws(TokenError) in
                try DecryptionKey(pem: text, password: password, algorithm: algorithm).privateJWK()
            }
        case .der(let bytes):
            return try Self.withKeyType { algorithm throws(TokenError) in
                try DecryptionKey(der: bytes, password: password, algorithm: algorithm).privateJWK()
            }
        case .set: throw TokenError(.unsupportedKey, "contains a JWK Set, but a single key is needed")
        }
    }

    /// Returns the JWK of a key whose type isn't known, without an algorithm.
    private static func withKeyType(_ read: (JWEAlgorithm) throws(TokenError) -> JWK) throws(TokenError) -> JWK {
        for algorithm in [JWEAlgorithm.ecdhESA256KW, .rsaOAEP256] {
            do throws(TokenError) {
                var jwk = try read(algorithm)
                jwk.algorithm = nil
                return jwk
            } catch {
                guard error.code == .algorithmMismatch else { throw error }
            }
        }
        throw TokenError(.unsupportedKey, "the key is for signatures; encryption needs an RSA, EC, X25519 or X448 key")
    }
}
