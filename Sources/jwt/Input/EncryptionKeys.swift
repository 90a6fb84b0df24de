import TokenGeneration

extension KeyFile {
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

    /// Returns one key for each accepted algorithm, or for each that fits the key, of each key in a
    /// JWK Set.
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

/// The algorithms that a key can be used for: all of ECDH-ES for an EC key, for example, unless the
/// JWK states `alg`.
struct EncryptionCandidates {
    let jwk: JWK
    /// The set of the key, which limits the size of RSA keys.
    var set: JWKSet?

    /// The algorithms for new tokens, from the preferred one.
    private static let preferences: [JWEAlgorithm] = [.ecdhESA256KW, .rsaOAEP256, .a256KW, .a192KW, .a128KW, .dir]

    /// Returns the key for an algorithm, or that of the JWK, or the preferred one; only `dir` needs
    /// the encryption.
    func encryptionKey(
        _ algorithm: JWEAlgorithm? = nil,
        _ encryption: JWEEncryption? = nil
    ) throws(TokenError) -> EncryptionKey {
        do throws(TokenError) {
            return try key(algorithm, encryption)
        } catch {
            guard algorithm == nil, error.code == .algorithmRequired else { throw error }
        }
        for preference in Self.preferences {
            do throws(TokenError) {
                return try key(preference, encryption)
            } catch  where error.code == .malformedKey && isDamaged {
                throw error
            } catch {
                // The next algorithm may fit.
            }
        }
        throw refusal
    }

    private func key(_ algorithm: JWEAlgorithm?, _ encryption: JWEEncryption?) throws(TokenError) -> EncryptionKey {
        if let set, let algorithm = algorithm ?? jwk.algorithm.flatMap(JWEAlgorithm.init(rawValue:)) {
            return try JWKSet(keys: [jwk], maximumRSAKeySize: set.maximumRSAKeySize).encryptionKey(for: algorithm)
        }
        return try EncryptionKey(jwk: jwk, algorithm: algorithm, encryption: direct(algorithm) ? encryption : nil)
    }

    /// Returns a key for each accepted algorithm, without a list for all that don't need a
    /// password.
    func decryptionKeys(
        _ algorithms: [JWEAlgorithm]?,
        _ encryptions: [JWEEncryption]
    ) throws(TokenError) -> [DecryptionKey] {
        var keys: [DecryptionKey] = []
        var reasons: [TokenError] = []
        for algorithm in algorithms ?? JWEAlgorithm.implemented where !algorithm.usesPassword {
            // A key for dir is for one content encryption.
            for encryption in algorithm == .dir ? encryptions.map(Optional.some) : [nil] {
                do throws(TokenError) {
                    keys.append(try DecryptionKey(jwk: jwk, algorithm: algorithm, encryption: encryption))
                } catch {
                    reasons.append(error)
                }
            }
        }
        guard keys.isEmpty else { return keys }
        if let damage = reasons.first(where: { $0.code == .malformedKey }), isDamaged { throw damage }
        if !jwk.isPrivate, isDamaged { _ = try encryptionKey() }
        if let algorithms, let reason = reasons.first, algorithms.count == 1 { throw reason }
        do throws(TokenError) {
            _ = try DecryptionKey(jwk: jwk)
        } catch {
            throw error.code == .algorithmRequired ? refusal : error
        }
        throw TokenError(
            .algorithmMismatch,
            "the key is for \(jwk.algorithm ?? "another algorithm"), which --alg or --enc doesn't list"
        )
    }

    /// A Boolean value that indicates whether a malformed key is so for every algorithm, unlike a
    /// secret, whose size fits only some.
    private var isDamaged: Bool { jwk.keyType != "oct" || jwk.members["k"]?.string == nil }

    /// Returns whether the content encryption determines the key, as for `dir`.
    private func direct(_ algorithm: JWEAlgorithm?) -> Bool {
        let stated = jwk.algorithm.map { $0 == "dir" || JWEEncryption(rawValue: $0) != nil } ?? false
        return algorithm == .dir || algorithm == nil && stated
    }

    private var refusal: TokenError {
        jwk.keyType == "oct"
            ? TokenError(
                .algorithmMismatch,
                "no accepted algorithm uses a secret of this size; most need 16, 24, 32, 48 or 64 bytes"
            )
            : TokenError(.algorithmMismatch, "the key can't be used with an accepted algorithm; see --alg")
    }
}

struct KeySetRecipient {
    let set: JWKSet
    let name: String
    let keyID: String?

    /// Returns the key with the ID, or the only one that can encrypt, preferring keys that state
    /// `use` or `alg`; secrets in a set are ignored.
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
                    guard jwk.keyType != "oct" else {
                        throw TokenError(.unsupportedKey, "secrets in a key set are ignored")
                    }
                    let candidates = EncryptionCandidates(jwk: jwk, set: set)
                    keys.append((jwk, try candidates.encryptionKey(algorithm, encryption)))
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
}
