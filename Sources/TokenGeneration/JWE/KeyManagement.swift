internal import OpenSSLCrypto

/// The parts of a JWE from which a recipient gets the content key, checked as far as possible
/// without the recipient's key.
enum KeyManagement: Sendable {
    case direct
    case keyWrap([UInt8])
    case gcmKeyWrap(AuthenticatedCipher, AuthenticatedCipher.Sealed)
    case agreement(KeyAgreement, wrapped: [UInt8]?)
    case oaep([UInt8])
    case password(PasswordDerivation, wrapped: [UInt8])

    /// Reads the parts.
    ///
    /// - Throws: ``TokenError`` with the code `malformedToken`, `tooLarge` or `weakKey`.
    init(
        _ details: JWEAlgorithmDescription,
        _ encryption: JWEEncryption,
        _ header: JWEHeader,
        encryptedKey: [UInt8],
        _ policy: DecryptionPolicy
    ) throws(TokenError) {
        let keySize = encryption.cipher.keySize
        switch details.scheme {
        case .direct:
            try Self.check(encryptedKey, 0, details)
            self = .direct
        case .keyWrap:
            try Self.check(encryptedKey, keySize + AESKeyWrap.overhead, details)
            self = .keyWrap(encryptedKey)
        case .gcmKeyWrap(let cipher):
            try Self.check(encryptedKey, keySize, details)
            let vector = try header.octets("iv", limit: cipher.vectorSize)
            let tag = try header.octets("tag", limit: cipher.tagSize)
            guard vector.count == cipher.vectorSize, tag.count == cipher.tagSize else {
                throw TokenError(
                    .malformedToken,
                    "“iv” and “tag” of the header must have \(cipher.vectorSize) and \(cipher.tagSize) bytes"
                )
            }
            self = .gcmKeyWrap(cipher, .init(vector: vector, ciphertext: encryptedKey, tag: tag))
        case .agreement(let wrapKeySize):
            try Self.check(encryptedKey, wrapKeySize == nil ? 0 : keySize + AESKeyWrap.overhead, details)
            self = .agreement(
                try KeyAgreement(header, details, encryption),
                wrapped: wrapKeySize == nil ? nil : encryptedKey
            )
        case .oaep:
            guard !encryptedKey.isEmpty else { throw TokenError(.malformedToken, "the encrypted key is missing") }
            self = .oaep(encryptedKey)
        case .password(let hash, let wrapKeySize, _):
            try Self.check(encryptedKey, keySize + AESKeyWrap.overhead, details)
            let salt = try header.octets("p2s", limit: JWELimits.saltSize)
            guard salt.count >= PasswordDerivation.minimumSaltSize else {
                throw TokenError(
                    .weakKey,
                    "“p2s” of the header must have at least \(PasswordDerivation.minimumSaltSize) bytes"
                )
            }
            let derivation = PasswordDerivation(
                algorithm: details.algorithm,
                hash: hash,
                keySize: wrapKeySize,
                salt: salt,
                iterations: try policy.iterations(in: header)
            )
            self = .password(derivation, wrapped: encryptedKey)
        }
    }

    private static func check(
        _ encryptedKey: [UInt8],
        _ size: Int,
        _ details: JWEAlgorithmDescription
    ) throws(TokenError) {
        guard encryptedKey.count == size else {
            throw TokenError(
                .malformedToken,
                "the encrypted key has \(encryptedKey.count) bytes, but \(details.algorithm) requires \(size)"
            )
        }
    }
}

extension KeyManagement {
    /// Returns the content key, with the size that the content encryption requires.
    ///
    /// If the recipient's key doesn't fit, the result is a random key, so that the content fails to
    /// decrypt in the same way as for any other reason
    /// ([RFC 7516 §11.5](https://www.rfc-editor.org/rfc/rfc7516#section-11.5)). The random key is
    /// made in either case.
    ///
    /// - Throws: ``CryptoError`` if the system can't provide random numbers.
    func contentKey(
        with material: DecryptionMaterial,
        for encryption: JWEEncryption
    ) throws(CryptoError) -> SecretBytes {
        let size = encryption.cipher.keySize
        // A shared key doesn't depend on the token, so nothing has to be hidden.
        if case (.direct, .secret(let secret)) = (self, material), secret.count == size { return secret }
        let substitute = try SecureRandom.secret(count: size)
        let key = try? unwrapped(with: material, substitute)
        guard let key, key.count == size else { return substitute }
        return key
    }

    private func unwrapped(
        with material: DecryptionMaterial,
        _ substitute: SecretBytes
    ) throws(CryptoError) -> SecretBytes? {
        switch (self, material) {
        case (.keyWrap(let wrapped), .secret(let secret)):
            return try AESKeyWrap(key: secret).unwrap(wrapped)
        case (.gcmKeyWrap(let cipher, let sealed), .secret(let secret)):
            let nothing: [UInt8] = []
            return try cipher.openSecret(sealed, authenticating: nothing.span.octets, key: secret)
        case (.agreement(let agreement, let wrapped), .agreement(_, let recipient)):
            // A random secret replaces that of a point of small order, which takes the same work.
            let secret = try recipient.secret(with: agreement.publicKey) ?? substitute
            return try agreement.contentKey(from: secret, wrapped: wrapped)
        case (.oaep(let encryptedKey), .rsa(_, let decrypter)):
            return decrypter.decrypt(encryptedKey)
        case (.password(let derivation, let wrapped), .password(let password)):
            return try AESKeyWrap(key: derivation.key(from: password)).unwrap(wrapped)
        default:
            return nil
        }
    }
}

/// The derivation of a wrapping key from a password
/// ([RFC 7518 §4.8](https://www.rfc-editor.org/rfc/rfc7518#section-4.8)).
struct PasswordDerivation: Sendable {
    let algorithm: JWEAlgorithm
    let hash: HashFunction
    let keySize: Int
    let salt: [UInt8]
    let iterations: Int

    /// The minimum size of a salt in bytes.
    static let minimumSaltSize = 8
    /// The minimum number of iterations.
    static let minimumIterations = 1_000

    func key(from password: SecretBytes) throws(CryptoError) -> SecretBytes {
        try PBKDF2.key(
            from: password,
            salt: Array(algorithm.rawValue.utf8) + [0] + salt,
            iterations: iterations,
            hash: hash,
            count: keySize
        )
    }
}
