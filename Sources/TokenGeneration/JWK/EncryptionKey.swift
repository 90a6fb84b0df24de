internal import OpenSSLCrypto

/// A key that encrypts tokens for one recipient with exactly one algorithm: the recipient's public
/// key, a shared secret, or a password.
///
/// It's checked when it's created and never changes. Copies share it. It can't verify signatures,
/// and a ``VerificationKey`` can't encrypt.
///
/// ```swift
/// let key = try EncryptionKey(jwk: jwk, algorithm: .ecdhESA256KW)
/// let token = try key.encrypt(claims)
/// ```
public struct EncryptionKey: Sendable, Redacted {
    /// The key as a JWK for publication, with `alg` and `use`.
    ///
    /// It has the other public members of the JWK that the key was created from. The JWK of a
    /// secret or a password doesn't contain it.
    public private(set) var jwk: JWK

    let material: EncryptionMaterial
    private let choice: EncryptionChoice

    /// Creates a key from a JWK.
    ///
    /// The initializer checks the numbers, and that `use`, `key_ops` and `alg` allow encryption.
    ///
    /// - Parameters:
    ///   - jwk: A JWK. Private members of a key pair are dropped unread. A JWK of kty `oct` must
    ///     have `k`.
    ///   - algorithm: The algorithm that the key is for, if the JWK doesn't state `alg`.
    ///   - encryption: The content encryption of a key for `dir`. The default, `nil`, uses the only
    ///     one with the key's size.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `weakKey`,
    ///   `tooLarge`, `keyMismatch`, `algorithmRequired`, `algorithmMismatch` or
    ///   `unsupportedAlgorithm`.
    public init(
        jwk: JWK,
        algorithm: JWEAlgorithm? = nil,
        encryption: JWEEncryption? = nil
    ) throws(TokenError) {
        try self.init(
            jwk: jwk,
            algorithm: algorithm,
            encryption: encryption,
            maximumRSAKeySize: RSAKeyLimit.configuration
        )
    }

    init(
        jwk: JWK,
        algorithm: JWEAlgorithm?,
        encryption: JWEEncryption?,
        maximumRSAKeySize: Int
    ) throws(TokenError) {
        let stated = try jwk.statedEncryption(for: .encryption, algorithm, encryption)
        guard stated.type != .oct else {
            self = try DecryptionKey(secretIn: jwk, stated.algorithm, stated.encryption).encryptionKey
            return
        }
        let choice = try EncryptionChoice(for: stated.type, curve: stated.curve, named: stated.algorithm)
        let jwk = jwk.publicPart
        let key = try jwk.publicKey(maximumRSAKeySize: maximumRSAKeySize)
        try self.init(EncryptionMaterial(key, choice.details), choice, from: jwk)
    }

    /// Creates a key from a secret that the recipient shares.
    ///
    /// - Parameters:
    ///   - secret: The secret's bytes, exactly as many as the algorithm requires: 16 for A128KW, 32
    ///     for A256GCMKW, for example, or the key size of the content encryption for `dir`.
    ///   - algorithm: The algorithm that the key is for.
    ///   - encryption: The content encryption of a key for `dir`. The default, `nil`, uses the only
    ///     one with the secret's size.
    /// - Throws: ``TokenError`` with the code `weakKey` if the secret is too short or all zeros,
    ///   `malformedKey` if it's too long, `algorithmRequired` if several content encryptions have
    ///   the size, or `algorithmMismatch` for an algorithm without secrets.
    public init(
        secret: some Sequence<UInt8>,
        algorithm: JWEAlgorithm,
        encryption: JWEEncryption? = nil
    ) throws(TokenError) {
        self = try DecryptionKey(secret: secret, algorithm: algorithm, encryption: encryption).encryptionKey
    }

    /// Creates a key from a password.
    ///
    /// - Parameters:
    ///   - password: The password.
    ///   - algorithm: The algorithm: one of the three that start with `pbes2`.
    ///   - iterations: The number of PBKDF2 iterations, 1000 to 10,000,000, which determines the
    ///     cost of guessing the password and of decrypting the token. The default, `nil`, is
    ///     OWASP's recommendation: 600,000 with SHA-256, 210,000 with SHA-384 and SHA-512.
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` for an algorithm without
    ///   passwords, `weakKey` or `tooLarge` for too few or too many iterations.
    public init(
        password: EncryptionPassword,
        algorithm: JWEAlgorithm,
        iterations: Int? = nil
    ) throws(TokenError) {
        let choice = try EncryptionChoice(password: algorithm)
        var count = iterations ?? 0
        if case .password(_, _, let recommended) = choice.details.scheme { count = iterations ?? recommended }
        let minimum = PasswordDerivation.minimumIterations
        guard count >= minimum else {
            throw TokenError(.weakKey, "\(count) iterations are too few; use at least \(minimum)")
        }
        guard count <= PBKDF2.maximumIterations else {
            throw TokenError(.tooLarge, "\(count) iterations exceed the limit of \(PBKDF2.maximumIterations)")
        }
        try self.init(.password(password.bytes, iterations: count), choice)
    }

    /// The public members of the source are kept.
    init(
        _ material: EncryptionMaterial,
        _ choice: EncryptionChoice,
        from source: JWK? = nil
    ) throws(TokenError) {
        try source?.checkCertificate(isFor: material.publicKey)
        var members = source?.publicPart.members ?? JSONObject()
        members["kty"] = .string((material.publicKey?.keyType ?? .oct).rawValue)
        members["alg"] = .string(choice.algorithm.rawValue)
        members["use"] = "enc"
        // The operations depend on the algorithm and add nothing to `use`.
        members["key_ops"] = nil
        for member in material.publicKey?.jwkMembers ?? [:] { members[member.name] = member.value }
        jwk = try JWK(members)
        self.material = material
        self.choice = choice
    }

    /// The algorithm that the key is for.
    public var algorithm: JWEAlgorithm { choice.algorithm }

    /// The content encryption of a key for `dir`, or `nil` for other keys, which any content
    /// encryption can use.
    public var encryption: JWEEncryption? { choice.encryption }

    /// The `kid` of the JWK that the key was created from, or `nil`.
    public var keyID: String? { jwk.keyID }

    var details: JWEAlgorithmDescription { choice.details }

    /// Returns the same key with another ID.
    ///
    /// - Parameter keyID: The ID that the recipient knows the key by, or `nil` to keep the current
    ///   ID.
    /// - Returns: The key.
    public func identified(by keyID: String?) -> EncryptionKey {
        guard let keyID else { return self }
        var key = self
        key.jwk.keyID = keyID
        return key
    }

    /// The algorithm.
    public var description: String { "EncryptionKey(\(algorithm))" }
}

indirect enum EncryptionMaterial: Sendable {
    case secret(SecretBytes)
    case rsa(RSAPublicKey, RSAEncrypter)
    case agreement(PublicKey)
    case password(SecretBytes, iterations: Int)

    init(_ key: PublicKey, _ details: JWEAlgorithmDescription) throws(TokenError) {
        switch (key, details.scheme) {
        case (.rsa(let key), .oaep(let hash)):
            self = .rsa(key, try TokenError.refusingKey(key.encrypter(hash: hash)))
        case (.ellipticCurve, .agreement), (.montgomery, .agreement):
            self = .agreement(key)
        default:
            throw TokenError(mismatched: details.algorithm, key.kind)
        }
    }

    var publicKey: PublicKey? {
        switch self {
        case .rsa(let key, _): .rsa(key)
        case .agreement(let key): key
        case .secret, .password: nil
        }
    }
}

indirect enum DecryptionMaterial: Sendable {
    case secret(SecretBytes)
    case rsa(RSAPrivateKey, RSADecrypter)
    case agreement(PrivateKey, SecretAgreement)
    case password(SecretBytes)

    init(_ key: PrivateKey, _ details: JWEAlgorithmDescription) throws(TokenError) {
        switch (key, details.scheme) {
        case (.rsa(let key), .oaep(let hash)):
            self = .rsa(key, try TokenError.refusingKey(key.decrypter(hash: hash)))
        case (.ellipticCurve, .agreement), (.montgomery, .agreement):
            let agreement = try TokenError.refusingKey(SecretAgreement(key))
            self = .agreement(key, agreement)
        default:
            throw TokenError(mismatched: details.algorithm, key.kind)
        }
    }

    var keyPair: PrivateKey? {
        switch self {
        case .rsa(let key, _): .rsa(key)
        case .agreement(let key, _): key
        case .secret, .password: nil
        }
    }
}

/// A password that encrypts and decrypts tokens.
///
/// Passwords are easier to guess than keys: an attacker who has a token can try passwords offline.
/// Use a generated password with at least 16 random characters, or a key. The text is used as it
/// is. If people type it, normalize it first
/// ([RFC 8265](https://www.rfc-editor.org/rfc/rfc8265)).
public struct EncryptionPassword: Sendable, Redacted {
    let bytes: SecretBytes

    /// Creates a password.
    ///
    /// - Parameter text: The password, 1 to 1024 bytes in UTF-8 and not blank.
    /// - Throws: ``TokenError`` with the code `weakKey` if it's empty or blank, or `tooLarge`.
    public init(_ text: String) throws(TokenError) {
        try self.init(bytes: text.utf8)
    }

    /// Creates a password from bytes.
    ///
    /// - Parameter bytes: The password, 1 to 1024 bytes and not blank.
    /// - Throws: ``TokenError`` with the code `weakKey` if it's empty or blank, or `tooLarge`.
    public init(bytes: some Sequence<UInt8>) throws(TokenError) {
        var octets = Array(bytes)
        defer { octets.clear() }
        guard !octets.allSatisfy(\.isBlank) else {
            throw TokenError(.weakKey, "the password is empty or blank; check that its variable is set")
        }
        guard octets.count <= Self.maximumSize else {
            throw TokenError(.tooLarge, "the password has \(octets.count) bytes, but the limit is \(Self.maximumSize)")
        }
        self.bytes = SecretBytes(copying: octets.span.octets)
    }

    private static let maximumSize = 1_024

    /// A fixed text without the password.
    public var description: String { "EncryptionPassword(not shown)" }
}
