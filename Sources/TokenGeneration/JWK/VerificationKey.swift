internal import OpenSSLCrypto

/// A key that verifies with exactly one algorithm: a public key, or the secret of an HMAC
/// algorithm.
///
/// It's checked when it's created and never changes. Copies share it.
public struct VerificationKey: Sendable {
    private let storage: Storage

    private final class Storage: Sendable {
        let choice: AlgorithmChoice
        let algorithm: JWSAlgorithm
        let jwk: JWK
        let thumbprint: String
        let material: VerificationMaterial

        init(_ choice: AlgorithmChoice, _ jwk: JWK, _ thumbprint: String, _ material: VerificationMaterial) {
            self.choice = choice
            algorithm = choice.details.algorithm
            self.jwk = jwk
            self.thumbprint = thumbprint
            self.material = material
        }
    }

    /// Creates a key from a JWK.
    ///
    /// The initializer checks the numbers, and that `use`, `key_ops` and `alg` allow verifying.
    ///
    /// - Parameters:
    ///   - jwk: A JWK. Private members of a key pair are dropped unread;
    ///     ``SigningKey/init(jwk:algorithm:)`` checks them. A JWK of kty `oct` must have `k`. An
    ///     RSA modulus has at most 8192 bits.
    ///   - algorithm: The algorithm that the key is for, if the JWK doesn't state `alg`. The
    ///     default, `nil`, uses the only algorithm that the key supports.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `weakKey`,
    ///   `tooLarge`, `keyMismatch`, `algorithmRequired`, `algorithmMismatch` or
    ///   `unsupportedAlgorithm`.
    public init(jwk: JWK, algorithm: JWSAlgorithm? = nil) throws(TokenError) {
        try self.init(jwk: jwk, algorithm: algorithm, maximumRSAKeySize: RSAKeyLimit.configuration)
    }

    /// Creates a key from a JWK, as ``init(jwk:algorithm:)`` does, with a limit on the RSA modulus
    /// size in bits.
    init(jwk: JWK, algorithm: JWSAlgorithm?, maximumRSAKeySize: Int) throws(TokenError) {
        let choice = try jwk.algorithmChoice(for: .verification, wanted: algorithm)
        try self.init(jwk, choice, maximumRSAKeySize: maximumRSAKeySize)
    }

    /// Prepares the key of a JWK whose declarations have been found to allow verifying.
    init(_ jwk: JWK, _ choice: AlgorithmChoice, maximumRSAKeySize: Int) throws(TokenError) {
        guard choice.details.keyType != .oct else {
            self = try SigningKey(SigningMaterial(jwk, choice.details), choice, from: jwk).verificationKey
            return
        }
        let jwk = jwk.publicPart
        let key = try jwk.publicKey(maximumRSAKeySize: maximumRSAKeySize)
        try self.init(VerificationMaterial(key, choice.details), choice, from: jwk)
    }

    /// Creates a key from the secret of an HMAC algorithm.
    ///
    /// Everyone who has the secret can also sign. Between parties that don't trust each other to
    /// that extent, use a key pair.
    ///
    /// - Parameters:
    ///   - secret: The secret's bytes, as for ``SigningKey/init(secret:algorithm:)``.
    ///   - algorithm: The algorithm that the key is for.
    /// - Throws: ``TokenError`` as ``SigningKey/init(secret:algorithm:)`` does.
    public init(secret: some Sequence<UInt8>, algorithm: JWSAlgorithm) throws(TokenError) {
        self = try SigningKey(secret: secret, algorithm: algorithm).verificationKey
    }

    /// Creates a key from a secret that may be shorter than its algorithm requires.
    ///
    /// - Warning: Given one token, an attacker can find a short secret offline, at billions of
    ///   guesses per second. Use this initializer only for systems whose secret you can't change
    ///   yet.
    ///
    /// - Parameters:
    ///   - secret: The secret's bytes, at least one.
    ///   - algorithm: The algorithm that the key is for.
    /// - Throws: ``TokenError`` as ``init(secret:algorithm:)`` does.
    public init(unsafeShortSecret secret: some Sequence<UInt8>, algorithm: JWSAlgorithm) throws(TokenError) {
        self = try SigningKey(unsafeShortSecret: secret, algorithm: algorithm).verificationKey
    }

    /// Creates a key from checked material, its source JWK, whose public members are kept, and the
    /// thumbprint, if public members don't determine it.
    init(
        _ material: VerificationMaterial,
        _ choice: AlgorithmChoice,
        from source: JWK? = nil,
        thumbprint: String? = nil
    ) throws(TokenError) {
        try source?.checkCertificate(isFor: material.publicKey)
        var members = source?.publicPart.members ?? JSONObject()
        members["kty"] = .string(choice.details.keyType.rawValue)
        if choice.synonyms.isEmpty { members["alg"] = .string(choice.details.algorithm.rawValue) }
        for member in material.publicKey?.jwkMembers ?? [:] { members[member.name] = member.value }
        let document = try JWK(members)
        var thumbprint = thumbprint
        if thumbprint == nil { thumbprint = try document.thumbprint }
        storage = Storage(choice, document, thumbprint ?? "", material)
    }

    private init(_ storage: Storage) {
        self.storage = storage
    }
}

extension VerificationKey {
    /// The algorithm that the key verifies with.
    public var algorithm: JWSAlgorithm { storage.algorithm }

    /// The key as a JWK for publication.
    ///
    /// It states `alg`, and has the other public members of the JWK that the key was created from.
    /// The JWK of a secret doesn't contain the secret. If the algorithm of a key on an Edwards
    /// curve wasn't named, its JWK doesn't state `alg`.
    public var jwk: JWK { storage.jwk }

    /// The SHA-256 thumbprint in base64url ([RFC 7638](https://www.rfc-editor.org/rfc/rfc7638)).
    ///
    /// - Warning: The thumbprint of a secret is a hash of the secret. Don't publish it if the
    ///   secret could be guessed.
    public var thumbprint: String { storage.thumbprint }

    /// The `kid` of the JWK that the key was created from, or `nil`.
    public var keyID: String? { jwk.keyID }

    /// The public key, or `nil` for a secret.
    var publicKey: PublicKey? { storage.material.publicKey }

    /// A Boolean value that indicates whether the key is a secret shorter than its algorithm
    /// requires, from ``init(unsafeShortSecret:algorithm:)``.
    package var isShortSecret: Bool {
        storage.material.secretSize.map { $0 < storage.choice.details.minimumSecretSize } ?? false
    }

    /// Returns the same key with another ID in its JWK.
    func identified(by keyID: String) -> VerificationKey {
        var document = jwk
        document.keyID = keyID
        return VerificationKey(Storage(storage.choice, document, thumbprint, storage.material))
    }

    /// Returns a Boolean value that indicates whether the key verifies signatures of a named
    /// algorithm.
    package func accepts(algorithm name: String) -> Bool {
        storage.choice.accepts(name)
    }

    /// Returns a Boolean value that indicates whether the key verifies a signature over a message.
    ///
    /// A signature of the wrong length isn't valid.
    package func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        storage.material.isValidSignature(signature, for: message)
    }
}

extension VerificationKey: Redacted {
    /// The algorithm and the thumbprint, or only the algorithm for a secret.
    public var description: String {
        algorithm.isSymmetric
            ? "VerificationKey(\(algorithm), secret not shown)"
            : "VerificationKey(\(algorithm), thumbprint \(thumbprint))"
    }
}
