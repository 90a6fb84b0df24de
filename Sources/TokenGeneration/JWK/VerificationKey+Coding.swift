public import Foundation
internal import OpenSSLCrypto

extension VerificationKey {
    /// Reads a public key from PEM: SPKI (`BEGIN PUBLIC KEY`), PKCS#1 (`BEGIN RSA PUBLIC KEY`), or an X.509 certificate.
    ///
    /// Of a certificate the key is taken and nothing verified. ``JWK/verifyCertificates(roots:at:)`` verifies.
    ///
    /// - Parameters:
    ///   - pem: The PEM text, with exactly one key.
    ///   - algorithm: The algorithm the key is for; `nil` takes the only one that such a key can have. RSA keys need one named.
    ///     A key on an Edwards curve verifies `EdDSA` and the name of its curve then.
    /// - Throws: ``TokenError`` with the code `malformedKey`, `unsupportedKey`, `weakKey`, `tooLarge`, `publicKeyRequired`,
    ///   `algorithmRequired`, `algorithmMismatch` or `unsupportedAlgorithm`.
    public init(pem: String, algorithm: JWSAlgorithm? = nil) throws(TokenError) {
        if Array(pem.utf8).containsRun(of: "PRIVATE KEY-----") { throw Self.isPrivate }
        try self.init(
            TokenError.refusingKey { () throws(CryptoError) in try PublicKey(pem: pem) },
            named: algorithm
        )
    }

    /// Reads a public key from DER: SPKI, PKCS#1, or an X.509 certificate, told apart by their contents.
    ///
    /// Of a certificate the key is taken and nothing verified.
    ///
    /// - Parameters:
    ///   - der: The octets.
    ///   - algorithm: The algorithm the key is for, as for ``init(pem:algorithm:)``.
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

    /// The key as PEM.
    ///
    /// - Parameter format: The format, by default SPKI (`BEGIN PUBLIC KEY`).
    /// - Returns: The PEM text.
    /// - Throws: ``TokenError`` with the code `unsupportedKey` if the kind of key has no such form, as a secret has none at all.
    public func pem(_ format: PublicKeyFormat = .spki) throws(TokenError) -> String {
        guard let key = publicKey else { throw TokenError(noOlderForm: nil) }
        switch format.wrapped {
        case .spki: return key.spkiPEM()
        case .traditional:
            guard let pem = key.traditionalPEM() else { throw TokenError(noOlderForm: key.kind) }
            return pem
        }
    }

    /// The key as DER.
    ///
    /// - Parameter format: The format, by default SPKI.
    /// - Returns: The octets.
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
        "this is a private key: give its public half, which SigningKey(pem:).verificationKey.pem() writes"
    )
}
