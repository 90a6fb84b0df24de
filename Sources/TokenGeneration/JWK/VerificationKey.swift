internal import OpenSSLCrypto

/// A key that verifies with exactly one algorithm: a public key, or the secret of an HMAC algorithm.
///
/// It was checked when it was made and never changes. Copies share it.
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

    /// Makes a key of a JWK, after checking its numbers and that `use`, `key_ops` and `alg` allow verifying.
    ///
    /// - Parameters:
    ///   - jwk: A JWK. Private members of a key pair are dropped without reading them; ``SigningKey/init(jwk:algorithm:)``
    ///     checks them. A JWK of kty `oct` needs its `k`. An RSA modulus has at most 8192 bits.
    ///   - algorithm: The algorithm the key is for, if the JWK does not state `alg`; `nil` takes the only one that such a key
    ///     can have.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `weakKey`, `tooLarge`, `keyMismatch`,
    ///   `algorithmRequired`, `algorithmMismatch` or `unsupportedAlgorithm`.
    public init(jwk: JWK, algorithm: JWSAlgorithm? = nil) throws(TokenError) {
        try self.init(jwk: jwk, algorithm: algorithm, maximumRSAKeySize: RSAKeyLimit.configuration)
    }

    /// Makes a key of a JWK, as ``init(jwk:algorithm:)`` does, whose RSA modulus has at most so many bits.
    init(jwk: JWK, algorithm: JWSAlgorithm?, maximumRSAKeySize: Int) throws(TokenError) {
        let choice = try jwk.algorithmChoice(for: .verification, wanted: algorithm)
        try self.init(jwk, choice, maximumRSAKeySize: maximumRSAKeySize)
    }

    /// Prepares the key of a JWK whose statements have been found to allow verifying.
    init(_ jwk: JWK, _ choice: AlgorithmChoice, maximumRSAKeySize: Int) throws(TokenError) {
        guard choice.details.keyType != .oct else {
            self = try SigningKey(SigningMaterial(jwk, choice.details), choice, from: jwk).verificationKey
            return
        }
        let jwk = jwk.publicPart
        let material = try VerificationMaterial(jwk, choice.details, maximumRSAKeySize: maximumRSAKeySize)
        try self.init(material, choice, from: jwk)
    }

    /// Makes a key of the secret of an HMAC algorithm.
    ///
    /// Whoever has the secret can sign, too: between parties that don't trust each other with that, use a key pair.
    ///
    /// - Parameters:
    ///   - secret: The secret's octets, such as a `Data`, an array, or the `utf8` of a string. At least as many as the
    ///     algorithm's hash has: 32 for HS256, 48 for HS384, 64 for HS512. Zeros at its end don't
    ///     count: HMAC pads with them.
    ///   - algorithm: The algorithm the key is for.
    /// - Throws: ``TokenError`` with the code `weakKey` if the secret is too short, empty or blank, `malformedKey` if it is a
    ///   PEM text, a certificate, a JWK or another form of a key, `algorithmMismatch` or `unsupportedAlgorithm` for another
    ///   kind of algorithm.
    public init(secret: some Sequence<UInt8>, algorithm: JWSAlgorithm) throws(TokenError) {
        self = try SigningKey(secret: secret, algorithm: algorithm).verificationKey
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
        self = try SigningKey(unsafeShortSecret: secret, algorithm: algorithm).verificationKey
    }

    /// Takes material that has been checked, the JWK that the key came in, whose public members are kept, and the thumbprint,
    /// if it is not of public members.
    init(
        _ material: VerificationMaterial,
        _ choice: AlgorithmChoice,
        from source: JWK? = nil,
        thumbprint: String? = nil
    ) throws(TokenError) {
        if let source { try material.checkCertificate(of: source) }
        var members = source?.publicPart.members ?? JSONObject()
        members["kty"] = .string(choice.details.keyType.rawValue)
        if choice.synonyms.isEmpty { members["alg"] = .string(choice.details.algorithm.rawValue) }
        for member in material.members { members[member.name] = member.value }
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
    /// The algorithm the key verifies with.
    public var algorithm: JWSAlgorithm { storage.algorithm }

    /// The key as a JWK, fit to be published.
    ///
    /// It states `alg`, and has the other members of the JWK it was made of, without private ones. Of a secret, only what is
    /// not the secret is left. The JWK of a key on an Edwards curve for which nobody named an algorithm states none, either.
    public var jwk: JWK { storage.jwk }

    /// The thumbprint with SHA-256, in base64url ([RFC 7638](https://www.rfc-editor.org/rfc/rfc7638)).
    ///
    /// - Warning: That of a secret is a hash of the secret. Don't publish it if the secret could be guessed.
    public var thumbprint: String { storage.thumbprint }

    /// The `kid` of the JWK the key was made of, or `nil`.
    public var keyID: String? { jwk.keyID }

    /// The thumbprint as a URI ([RFC 9278](https://www.rfc-editor.org/rfc/rfc9278)).
    public var thumbprintURI: String { JWK.thumbprintURI(thumbprint) }

    /// The public key; none if it is a secret.
    var publicKey: PublicKey? { storage.material.publicKey }

    /// The same key with another ID in its JWK.
    func identified(by keyID: String) -> VerificationKey {
        var document = jwk
        document.keyID = keyID
        return VerificationKey(Storage(storage.choice, document, thumbprint, storage.material))
    }

    /// Whether the key verifies signatures that are made under a name of an algorithm.
    package func accepts(algorithm name: String) -> Bool {
        storage.choice.accepts(name)
    }

    /// Whether a signature is one by this key over a message.
    ///
    /// A signature of the wrong length is not.
    package func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        storage.material.isValidSignature(signature, for: message)
    }
}

extension VerificationKey: CustomStringConvertible, CustomReflectable {
    /// The algorithm and the thumbprint; of a secret, the algorithm only.
    public var description: String {
        algorithm.isSymmetric
            ? "VerificationKey(\(algorithm), secret not shown)"
            : "VerificationKey(\(algorithm), thumbprint \(thumbprint))"
    }

    /// The JWK.
    public var customMirror: Mirror {
        Mirror(self, children: ["jwk": jwk], displayStyle: .struct)
    }
}
