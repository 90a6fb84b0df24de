public import Foundation
internal import OpenSSLCrypto

extension DecryptionKey {
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
        guard let key = material.publicKey else { throw TokenError(noOlderForm: nil) }
        return try key.exportedPEM(format)
    }

    /// Returns the public key as DER.
    ///
    /// - Parameter format: The format. The default is SPKI.
    /// - Returns: The bytes.
    /// - Throws: ``TokenError`` as ``pem(_:)`` does.
    public func der(_ format: PublicKeyFormat = .spki) throws(TokenError) -> Data {
        guard let key = material.publicKey else { throw TokenError(noOlderForm: nil) }
        return try key.exportedDER(format)
    }

    private init(_ key: PublicKey, named algorithm: JWEAlgorithm) throws(TokenError) {
        let choice = try EncryptionChoice(for: key.keyType, curve: key.curveName, named: algorithm)
        try self.init(EncryptionMaterial(key, choice.details), choice)
    }
}
