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
        if Array(pem.utf8).containsRun(of: "PRIVATE KEY-----") { throw Self.isPrivate }
        try self.init(
            TokenError.refusingKey { () throws(CryptoError) in try PublicKey(pem: pem) },
            named: algorithm
        )
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
        let der = Array(der)
        let key: PublicKey
        do throws(CryptoError) {
            key = try PublicKey(der: der)
        } catch {
            throw error.code == .wrongKeyType && Self.isPrivateKey(der) ? Self.isPrivate : TokenError(refusedKey: error)
        }
        try self.init(key, named: algorithm)
    }

    /// Returns the key as PEM.
    ///
    /// - Parameter format: The format. The default is SPKI (`BEGIN PUBLIC KEY`).
    /// - Returns: The PEM text.
    /// - Throws: ``TokenError`` with the code `unsupportedKey` if the key type doesn't have that
    ///   format (secrets have none).
    public func pem(_ format: PublicKeyFormat = .spki) throws(TokenError) -> String {
        guard let key = publicKey else { throw TokenError(noOlderForm: nil) }
        switch format.wrapped {
        case .spki: return key.spkiPEM()
        case .traditional:
            guard let pem = key.traditionalPEM() else { throw TokenError(noOlderForm: key.kind) }
            return pem
        }
    }

    /// Returns the key as DER.
    ///
    /// - Parameter format: The format. The default is SPKI.
    /// - Returns: The bytes.
    /// - Throws: ``TokenError`` as ``pem(_:)`` does.
    public func der(_ format: PublicKeyFormat = .spki) throws(TokenError) -> Data {
        guard let key = publicKey else { throw TokenError(noOlderForm: nil) }
        switch format.wrapped {
        case .spki: return Data(key.spkiDER())
        case .traditional:
            guard let der = key.traditionalDER() else { throw TokenError(noOlderForm: key.kind) }
            return Data(der)
        }
    }

    private init(_ key: PublicKey, named algorithm: JWSAlgorithm?) throws(TokenError) {
        let choice = try AlgorithmChoice(for: key.keyType, curve: key.curveName, named: algorithm)
        try self.init(VerificationMaterial(key, choice.details), choice)
    }

    private static func isPrivateKey(_ der: [UInt8]) -> Bool {
        do throws(CryptoError) {
            _ = try PrivateKey(der: der)
            return true
        } catch {
            return error.code == .passwordRequired
        }
    }

    private static let isPrivate = TokenError(
        .publicKeyRequired,
        "this is a private key; use its public part, which SigningKey(pem:).verificationKey.pem() returns"
    )
}
