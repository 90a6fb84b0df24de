public import FoundationEssentials
internal import OpenSSLCrypto

/// A key that signs with exactly one algorithm: a private key, or the secret of an HMAC algorithm.
///
/// It's checked when it's created and never changes. Copies share it. Descriptions and reflections
/// don't show it.
///
/// ```swift
/// let key = try SigningKey.generate(.es256)
/// try key.pem().write(toFile: "key.pem", atomically: true, encoding: .utf8)
/// ```
public struct SigningKey: Sendable, Redacted {
    /// The key that verifies this key's signatures: the public part, or the same secret.
    public let verificationKey: VerificationKey

    let material: SigningMaterial
    let plainHeader: [UInt8]

    /// Generates a key.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm that the key is for. ``JWSAlgorithm/edDSA`` generates a key on
    ///     Ed25519.
    ///   - rsaKeySize: The size of an RSA key's modulus in bits, from 2048, the default, to 8192.
    ///     It's ignored for other key types.
    /// - Returns: The key.
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm`, `weakKey` or `tooLarge` for
    ///   another size, or `signingFailed` if the system can't generate a key.
    public static func generate(_ algorithm: JWSAlgorithm, rsaKeySize: Int = 2048) throws(TokenError) -> SigningKey {
        let details = try algorithm.supportedDetails()
        return try SigningKey(SigningMaterial(generating: details, rsaKeySize: rsaKeySize), AlgorithmChoice(details))
    }

    /// Creates a key from a private JWK.
    ///
    /// The initializer checks the numbers, that the private and public parts belong together, and
    /// that `use`, `key_ops` and `alg` allow signing.
    ///
    /// - Parameters:
    ///   - jwk: A JWK with its private members.
    ///   - algorithm: The algorithm that the key is for, if the JWK doesn't state `alg`. The
    ///     default, `nil`, uses the only algorithm that the key supports.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `weakKey`,
    ///   `keyMismatch`, `privateKeyRequired`, `algorithmRequired`, `algorithmMismatch` or
    ///   `unsupportedAlgorithm`.
    public init(jwk: JWK, algorithm: JWSAlgorithm? = nil) throws(TokenError) {
        let choice = try jwk.algorithmChoice(for: .signing, wanted: algorithm)
        guard jwk.isPrivate else {
            throw TokenError(.privateKeyRequired, "the JWK is a public key; use the private key that belongs to it")
        }
        try self.init(SigningMaterial(jwk, choice.details), choice, from: jwk)
    }

    /// Creates a key from the secret of an HMAC algorithm.
    ///
    /// The bytes are used as they are. If the verifiers decode the secret from base64 or
    /// hexadecimal, decode it first.
    ///
    /// - Parameters:
    ///   - secret: The secret's bytes, such as a `Data`, an array, or the `utf8` of a string. It
    ///     must be at least as long as the algorithm's hash: 32 bytes for HS256, 48 for HS384, 64
    ///     for HS512 ([RFC 7518 §3.2](https://www.rfc-editor.org/rfc/rfc7518#section-3.2)).
    ///     More than four trailing zeros don't count, because HMAC pads with them.
    ///   - algorithm: The algorithm that the key is for.
    /// - Throws: ``TokenError`` with the code `weakKey` if the secret is too short, empty or blank,
    ///   `malformedKey` if it's a PEM text, a certificate, a JWK or another form of a key,
    ///   `algorithmMismatch` or `unsupportedAlgorithm` for an algorithm other than HMAC.
    public init(secret: some Sequence<UInt8>, algorithm: JWSAlgorithm) throws(TokenError) {
        try self.init(Array(secret), algorithm, isLongEnough: true)
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
        try self.init(Array(secret), algorithm, isLongEnough: false)
    }

    private init(_ octets: [UInt8], _ algorithm: JWSAlgorithm, isLongEnough: Bool) throws(TokenError) {
        let details = try algorithm.supportedDetails()
        guard details.keyType == .oct else {
            throw TokenError(.algorithmMismatch, "\(algorithm) requires a key pair; secrets are for HMAC algorithms")
        }
        let secret = try SharedSecret.checked(octets, for: details, isLongEnough: isLongEnough)
        try self.init(SigningMaterial(secret, details), AlgorithmChoice(details))
    }

    /// The public members of the source are kept.
    init(_ material: SigningMaterial, _ choice: AlgorithmChoice, from source: JWK? = nil) throws(TokenError) {
        self.init(
            material,
            try VerificationKey(
                material.verification(choice.details),
                choice,
                from: source,
                thumbprint: material.secretThumbprint()
            )
        )
    }

    private init(_ material: SigningMaterial, _ verificationKey: VerificationKey) {
        self.material = material
        self.verificationKey = verificationKey
        plainHeader = EncodedHeader.plain(verificationKey.algorithm, verificationKey.keyID)
    }

    /// The algorithm that the key signs with.
    public var algorithm: JWSAlgorithm { verificationKey.algorithm }

    /// The ID that verifiers know the key by, or `nil`.
    ///
    /// It comes from the JWK that the key was created from, or from ``identified(by:)``.
    public var keyID: String? { verificationKey.keyID }

    /// Returns the same key with another ID.
    ///
    /// ```swift
    /// let key = try SigningKey(pem: pem).identified(by: "2026-07")
    /// ```
    ///
    /// - Parameter keyID: The ID that verifiers know the key by, or `nil` to keep the current ID.
    /// - Returns: The key. Its public part has the same ID.
    public func identified(by keyID: String?) -> SigningKey {
        guard let keyID else { return self }
        return SigningKey(material, verificationKey.identified(by: keyID))
    }

    /// Returns the private key as a JWK, including its private members.
    ///
    /// - Returns: The JWK. Keep it secret; publish ``VerificationKey/jwk`` instead.
    /// - Throws: ``TokenError`` with the code `malformedKey` if OpenSSL can't export the key.
    public func privateJWK() throws(TokenError) -> JWK {
        var members = verificationKey.jwk.members
        for member in try material.privateMembers() { members[member.name] = member.value }
        // The operations of the public part aren't those of the private key.
        if members["key_ops"] != nil { members["key_ops"] = algorithm.isSymmetric ? ["sign", "verify"] : ["sign"] }
        return try JWK(members)
    }

    package func signature(for message: RawSpan) throws(TokenError) -> [UInt8] {
        do throws(CryptoError) {
            return try material.signature(for: message)
        } catch {
            throw TokenError(
                .signingFailed,
                "can't make the \(algorithm) signature: \(error.message)",
                cause: error
            )
        }
    }

    /// The algorithm and the thumbprint of the public part, without anything private.
    public var description: String {
        algorithm.isSymmetric
            ? "SigningKey(\(algorithm), secret not shown)"
            : "SigningKey(\(algorithm), thumbprint \(verificationKey.thumbprint), private part not shown)"
    }

    /// Parses a private key from PEM: PKCS#8, encrypted PKCS#8, or the older formats PKCS#1 and
    /// SEC1.
    ///
    /// - Parameters:
    ///   - pem: The PEM text, with exactly one key.
    ///   - password: The password of an encrypted key. The default is `nil`.
    ///   - algorithm: The algorithm that the key is for. The default, `nil`, uses the only
    ///     algorithm that the key supports. RSA keys require an algorithm. A key on an Edwards
    ///     curve signs as ``JWSAlgorithm/edDSA``.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `weakKey`,
    ///   `tooLarge`, `keyMismatch`, `privateKeyRequired`, `passwordRequired`, `incorrectPassword`,
    ///   `algorithmRequired`, `algorithmMismatch` or `unsupportedAlgorithm`.
    public init(pem: String, password: String? = nil, algorithm: JWSAlgorithm? = nil) throws(TokenError) {
        let key = try PrivateKey.imported(pem: pem, password: password)
        try self.init(key, named: algorithm)
    }

    /// Parses a private key from DER: PKCS#8, encrypted PKCS#8, PKCS#1 or SEC1, detected by
    /// content.
    ///
    /// - Parameters:
    ///   - der: The bytes.
    ///   - password: The password of an encrypted key. The default is `nil`.
    ///   - algorithm: The algorithm that the key is for, as for ``init(pem:password:algorithm:)``.
    /// - Throws: ``TokenError`` as ``init(pem:password:algorithm:)`` does.
    public init(
        der: some Sequence<UInt8>,
        password: String? = nil,
        algorithm: JWSAlgorithm? = nil
    ) throws(TokenError) {
        let key = try PrivateKey.imported(der: Array(der), password: password)
        try self.init(key, named: algorithm)
    }

    /// Returns the private key as PEM.
    ///
    /// - Parameter format: The format. The default is unencrypted PKCS#8.
    /// - Returns: The PEM text. Keep it secret.
    /// - Throws: ``TokenError`` with the code `unsupportedKey` if the key type doesn't have that
    ///   format (secrets have none), `passwordRequired` for an empty password, `malformedKey` if
    ///   OpenSSL can't write the key.
    public func pem(_ format: PrivateKeyFormat = .pkcs8) throws(TokenError) -> String {
        try material.keyPair.exportedPEM(format)
    }

    /// Returns the private key as DER.
    ///
    /// - Parameter format: The format. The default is unencrypted PKCS#8.
    /// - Returns: The bytes. Keep them secret.
    /// - Throws: ``TokenError`` as ``pem(_:)`` does.
    public func der(_ format: PrivateKeyFormat = .pkcs8) throws(TokenError) -> Data {
        try material.keyPair.exportedDER(format)
    }

    private init(_ key: PrivateKey, named algorithm: JWSAlgorithm?) throws(TokenError) {
        let publicKey = key.publicKey
        let choice = try AlgorithmChoice(for: publicKey.keyType, curve: publicKey.curveName, named: algorithm)
        try self.init(SigningMaterial(key, choice.details), choice)
    }
}

extension PublicKey {
    static let labels = ["PUBLIC KEY", "RSA PUBLIC KEY", "CERTIFICATE"]

    var keyType: KeyType {
        switch self {
        case .rsa: .rsa
        case .ellipticCurve: .ec
        case .edwards, .montgomery: .okp
        case .mldsa: .akp
        }
    }

    /// `alg` for the type `AKP`.
    var curveName: String? {
        if case .rsa = self { nil } else { kind }
    }
}

extension TokenError {
    /// A `nil` type stands for a secret.
    init(noOlderForm kind: String?) {
        self.init(
            .unsupportedKey,
            kind.map { "\($0) keys have no format other than PKCS#8 and SPKI" }
                ?? "secrets have no PEM or DER format; write the secret as a JWK"
        )
    }
}
