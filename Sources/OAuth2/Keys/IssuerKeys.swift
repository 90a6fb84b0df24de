internal import OpenSSLCrypto
public import TokenGeneration

package enum IssuerKeys: Sendable {
    case remote(RemoteJWTVerifier)
    case fixed(JWTVerifier)

    package init(_ keys: RemoteKeySet, _ selection: KeySelection) {
        self = .remote(RemoteJWTVerifier(keys: keys, selection: selection))
    }

    package init(_ keys: JWKSet, _ selection: KeySelection) {
        self = .fixed(JWTVerifier(keys: keys, selection: selection))
    }

    /// Fetches the keys if necessary, and returns the version of the set.
    @discardableResult
    package func prepare() async throws -> Int {
        guard case .remote(let verifier) = self else { return 0 }
        return try await verifier.keys.loaded().version
    }

    package func verify(_ token: String, against policy: ValidationPolicy) async throws -> VerifiedToken {
        switch self {
        case .remote(let verifier): try await verifier.verify(token, against: policy)
        case .fixed(let verifier): try verifier.verify(token, against: policy)
        }
    }

    /// Requires an encrypted token if and only if there's a decrypter.
    func verify(
        _ text: String,
        _ what: String,
        decrypter: JWEDecrypter?,
        algorithms: Set<JWSAlgorithm>,
        against policy: ValidationPolicy
    ) async throws -> VerifiedToken {
        let opened = try decrypter.opened(text, what)
        try UnverifiedToken(opened.text, maximumSize: policy.limits.size).checkAlgorithm(algorithms, of: what)
        return try opened.checked(try await verify(opened.text, against: policy))
    }
}

/// A signed token, not yet verified, with the header of the encryption around it.
package struct OpenedToken: Sendable {
    package let text: String
    /// `nil` if the token isn't encrypted.
    package let encryptionHeader: JSONObject?

    package init(text: String, encryptionHeader: JSONObject? = nil) {
        self.text = text
        self.encryptionHeader = encryptionHeader
    }

    /// Throws if claims in the header of the encryption differ.
    package func checked(_ token: VerifiedToken) throws(TokenError) -> VerifiedToken {
        if let encryptionHeader { try token.check(repeatedIn: encryptionHeader) }
        return token
    }
}

extension JWEDecrypter? {
    /// Requires an encrypted token if and only if there's a decrypter; errors name it `what`.
    package func opened(_ text: String, _ what: String) throws(TokenError) -> OpenedToken {
        guard let decrypter = self else {
            guard Self.segmentCount(of: text) != 5 else {
                throw TokenError(
                    .malformedToken,
                    "\(what) is encrypted (a JWE), but no `decrypter` is set for the keys that the client registered"
                )
            }
            return OpenedToken(text: text)
        }
        try Self.checkIsEncrypted(text, what)
        let jwe = try decrypter.decrypt(compact: text)
        return OpenedToken(text: try jwe.signedToken(), encryptionHeader: jwe.header)
    }

    /// Checks that a token isn't only signed.
    package static func checkIsEncrypted(_ text: String, _ what: String) throws(TokenError) {
        guard segmentCount(of: text) != 3 else {
            throw TokenError(
                .algorithmMismatch,
                "\(what) isn't encrypted, as the `decrypter` requires; check the client's registration"
            )
        }
    }

    private static func segmentCount(of text: String) -> Int { text.utf8.count { $0 == UInt8(ascii: ".") } + 1 }
}

extension KeySelection {
    /// Creates a selection that assumes the expected algorithms for keys that don't state one.
    init(expecting algorithms: Set<JWSAlgorithm>) {
        self.init(assumedAlgorithms: algorithms.sorted { $0.rawValue < $1.rawValue })
    }
}

extension UnverifiedToken {
    /// Rejects a token signed with an unexpected algorithm, before its key is fetched.
    func checkAlgorithm(_ algorithms: Set<JWSAlgorithm>, of what: String) throws(TokenError) {
        let name = unverifiedHeader["alg"]?.string
        // `none` isn't a valid `JWSAlgorithm`, so it never matches.
        guard let algorithm = name.flatMap(JWSAlgorithm.init(rawValue:)), algorithms.contains(algorithm) else {
            let expected = algorithms.map(\.rawValue).sorted().joined(separator: " or ")
            throw TokenError(
                .algorithmMismatch,
                "\(what) is not signed with the algorithm registered for the client: \(expected)"
            )
        }
    }
}

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
