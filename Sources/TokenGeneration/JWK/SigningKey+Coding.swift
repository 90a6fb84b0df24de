public import Foundation
internal import OpenSSLCrypto

extension SigningKey {
    /// Parses a private key from PEM: PKCS#8, encrypted PKCS#8, or the older formats PKCS#1 and
    /// SEC1.
    ///
    /// - Parameters:
    ///   - pem: The PEM text, with exactly one key.
    ///   - password: The password of an encrypted key. The default is `nil`.
    ///   - algorithm: The algorithm that the key is for. The default, `nil`, uses the only
    ///     algorithm that the key supports. RSA keys require an algorithm. A key on an Edwards
    ///     curve signs under the name of its curve, see ``JWSAlgorithm/edDSA``.
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
        guard let key = material.keyPair else { throw TokenError(noOlderForm: nil) }
        return try key.exportedPEM(format)
    }

    /// Returns the private key as DER.
    ///
    /// - Parameter format: The format. The default is unencrypted PKCS#8.
    /// - Returns: The bytes. Keep them secret.
    /// - Throws: ``TokenError`` as ``pem(_:)`` does.
    public func der(_ format: PrivateKeyFormat = .pkcs8) throws(TokenError) -> Data {
        guard let key = material.keyPair else { throw TokenError(noOlderForm: nil) }
        return try key.exportedDER(format)
    }

    private init(_ key: PrivateKey, named algorithm: JWSAlgorithm?) throws(TokenError) {
        let publicKey = key.publicKey
        let choice = try AlgorithmChoice(for: publicKey.keyType, curve: publicKey.curveName, named: algorithm)
        try self.init(SigningMaterial(key, choice.details), choice)
    }
}

extension PublicKey {
    /// The labels of PEM blocks that contain a public key.
    static let labels = ["PUBLIC KEY", "RSA PUBLIC KEY", "CERTIFICATE"]

    /// The value of `kty`.
    var keyType: KeyType {
        switch self {
        case .rsa: .rsa
        case .ellipticCurve: .ec
        case .edwards, .montgomery: .okp
        case .mldsa: .akp
        }
    }

    /// The value of `crv`, or of `alg` for the type `AKP`, if the type has one.
    var curveName: String? {
        switch self {
        case .rsa: nil
        case .ellipticCurve(let key): key.curve.name
        case .edwards(let key): key.curve.name
        case .montgomery(let key): key.curve.name
        case .mldsa(let key): key.parameters.name
        }
    }
}

extension TokenError {
    /// Creates the error for a key that doesn't have a format; a `nil` type stands for a secret.
    init(noOlderForm kind: String?) {
        self.init(
            .unsupportedKey,
            kind.map { "\($0) keys have no format other than PKCS#8 and SPKI" }
                ?? "secrets have no PEM or DER format; write the secret as a JWK"
        )
    }
}
