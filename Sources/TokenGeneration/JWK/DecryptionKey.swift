public import FoundationEssentials
internal import OpenSSLCrypto

/// A key that decrypts tokens with exactly one algorithm: a private key, a shared secret, or a
/// password.
///
/// It's checked when it's created and never changes. Copies share it. It can't sign, and a
/// ``SigningKey`` can't decrypt. Descriptions and reflections don't show it.
///
/// ```swift
/// let key = try DecryptionKey.generate(.ecdhESA256KW, on: .x25519)
/// let publicKey = key.encryptionKey.jwk
/// ```
public struct DecryptionKey: Sendable, Redacted {
    /// The key that encrypts for this key: the public part, or the same secret or password.
    public let encryptionKey: EncryptionKey

    let material: DecryptionMaterial

    /// Generates a key.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm that the key is for. Passwords can't be generated.
    ///   - curve: The curve of a key for key agreement. The default is P-256.
    ///   - rsaKeySize: The size of an RSA key's modulus in bits, from 2048, the default, to 8192.
    ///   - encryption: The content encryption of a key for `dir`. The default is A256GCM.
    /// - Returns: The key.
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` for a password-based algorithm,
    ///   `weakKey` or `tooLarge` for another RSA key size, or `encryptionFailed` if the system
    ///   can't generate a key.
    public static func generate(
        _ algorithm: JWEAlgorithm,
        on curve: KeyAgreementCurve = .p256,
        rsaKeySize: Int = 2048,
        encryption: JWEEncryption = .a256GCM
    ) throws(TokenError) -> DecryptionKey {
        if let size = algorithm.secretSize(for: encryption) {
            let secret = try generating(SecureRandom.secret(count: size))
            return try DecryptionKey(secret, algorithm.details, algorithm == .dir ? encryption : nil)
        }
        switch algorithm.details.scheme {
        case .agreement:
            let pair: PrivateKey =
                if let curve = MontgomeryCurve(name: curve.rawValue) {
                    .montgomery(try generating(.generate(curve)))
                } else {
                    .ellipticCurve(try generating(.generate(EllipticCurve(name: curve.rawValue) ?? .p256)))
                }
            return try DecryptionKey(pair, named: algorithm)
        case .oaep:
            let pair = try generating(RSAPrivateKey.generate(bitCount: rsaKeySize))
            return try DecryptionKey(.rsa(pair), named: algorithm)
        case .direct, .keyWrap, .gcmKeyWrap, .password:
            throw TokenError(.algorithmMismatch, "\(algorithm) needs an EncryptionPassword, which isn't generated")
        }
    }

    /// Creates a key from a private JWK.
    ///
    /// The initializer checks the numbers, that the private and public parts belong together, and
    /// that `use`, `key_ops` and `alg` allow decryption.
    ///
    /// - Parameters:
    ///   - jwk: A JWK with its private members.
    ///   - algorithm: The algorithm that the key is for, if the JWK doesn't state `alg`.
    ///   - encryption: The content encryption of a key for `dir`. The default, `nil`, uses the only
    ///     one with the key's size.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `weakKey`,
    ///   `keyMismatch`, `privateKeyRequired`, `algorithmRequired`, `algorithmMismatch` or
    ///   `unsupportedAlgorithm`.
    public init(
        jwk: JWK,
        algorithm: JWEAlgorithm? = nil,
        encryption: JWEEncryption? = nil
    ) throws(TokenError) {
        let stated = try jwk.statedEncryption(for: .decryption, algorithm, encryption)
        guard jwk.isPrivate else {
            throw TokenError(.privateKeyRequired, "the JWK is a public key; use the private key that belongs to it")
        }
        guard stated.type != .oct else {
            try self.init(secretIn: jwk, stated.algorithm, stated.encryption)
            return
        }
        let choice = try EncryptionChoice(for: stated.type, curve: stated.curve, named: stated.algorithm)
        try self.init(DecryptionMaterial(jwk.keyPair(), choice.details), choice, from: jwk)
    }

    /// Creates a key from a secret that the sender shares.
    ///
    /// - Parameters:
    ///   - secret: The secret's bytes, as for ``EncryptionKey/init(secret:algorithm:encryption:)``.
    ///   - algorithm: The algorithm that the key is for.
    ///   - encryption: The content encryption of a key for `dir`. The default, `nil`, uses the only
    ///     one with the secret's size.
    /// - Throws: ``TokenError`` as ``EncryptionKey/init(secret:algorithm:encryption:)`` does.
    public init(
        secret: some Sequence<UInt8>,
        algorithm: JWEAlgorithm,
        encryption: JWEEncryption? = nil
    ) throws(TokenError) {
        var octets = Array(secret)
        defer { octets.clear() }
        guard algorithm.details.keyTypes == [.oct] else {
            throw TokenError(mismatched: algorithm, "a secret")
        }
        try self.init(SecretBytes(copying: octets.span.octets), algorithm.details, encryption)
    }

    /// Creates a key from a password.
    ///
    /// - Parameters:
    ///   - password: The password.
    ///   - algorithm: The algorithm: one of the three that start with `pbes2`.
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` for another algorithm.
    public init(password: EncryptionPassword, algorithm: JWEAlgorithm) throws(TokenError) {
        let choice = try EncryptionChoice(password: algorithm)
        material = .password(password.bytes)
        encryptionKey = try EncryptionKey(password: password, algorithm: choice.algorithm)
    }

    init(secretIn jwk: JWK, _ algorithm: JWEAlgorithm?, _ encryption: JWEEncryption?) throws(TokenError) {
        guard let algorithm else {
            throw TokenError(
                .algorithmRequired,
                "a secret can be used with several algorithms; state “alg” in the JWK or name the algorithm"
            )
        }
        var octets = try jwk.octets(of: "k", limit: 1_024)
        defer { octets.clear() }
        try self.init(SecretBytes(copying: octets.span.octets), algorithm.details, encryption, from: jwk)
    }

    init(_ key: PrivateKey, named algorithm: JWEAlgorithm?) throws(TokenError) {
        let publicKey = key.publicKey
        let choice = try EncryptionChoice(for: publicKey.keyType, curve: publicKey.curveName, named: algorithm)
        try self.init(DecryptionMaterial(key, choice.details), choice, from: nil)
    }

    private init(
        _ secret: SecretBytes,
        _ details: JWEAlgorithmDescription,
        _ encryption: JWEEncryption?,
        from source: JWK? = nil
    ) throws(TokenError) {
        let choice = try EncryptionChoice(size: secret.count, details, encryption)
        guard !secret.isZero else {
            throw TokenError(.weakKey, "the secret is all zeros, so anyone could decrypt with it")
        }
        material = .secret(secret)
        encryptionKey = try EncryptionKey(.secret(secret), choice, from: source)
    }

    private init(
        _ material: DecryptionMaterial,
        _ choice: EncryptionChoice,
        from source: JWK?
    ) throws(TokenError) {
        guard let publicKey = material.keyPair?.publicKey else {
            throw TokenError(mismatched: choice.algorithm, "a secret")
        }
        self.material = material
        encryptionKey = try EncryptionKey(EncryptionMaterial(publicKey, choice.details), choice, from: source)
    }

    private init(_ material: DecryptionMaterial, _ encryptionKey: EncryptionKey) {
        self.material = material
        self.encryptionKey = encryptionKey
    }

    private static func generating<Key>(
        _ makeKey: @autoclosure () throws(CryptoError) -> Key
    ) throws(TokenError) -> Key {
        try TokenError.generating(orFailWith: .encryptionFailed, makeKey)
    }

    /// The algorithm that the key is for.
    public var algorithm: JWEAlgorithm { encryptionKey.algorithm }

    /// The content encryption of a key for `dir`, or `nil` for other keys.
    public var encryption: JWEEncryption? { encryptionKey.encryption }

    /// The ID that senders know the key by, or `nil`.
    ///
    /// It comes from the JWK that the key was created from, or from ``identified(by:)``.
    public var keyID: String? { encryptionKey.keyID }

    /// Returns the same key with another ID.
    ///
    /// - Parameter keyID: The ID that senders know the key by, or `nil` to keep the current ID.
    /// - Returns: The key. Its public part has the same ID.
    public func identified(by keyID: String?) -> DecryptionKey {
        DecryptionKey(material, encryptionKey.identified(by: keyID))
    }

    /// Returns the private key as a JWK, including its private members.
    ///
    /// - Returns: The JWK. Keep it secret; publish ``EncryptionKey/jwk`` instead.
    /// - Throws: ``TokenError`` with the code `unsupportedKey` for a password, which has no JWK, or
    ///   `malformedKey` if OpenSSL can't export the key.
    public func privateJWK() throws(TokenError) -> JWK {
        var members = encryptionKey.jwk.members
        switch material {
        case .secret(let secret):
            members["k"] = .base64URL(secret)
            // “dir” alone doesn't determine the content encryption for every size.
            if let encryption { members["alg"] = .string(encryption.rawValue) }
        case .rsa, .agreement:
            let pair = material.keyPair
            let others = try TokenError.refusingKey(pair?.jwkPrivateMembers() ?? [:])
            for member in others { members[member.name] = member.value }
        case .password:
            throw TokenError(.unsupportedKey, "a password has no JWK")
        }
        return try JWK(members)
    }

    /// The algorithm, without anything private.
    public var description: String { "DecryptionKey(\(algorithm), private part not shown)" }

    /// Parses a private key from PEM: PKCS#8, encrypted PKCS#8, or the older formats PKCS#1 and
    /// SEC1.
    ///
    /// - Parameters:
    ///   - pem: The PEM text, with exactly one key.
    ///   - password: The password of an encrypted key. The default is `nil`.
    ///   - algorithm: The algorithm that the key is for.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `weakKey`,
    ///   `tooLarge`, `keyMismatch`, `privateKeyRequired`, `passwordRequired`, `incorrectPassword`
    ///   or `algorithmMismatch`.
    public init(pem: String, password: String? = nil, algorithm: JWEAlgorithm) throws(TokenError) {
        try self.init(PrivateKey.imported(pem: pem, password: password), named: algorithm)
    }

    /// Parses a private key from DER: PKCS#8, encrypted PKCS#8, PKCS#1 or SEC1, detected by
    /// content.
    ///
    /// - Parameters:
    ///   - der: The bytes.
    ///   - password: The password of an encrypted key. The default is `nil`.
    ///   - algorithm: The algorithm that the key is for.
    /// - Throws: ``TokenError`` as ``init(pem:password:algorithm:)`` does.
    public init(
        der: some Sequence<UInt8>,
        password: String? = nil,
        algorithm: JWEAlgorithm
    ) throws(TokenError) {
        try self.init(PrivateKey.imported(der: Array(der), password: password), named: algorithm)
    }

    /// Returns the private key as PEM.
    ///
    /// - Parameter format: The format. The default is unencrypted PKCS#8.
    /// - Returns: The PEM text. Keep it secret.
    /// - Throws: ``TokenError`` with the code `unsupportedKey` if the key doesn't have that format
    ///   (secrets and passwords have none), `passwordRequired` for an empty password,
    ///   `malformedKey` if OpenSSL can't write the key.
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
}

extension EncryptionKey {
    /// Parses a public key from PEM: SPKI (`BEGIN PUBLIC KEY`), PKCS#1 (`BEGIN RSA PUBLIC KEY`), or
    /// an X.509 certificate.
    ///
    /// The key of a certificate is used without verifying the certificate. To verify certificates,
    /// call ``JWK/verifyCertificates(roots:at:)``.
    ///
    /// - Parameters:
    ///   - pem: The PEM text, with exactly one key.
    ///   - algorithm: The algorithm that the key is for.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `weakKey`,
    ///   `tooLarge`, `publicKeyRequired` or `algorithmMismatch`.
    public init(pem: String, algorithm: JWEAlgorithm) throws(TokenError) {
        try self.init(PublicKey.imported(pem: pem), named: algorithm)
    }

    /// Parses a public key from DER: SPKI, PKCS#1, or an X.509 certificate, detected by content.
    ///
    /// The key of a certificate is used without verifying the certificate.
    ///
    /// - Parameters:
    ///   - der: The bytes.
    ///   - algorithm: The algorithm that the key is for.
    /// - Throws: ``TokenError`` as ``init(pem:algorithm:)`` does.
    public init(der: some Sequence<UInt8>, algorithm: JWEAlgorithm) throws(TokenError) {
        try self.init(PublicKey.imported(der: Array(der)), named: algorithm)
    }

    /// Returns the public key as PEM.
    ///
    /// - Parameter format: The format. The default is SPKI (`BEGIN PUBLIC KEY`).
    /// - Returns: The PEM text.
    /// - Throws: ``TokenError`` with the code `unsupportedKey` if the key doesn't have that format
    ///   (secrets and passwords have none).
    public func pem(_ format: PublicKeyFormat = .spki) throws(TokenError) -> String {
        try material.publicKey.exportedPEM(format)
    }

    /// Returns the public key as DER.
    ///
    /// - Parameter format: The format. The default is SPKI.
    /// - Returns: The bytes.
    /// - Throws: ``TokenError`` as ``pem(_:)`` does.
    public func der(_ format: PublicKeyFormat = .spki) throws(TokenError) -> Data {
        try material.publicKey.exportedDER(format)
    }

    private init(_ key: PublicKey, named algorithm: JWEAlgorithm) throws(TokenError) {
        let choice = try EncryptionChoice(for: key.keyType, curve: key.curveName, named: algorithm)
        try self.init(EncryptionMaterial(key, choice.details), choice)
    }
}
