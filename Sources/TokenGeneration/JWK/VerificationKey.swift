public import FoundationEssentials
internal import OpenSSLCrypto

/// A key that verifies with exactly one algorithm: a public key, or the secret of an HMAC
/// algorithm.
///
/// It's checked when it's created and never changes. Copies share it.
public struct VerificationKey: Sendable, Redacted {
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

    init(jwk: JWK, algorithm: JWSAlgorithm?, maximumRSAKeySize: Int) throws(TokenError) {
        let choice = try jwk.algorithmChoice(for: .verification, wanted: algorithm)
        try self.init(jwk, choice, maximumRSAKeySize: maximumRSAKeySize)
    }

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

    /// The public members of the source are kept; the thumbprint is `nil` if they determine it.
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

    var publicKey: PublicKey? { storage.material.publicKey }

    package var isShortSecret: Bool {
        storage.material.secretSize.map { $0 < storage.choice.details.minimumSecretSize } ?? false
    }

    func identified(by keyID: String) -> VerificationKey {
        var document = jwk
        document.keyID = keyID
        return VerificationKey(Storage(storage.choice, document, thumbprint, storage.material))
    }

    package func accepts(algorithm name: String) -> Bool {
        storage.choice.accepts(name)
    }

    /// A signature of the wrong length isn't valid.
    package func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        storage.material.isValidSignature(signature, for: message)
    }

    /// The algorithm and the thumbprint, or only the algorithm for a secret.
    public var description: String {
        algorithm.isSymmetric
            ? "VerificationKey(\(algorithm), secret not shown)"
            : "VerificationKey(\(algorithm), thumbprint \(thumbprint))"
    }

    /// Parses a public key from PEM: SPKI (`BEGIN PUBLIC KEY`), PKCS#1 (`BEGIN RSA PUBLIC KEY`), or
    /// an X.509 certificate.
    ///
    /// The key of a certificate is used without verifying the certificate. To verify certificates,
    /// call ``JWK/verifyCertificates(roots:at:)``.
    ///
    /// - Parameters:
    ///   - pem: The PEM text, with exactly one key.
    ///   - algorithm: The algorithm that the key is for. The default, `nil`, uses the only
    ///     algorithm that the key supports. RSA keys require an algorithm. A key on an Edwards
    ///     curve verifies both `EdDSA` and the name of its curve.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `weakKey`,
    ///   `tooLarge`, `publicKeyRequired`, `algorithmRequired`, `algorithmMismatch` or
    ///   `unsupportedAlgorithm`.
    public init(pem: String, algorithm: JWSAlgorithm? = nil) throws(TokenError) {
        try self.init(PublicKey.imported(pem: pem), named: algorithm)
    }

    /// Parses a public key from DER: SPKI, PKCS#1, or an X.509 certificate, detected by content.
    ///
    /// The key of a certificate is used without verifying the certificate.
    ///
    /// - Parameters:
    ///   - der: The bytes.
    ///   - algorithm: The algorithm that the key is for, as for ``init(pem:algorithm:)``.
    /// - Throws: ``TokenError`` as ``init(pem:algorithm:)`` does.
    public init(der: some Sequence<UInt8>, algorithm: JWSAlgorithm? = nil) throws(TokenError) {
        try self.init(PublicKey.imported(der: Array(der)), named: algorithm)
    }

    /// Returns the key as PEM.
    ///
    /// - Parameter format: The format. The default is SPKI (`BEGIN PUBLIC KEY`).
    /// - Returns: The PEM text.
    /// - Throws: ``TokenError`` with the code `unsupportedKey` if the key type doesn't have that
    ///   format (secrets have none).
    public func pem(_ format: PublicKeyFormat = .spki) throws(TokenError) -> String {
        try publicKey.exportedPEM(format)
    }

    /// Returns the key as DER.
    ///
    /// - Parameter format: The format. The default is SPKI.
    /// - Returns: The bytes.
    /// - Throws: ``TokenError`` as ``pem(_:)`` does.
    public func der(_ format: PublicKeyFormat = .spki) throws(TokenError) -> Data {
        try publicKey.exportedDER(format)
    }

    private init(_ key: PublicKey, named algorithm: JWSAlgorithm?) throws(TokenError) {
        let choice = try AlgorithmChoice(for: key.keyType, curve: key.curveName, named: algorithm)
        try self.init(VerificationMaterial(key, choice.details), choice)
    }

    /// Returns only the members that define a public key: receivers don't need the rest.
    func jwkForMessages(of purpose: String) throws(TokenError) -> JSONObject {
        guard !algorithm.isSymmetric, let names = KeyType(rawValue: jwk.keyType).thumbprintMembers else {
            throw TokenError(.unsupportedAlgorithm, "\(algorithm) isn't an algorithm for \(purpose); use a key pair")
        }
        return JSONObject(names.compactMap { name in jwk.members[name].map { (name, $0) } })
    }

    /// The algorithm is that of the message's header.
    ///
    /// Certificates and their thumbprints (`x5c`, `x5u`, `x5t`) are ignored: the sender chose them,
    /// and decoding them is work.
    init(sentAs members: JSONObject, for algorithm: JWSAlgorithm, _ name: String) throws(TokenError) {
        var jwk = try JWK(members)
        guard !jwk.isPrivate, KeyType(rawValue: jwk.keyType) != .oct else {
            throw TokenError(.publicKeyRequired, "\(name) is a private key; its owner must replace that key")
        }
        for name in ["x5c", "x5u", "x5t", "x5t#S256"] { jwk.members[name] = nil }
        let key = try VerificationKey(jwk: jwk, algorithm: algorithm, maximumRSAKeySize: RSAKeyLimit.message)
        guard key.accepts(algorithm: algorithm.rawValue) else {
            throw TokenError(
                .algorithmMismatch,
                "“alg” of the header is \(algorithm), but \(name) is a key for \(key.algorithm)"
            )
        }
        self = key
    }
}

extension ProtectedHeader {
    /// The algorithm must be asymmetric and accepted.
    func asymmetricAlgorithm(
        among accepted: Set<JWSAlgorithm>,
        for purpose: String
    ) throws(TokenError) -> JWSAlgorithm {
        guard let algorithm = JWSAlgorithm(rawValue: self.algorithm), accepted.contains(algorithm),
            !algorithm.isSymmetric
        else {
            throw TokenError(
                .unsupportedAlgorithm,
                "\(TokenError.shown(self.algorithm)) isn't an accepted algorithm for \(purpose)"
            )
        }
        return algorithm
    }
}
