internal import Foundation
internal import OpenSSLCrypto

extension PrivateKey {
    /// Reads a key pair from PEM.
    ///
    /// - Throws: ``TokenError`` as ``SigningKey/init(pem:password:algorithm:)`` does.
    static func imported(pem: String, password: String?) throws(TokenError) -> PrivateKey {
        let text = Array(pem.utf8)
        if !text.containsRun(of: "PRIVATE KEY-----"),
            PublicKey.labels.contains(where: { text.containsRun(of: "-----BEGIN \($0)-----") })
        {
            throw isPublic
        }
        let secret = password.map(SecretBytes.init(password:))
        return try TokenError.refusingKey(PrivateKey(pem: pem, password: secret))
    }

    /// Reads a key pair from DER.
    ///
    /// - Throws: ``TokenError`` as ``SigningKey/init(der:password:algorithm:)`` does.
    static func imported(der: [UInt8], password: String?) throws(TokenError) -> PrivateKey {
        let secret = password.map(SecretBytes.init(password:))
        do throws(CryptoError) {
            return try PrivateKey(der: der, password: secret)
        } catch {
            let isOfPublicKey = error.code == .wrongKeyType && (try? PublicKey(der: der)) != nil
            throw isOfPublicKey ? isPublic : TokenError(refusedKey: error)
        }
    }

    /// Returns the key pair as PEM.
    ///
    /// - Throws: ``TokenError`` as ``SigningKey/pem(_:)`` does.
    func exportedPEM(_ format: PrivateKeyFormat) throws(TokenError) -> String {
        try check(format)
        let pem: String? =
            switch format.wrapped {
            case .pkcs8: try TokenError.refusingKey(pkcs8PEM())
            case .encryptedPKCS8(let password): try TokenError.refusingKey(encryptedPKCS8PEM(password: password))
            case .traditional: try TokenError.refusingKey(traditionalPEM())
            }
        guard let pem else { throw TokenError(noOlderForm: kind) }
        return pem
    }

    /// Returns the key pair as DER.
    ///
    /// - Throws: ``TokenError`` as ``SigningKey/pem(_:)`` does.
    func exportedDER(_ format: PrivateKeyFormat) throws(TokenError) -> Data {
        try check(format)
        let der: Data? =
            switch format.wrapped {
            case .pkcs8: Data(try TokenError.refusingKey(pkcs8DER()))
            case .encryptedPKCS8(let password): Data(try TokenError.refusingKey(encryptedPKCS8DER(password: password)))
            case .traditional: try TokenError.refusingKey(traditionalDER()).map { Data($0) }
            }
        guard let der else { throw TokenError(noOlderForm: kind) }
        return der
    }

    private func check(_ format: PrivateKeyFormat) throws(TokenError) {
        if case .encryptedPKCS8(let password) = format.wrapped, password.count == 0 {
            throw TokenError(.passwordRequired, "the password for the encrypted private key is empty")
        }
    }

    private static let isPublic = TokenError(
        .privateKeyRequired,
        "this is a public key; use the private key that belongs to it"
    )
}

extension PublicKey {
    /// Reads a public key from PEM.
    ///
    /// - Throws: ``TokenError`` as ``VerificationKey/init(pem:algorithm:)`` does.
    static func imported(pem: String) throws(TokenError) -> PublicKey {
        if Array(pem.utf8).containsRun(of: "PRIVATE KEY-----") { throw isPrivate }
        return try TokenError.refusingKey(PublicKey(pem: pem))
    }

    /// Reads a public key from DER.
    ///
    /// - Throws: ``TokenError`` as ``VerificationKey/init(der:algorithm:)`` does.
    static func imported(der: [UInt8]) throws(TokenError) -> PublicKey {
        do throws(CryptoError) {
            return try PublicKey(der: der)
        } catch {
            throw error.code == .wrongKeyType && isPrivateKey(der) ? isPrivate : TokenError(refusedKey: error)
        }
    }

    /// Returns the key as PEM.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedKey`.
    func exportedPEM(_ format: PublicKeyFormat) throws(TokenError) -> String {
        guard let pem = format.isTraditional ? traditionalPEM() : spkiPEM() else { throw TokenError(noOlderForm: kind) }
        return pem
    }

    /// Returns the key as DER.
    ///
    /// - Throws: ``TokenError`` with the code `unsupportedKey`.
    func exportedDER(_ format: PublicKeyFormat) throws(TokenError) -> Data {
        guard let der = format.isTraditional ? traditionalDER() : spkiDER() else { throw TokenError(noOlderForm: kind) }
        return Data(der)
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
        "this is a private key; use its public part, such as SigningKey(pem:).verificationKey.pem() returns"
    )
}

extension Data {
    /// Copies a secret to memory that the caller owns.
    init(_ secret: SecretBytes) {
        self = secret.withBytes { bytes in
            let octets = Span<UInt8>(_bytes: bytes)
            var data = Data(capacity: octets.count)
            for index in octets.indices { data.append(octets[index]) }
            return data
        }
    }
}
