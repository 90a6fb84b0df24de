internal import OpenSSLCrypto

/// The content key of a JWE, and the parts from which a recipient gets it.
struct WrappedContentKey: Sendable {
    let contentKey: SecretBytes
    /// The encrypted key, or an empty array.
    let encryptedKey: [UInt8]
    /// The header parameters that the recipient needs.
    let parameters: JSONObject
}

extension EncryptionKey {
    /// The content key of every token, if the key is for `dir`.
    var sharedContentKey: SecretBytes? {
        if case (.direct, .secret(let secret)) = (details.scheme, material) { secret } else { nil }
    }

    /// Encrypts a content key for the recipient, unless the algorithm determines another one.
    ///
    /// A key agreement uses the information about the sender (`partyU`) and recipient (`partyV`).
    ///
    /// - Throws: ``CryptoError`` if OpenSSL fails or the recipient's key is unsuitable.
    func wrap(
        _ contentKey: SecretBytes,
        for encryption: JWEEncryption,
        partyU: [UInt8],
        partyV: [UInt8]
    ) throws(CryptoError) -> WrappedContentKey {
        switch (details.scheme, material) {
        case (.direct, .secret(let secret)):
            return WrappedContentKey(contentKey: secret, encryptedKey: [], parameters: [:])
        case (.keyWrap, .secret(let secret)):
            let encryptedKey = try AESKeyWrap(key: secret).wrap(contentKey)
            return WrappedContentKey(contentKey: contentKey, encryptedKey: encryptedKey, parameters: [:])
        case (.gcmKeyWrap(let cipher), .secret(let secret)):
            let sealed = try contentKey.withBytes { bytes throws(CryptoError) in
                try cipher.seal(bytes, authenticating: bytes.extracting(first: 0), key: secret)
            }
            return WrappedContentKey(
                contentKey: contentKey,
                encryptedKey: sealed.ciphertext,
                parameters: ["iv": .base64URL(sealed.vector), "tag": .base64URL(sealed.tag)]
            )
        case (.agreement(let wrapKeySize), .agreement(let publicKey)):
            let ephemeral = try PrivateKey.ephemeral(for: publicKey)
            let agreement = KeyAgreement(ephemeral.publicKey, details, encryption, partyU: partyU, partyV: partyV)
            guard let secret = try ephemeral.sharedSecret(with: publicKey) else {
                throw CryptoError(.weakKey, "The recipient's public key has small order")
            }
            let derived = try agreement.derivedKey(from: secret)
            var epk = ephemeral.publicKey.jwkMembers
            epk["kty"] = .string(publicKey.keyType.rawValue)
            return WrappedContentKey(
                contentKey: wrapKeySize == nil ? derived : contentKey,
                encryptedKey: wrapKeySize == nil ? [] : try AESKeyWrap(key: derived).wrap(contentKey),
                parameters: ["epk": .object(epk)]
            )
        case (.oaep, .rsa(_, let encrypter)):
            return WrappedContentKey(
                contentKey: contentKey,
                encryptedKey: try encrypter.encrypt(contentKey),
                parameters: [:]
            )
        case (.password(let hash, let size, _), .password(let password, let iterations)):
            let derivation = PasswordDerivation(
                algorithm: algorithm,
                hash: hash,
                keySize: size,
                salt: try SecureRandom.bytes(count: 16),
                iterations: iterations
            )
            return WrappedContentKey(
                contentKey: contentKey,
                encryptedKey: try AESKeyWrap(key: derivation.key(from: password)).wrap(contentKey),
                parameters: ["p2s": .base64URL(derivation.salt), "p2c": .number(JSONNumber(iterations))]
            )
        default:
            throw CryptoError(.wrongKeyType, "\(algorithm) can't use this key")
        }
    }
}
