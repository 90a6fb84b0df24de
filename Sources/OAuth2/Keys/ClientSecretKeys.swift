internal import OpenSSLCrypto
public import TokenGeneration

extension DecryptionKey {
    /// Creates the key that a client and its server derive from the client's secret ([OpenID
    /// Connect Core 1.0 §10.2](https://openid.net/specs/openid-connect-core-1_0.html#Encryption)).
    ///
    /// The key is the start of a hash of the secret's UTF-8 bytes: SHA-256 for up to 256 bits,
    /// SHA-384 for up to 384, and SHA-512 for up to 512.
    ///
    /// - Parameters:
    ///   - clientSecret: The client's secret, at least 16 bytes. It must be random, because the
    ///     derivation doesn't slow down guesses.
    ///   - algorithm: `dir`, or an algorithm that wraps keys with AES, such as A256KW.
    ///   - encryption: The content encryption, which determines the size of a key for `dir`. The
    ///     default is A128CBC-HS256, as in client registration.
    /// - Throws: `TokenError` with the code `weakKey` if the secret is too short, or
    ///   `algorithmMismatch` for an algorithm without a shared key.
    public init(
        clientSecret: Secret,
        algorithm: JWEAlgorithm,
        encryption: JWEEncryption = .a128CBCHS256
    ) throws(TokenError) {
        var derived = try clientSecret.derivedKey(for: algorithm, encryption)
        defer { derived.clear() }
        try self.init(secret: derived, algorithm: algorithm, encryption: algorithm == .dir ? encryption : nil)
    }
}

extension EncryptionKey {
    /// Creates the key that a client and its server derive from the client's secret, for example to
    /// encrypt a ``SignedAuthorizationRequest``.
    ///
    /// - Parameters:
    ///   - clientSecret: The client's secret, as for
    ///     `DecryptionKey.init(clientSecret:algorithm:encryption:)`.
    ///   - algorithm: `dir`, or an algorithm that wraps keys with AES, such as A256KW.
    ///   - encryption: The content encryption, which determines the size of a key for `dir`. The
    ///     default is A128CBC-HS256, as in client registration.
    /// - Throws: `TokenError` with the code `weakKey` if the secret is too short, or
    ///   `algorithmMismatch` for an algorithm without a shared key.
    public init(
        clientSecret: Secret,
        algorithm: JWEAlgorithm,
        encryption: JWEEncryption = .a128CBCHS256
    ) throws(TokenError) {
        self = try DecryptionKey(clientSecret: clientSecret, algorithm: algorithm, encryption: encryption)
            .encryptionKey
    }
}

extension Secret {
    /// The minimum size in bytes of a secret that keys are derived from: 128 bits.
    private static let minimumKeySource = 16

    /// Returns the start of the secret's hash, with the size of an algorithm's key.
    fileprivate func derivedKey(
        for algorithm: JWEAlgorithm,
        _ encryption: JWEEncryption
    ) throws(TokenError) -> [UInt8] {
        guard let size = algorithm.secretSize(for: encryption) else {
            throw TokenError(
                .algorithmMismatch,
                "\(algorithm) has no key that is derived from the client's secret; use dir or AES key wrap"
            )
        }
        let function: HashFunction = size <= 32 ? .sha256 : size <= 48 ? .sha384 : .sha512
        var source = expose { Array($0.utf8) }
        defer { source.clear() }
        guard source.count >= Self.minimumKeySource else {
            throw TokenError(
                .weakKey,
                "the client's secret has fewer than \(Self.minimumKeySource) bytes, so a key derived from it can be guessed"
            )
        }
        do throws(CryptoError) {
            var hash = try source.withBytes { bytes throws(CryptoError) in try function.hash(bytes) }
            defer { hash.clear() }
            return Array(hash.prefix(size))
        } catch {
            throw TokenError(.weakKey, "no key can be derived from the client's secret", cause: error)
        }
    }
}
