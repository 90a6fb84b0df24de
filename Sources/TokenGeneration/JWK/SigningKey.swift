internal import OpenSSLCrypto

/// A key that signs with exactly one algorithm: a private key, or the secret of an HMAC algorithm.
///
/// It was checked when it was made and never changes. Copies share it. Descriptions and reflections don't show it.
///
/// ```swift
/// let key = try SigningKey.generate(.es256)
/// try key.pem().write(toFile: "key.pem", atomically: true, encoding: .utf8)
/// ```
public struct SigningKey: Sendable {
    /// The public half, or of a secret the same secret: what verifies the key's signatures.
    public let verificationKey: VerificationKey

    let material: SigningMaterial
    /// The header of a JWT that says only what it must, encoded.
    let plainHeader: [UInt8]

    /// Makes a new key.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm the key is for. ``JWSAlgorithm/edDSA`` makes a key on Ed25519.
    ///   - rsaKeySize: The bits of an RSA key's modulus: 2048, as by default, to 8192. No other kind of key has a choice.
    /// - Returns: The key.
    /// - Throws: ``TokenError`` with the code `unsupportedAlgorithm`, `weakKey` or `tooLarge` for another size, or
    ///   `signingFailed` if the system can't make a key.
    public static func generate(_ algorithm: JWSAlgorithm, rsaKeySize: Int = 2048) throws(TokenError) -> SigningKey {
        let details = try algorithm.supportedDetails()
        return try SigningKey(SigningMaterial(generating: details, rsaKeySize: rsaKeySize), AlgorithmChoice(details))
    }

    /// Makes a key of a private JWK, after checking its numbers, that its private and public parts belong together, and that
    /// `use`, `key_ops` and `alg` allow signing.
    ///
    /// - Parameters:
    ///   - jwk: A JWK with its private members.
    ///   - algorithm: The algorithm the key is for, if the JWK does not state `alg`; `nil` takes the only one that such a key
    ///     can have.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `weakKey`, `keyMismatch`, `privateKeyRequired`,
    ///   `algorithmRequired`, `algorithmMismatch` or `unsupportedAlgorithm`.
    public init(jwk: JWK, algorithm: JWSAlgorithm? = nil) throws(TokenError) {
        let choice = try jwk.algorithmChoice(for: .signing, wanted: algorithm)
        guard jwk.isPrivate else {
            throw TokenError(.privateKeyRequired, "the JWK has a public key: give the private key that belongs to it")
        }
        try self.init(SigningMaterial(jwk, choice.details), choice, from: jwk)
    }

    /// Makes a key of the secret of an HMAC algorithm.
    ///
    /// The octets are taken as they are. A secret that is written in base64 or hexadecimal has to be decoded first, if those
    /// who verify do so.
    ///
    /// - Parameters:
    ///   - secret: The secret's octets, such as a `Data`, an array, or the `utf8` of a string. At least as many as the
    ///     algorithm's hash has: 32 for HS256, 48 for HS384, 64 for HS512
    ///     ([RFC 7518 §3.2](https://www.rfc-editor.org/rfc/rfc7518#section-3.2)). Zeros at its end don't count: HMAC pads
    ///     with them.
    ///   - algorithm: The algorithm the key is for.
    /// - Throws: ``TokenError`` with the code `weakKey` if the secret is too short, empty or blank, `malformedKey` if it is a
    ///   PEM text, a certificate, a JWK or another form of a key, `algorithmMismatch` or `unsupportedAlgorithm` for another
    ///   kind of algorithm.
    public init(secret: some Sequence<UInt8>, algorithm: JWSAlgorithm) throws(TokenError) {
        try self.init(Array(secret), algorithm, length: .standard)
    }

    /// Makes a key of a secret that may be shorter than its algorithm demands.
    ///
    /// - Warning: From one token, a short secret can be found by trying: offline, at thousands of millions of tries a second.
    ///   This is for systems whose secret is given and can't be changed yet.
    ///
    /// - Parameters:
    ///   - secret: The secret's octets, one at least.
    ///   - algorithm: The algorithm the key is for.
    /// - Throws: ``TokenError`` as ``init(secret:algorithm:)`` does.
    public init(unsafeShortSecret secret: some Sequence<UInt8>, algorithm: JWSAlgorithm) throws(TokenError) {
        try self.init(Array(secret), algorithm, length: .any)
    }

    private init(_ octets: [UInt8], _ algorithm: JWSAlgorithm, length: SharedSecret.Length) throws(TokenError) {
        let details = try algorithm.supportedDetails()
        guard details.keyType == .oct else {
            throw TokenError(.algorithmMismatch, "\(algorithm) needs a key pair; a secret is for HMAC algorithms")
        }
        let secret = try SharedSecret(octets, for: details, length: length)
        try self.init(SigningMaterial(secret, details), AlgorithmChoice(details))
    }

    /// Takes material that has been checked, and the JWK that the key came in, whose public members are kept.
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
}

extension SigningKey {
    /// The algorithm the key signs with.
    public var algorithm: JWSAlgorithm { verificationKey.algorithm }

    /// The ID under which verifiers know the key, or `nil`.
    ///
    /// It is that of the JWK from which the key was made, or that of ``identified(by:)``.
    public var keyID: String? { verificationKey.keyID }

    /// Returns the same key with another ID.
    ///
    /// ```swift
    /// let key = try SigningKey(pem: pem).identified(by: "2026-07")
    /// ```
    ///
    /// - Parameter keyID: The ID under which verifiers know the key; `nil` to leave it as it is.
    /// - Returns: The key. Its public half has the ID, too.
    public func identified(by keyID: String?) -> SigningKey {
        guard let keyID else { return self }
        return SigningKey(material, verificationKey.identified(by: keyID))
    }

    /// The private key as a JWK, private members included.
    ///
    /// - Returns: The JWK. Keep it secret; ``VerificationKey/jwk`` is the one to publish.
    /// - Throws: ``TokenError`` with the code `malformedKey` if OpenSSL can't give the key out.
    public func privateJWK() throws(TokenError) -> JWK {
        var members = verificationKey.jwk.members
        for member in try material.privateMembers() { members[member.name] = member.value }
        // What the public half is declared for is not what the private one is for.
        if members["key_ops"] != nil { members["key_ops"] = algorithm.isSymmetric ? ["sign", "verify"] : ["sign"] }
        return try JWK(members)
    }

    /// Signs a message with the key's algorithm.
    ///
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    package func signature(for message: RawSpan) throws(TokenError) -> [UInt8] {
        do throws(CryptoError) {
            return try material.signature(for: message)
        } catch {
            throw TokenError(
                .signingFailed,
                "the \(algorithm) signature could not be made: \(error.message)",
                cause: error
            )
        }
    }
}

extension SigningKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The algorithm and the thumbprint of the public half; nothing private.
    public var description: String {
        algorithm.isSymmetric
            ? "SigningKey(\(algorithm), secret not shown)"
            : "SigningKey(\(algorithm), thumbprint \(verificationKey.thumbprint), private part not shown)"
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// The public half.
    public var customMirror: Mirror {
        Mirror(self, children: ["verificationKey": verificationKey], displayStyle: .struct)
    }
}
