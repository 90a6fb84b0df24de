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
        let text = Array(pem.utf8)
        if !text.containsRun(of: "PRIVATE KEY-----"),
            PublicKey.labels.contains(where: { text.containsRun(of: "-----BEGIN \($0)-----") })
        {
            throw Self.isPublic
        }
        let secret = password.map(SecretBytes.init(password:))
        let key = try TokenError.refusingKey { () throws(CryptoError) in try PrivateKey(pem: pem, password: secret) }
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
        let der = Array(der)
        let secret = password.map(SecretBytes.init(password:))
        let key: PrivateKey
        do throws(CryptoError) {
            key = try PrivateKey(der: der, password: secret)
        } catch {
            let isPublic = error.code == .wrongKeyType && (try? PublicKey(der: der)) != nil
            throw isPublic ? Self.isPublic : TokenError(refusedKey: error)
        }
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
        let key = try keyPair(for: format)
        let pem = try TokenError.refusingKey { () throws(CryptoError) -> String? in
            switch format.wrapped {
            case .pkcs8: try key.pkcs8PEM()
            case .encryptedPKCS8(let password): try key.encryptedPKCS8PEM(password: password)
            case .traditional: try key.traditionalPEM()
            }
        }
        guard let pem else { throw TokenError(noOlderForm: key.kind) }
        return pem
    }

    /// Returns the private key as DER.
    ///
    /// - Parameter format: The format. The default is unencrypted PKCS#8.
    /// - Returns: The bytes. Keep them secret.
    /// - Throws: ``TokenError`` as ``pem(_:)`` does.
    public func der(_ format: PrivateKeyFormat = .pkcs8) throws(TokenError) -> Data {
        let key = try keyPair(for: format)
        let der = try TokenError.refusingKey { () throws(CryptoError) -> Data? in
            switch format.wrapped {
            case .pkcs8: Data(try key.pkcs8DER())
            case .encryptedPKCS8(let password): Data(try key.encryptedPKCS8DER(password: password))
            case .traditional: try key.traditionalDER().map { Data($0) }
            }
        }
        guard let der else { throw TokenError(noOlderForm: key.kind) }
        return der
    }

    private init(_ key: PrivateKey, named algorithm: JWSAlgorithm?) throws(TokenError) {
        let publicKey = key.publicKey
        let choice = try AlgorithmChoice(for: publicKey.keyType, curve: publicKey.curveName, named: algorithm)
        try self.init(SigningMaterial(key, choice.details), choice)
    }

    private func keyPair(for format: PrivateKeyFormat) throws(TokenError) -> PrivateKey {
        guard let key = material.keyPair else { throw TokenError(noOlderForm: nil) }
        if case .encryptedPKCS8(let password) = format.wrapped, password.count == 0 {
            throw TokenError(.passwordRequired, "the password for the encrypted private key is empty")
        }
        return key
    }

    private static let isPublic = TokenError(
        .privateKeyRequired,
        "this is a public key; use the private key that belongs to it"
    )
}

extension PublicKey {
    /// The labels of PEM blocks that contain a public key.
    static let labels = ["PUBLIC KEY", "RSA PUBLIC KEY", "CERTIFICATE"]

    /// The value of `kty`.
    var keyType: KeyType {
        switch self {
        case .rsa: .rsa
        case .ellipticCurve: .ec
        case .edwards: .okp
        }
    }

    /// The value of `crv`, if the type has one.
    var curveName: String? {
        switch self {
        case .rsa: nil
        case .ellipticCurve(let key): key.curve.name
        case .edwards(let key): key.curve.name
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

extension Data {
    /// Copies a secret to memory that the caller owns.
    fileprivate init(_ secret: SecretBytes) {
        self = secret.withBytes { bytes in
            let octets = Span<UInt8>(_bytes: bytes)
            var data = Data(capacity: octets.count)
            for index in octets.indices { data.append(octets[index]) }
            return data
        }
    }
}
