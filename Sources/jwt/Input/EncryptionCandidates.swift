import TokenGeneration

/// The algorithms that a key can be used for with encrypted tokens.
///
/// Most keys can be used with several algorithms: an EC key with all of ECDH-ES, a secret of 32
/// bytes with A256KW, A256GCMKW and `dir`. A JWK that states `alg` is for that one alone.
struct EncryptionCandidates {
    let jwk: JWK

    /// The algorithms for new tokens, from the preferred one.
    private static let preferences: [JWEAlgorithm] = [.ecdhESA256KW, .rsaOAEP256, .a256KW, .a192KW, .a128KW, .dir]

    /// Returns the key for encryption with an algorithm: by default with that of the JWK, or with
    /// the preferred one.
    ///
    /// Only a key for `dir` may need the content encryption.
    func encryptionKey(
        _ algorithm: JWEAlgorithm? = nil,
        _ encryption: JWEEncryption? = nil,
        _ make: (JWK, JWEAlgorithm?, JWEEncryption?) throws(TokenError) -> EncryptionKey =
            EncryptionKey.init(jwk:algorithm:encryption:)
    ) throws(TokenError) -> EncryptionKey {
        do throws(TokenError) {
            return try make(jwk, algorithm, direct(algorithm) ? encryption : nil)
        } catch {
            guard algorithm == nil, error.code == .algorithmRequired else { throw error }
        }
        for preference in Self.preferences {
            let key = try? make(jwk, preference, direct(preference) ? encryption : nil)
            if let key { return key }
        }
        throw refusal
    }

    /// Returns a key for decryption with each accepted algorithm that the JWK can be used for.
    ///
    /// Without a list, all algorithms that don't need a password are accepted.
    ///
    /// - Throws: ``TokenError`` with the reason if there's no such key.
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

    /// Returns whether the content encryption determines the key: for `dir`, also by its name in
    /// the JWK.
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
