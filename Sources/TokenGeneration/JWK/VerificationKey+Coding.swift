public import Foundation
internal import OpenSSLCrypto

extension VerificationKey {
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
        guard let key = publicKey else { throw TokenError(noOlderForm: nil) }
        return try key.exportedPEM(format)
    }

    /// Returns the key as DER.
    ///
    /// - Parameter format: The format. The default is SPKI.
    /// - Returns: The bytes.
    /// - Throws: ``TokenError`` as ``pem(_:)`` does.
    public func der(_ format: PublicKeyFormat = .spki) throws(TokenError) -> Data {
        guard let key = publicKey else { throw TokenError(noOlderForm: nil) }
        return try key.exportedDER(format)
    }

    private init(_ key: PublicKey, named algorithm: JWSAlgorithm?) throws(TokenError) {
        let choice = try AlgorithmChoice(for: key.keyType, curve: key.curveName, named: algorithm)
        try self.init(VerificationMaterial(key, choice.details), choice)
    }
}
