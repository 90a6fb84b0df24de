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

    /// Returns a random key if the recipient's key doesn't fit, so that the content fails to
    /// decrypt in the same way as for any other reason ([RFC 7516
    /// §11.5](https://www.rfc-editor.org/rfc/rfc7516#section-11.5)).
    ///
    /// The random key is made in either case.
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

/// [RFC 7518 §4.8](https://www.rfc-editor.org/rfc/rfc7518#section-4.8).
struct PasswordDerivation: Sendable {
    let algorithm: JWEAlgorithm
    let hash: HashFunction
    let keySize: Int
    let salt: [UInt8]
    let iterations: Int

    static let minimumSaltSize = 8
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

/// The public parts of a key agreement: the ephemeral key, and the context of the derived key
/// ([RFC 7518 §4.6](https://www.rfc-editor.org/rfc/rfc7518#section-4.6)).
struct KeyAgreement: Sendable {
    let publicKey: PublicKey
    private let keySize: Int
    private let info: [UInt8]

    init(_ header: JWEHeader, _ details: JWEAlgorithmDescription, _ encryption: JWEEncryption) throws(TokenError) {
        let publicKey = try Self.ephemeralKey(in: header)
        self.init(
            publicKey,
            details,
            encryption,
            partyU: try header.optionalOctets("apu", limit: JWELimits.partyInfoSize) ?? [],
            partyV: try header.optionalOctets("apv", limit: JWELimits.partyInfoSize) ?? []
        )
    }

    init(
        _ publicKey: PublicKey,
        _ details: JWEAlgorithmDescription,
        _ encryption: JWEEncryption,
        partyU: [UInt8],
        partyV: [UInt8]
    ) {
        self.publicKey = publicKey
        // The derived key is for the algorithm that uses it: `enc` directly, or `alg` to wrap.
        let name: String
        if case .agreement(let wrapKeySize?) = details.scheme {
            (name, keySize) = (details.algorithm.rawValue, wrapKeySize)
        } else {
            (name, keySize) = (encryption.rawValue, encryption.cipher.keySize)
        }
        var info: [UInt8] = []
        for field in [Array(name.utf8), partyU, partyV] {
            Self.append(field.count, to: &info)
            info += field
        }
        Self.append(keySize * 8, to: &info)
        self.info = info
    }

    /// In bytes.
    var secretSize: Int {
        switch publicKey {
        case .ellipticCurve(let key): key.curve.coordinateSize
        case .montgomery(let key): key.curve.keySize
        case .rsa, .edwards, .mldsa: 0
        }
    }

    func contentKey(from secret: SecretBytes, wrapped: [UInt8]?) throws(CryptoError) -> SecretBytes? {
        let key = try derivedKey(from: secret)
        guard let wrapped else { return key }
        return try AESKeyWrap(key: key).unwrap(wrapped)
    }

    func derivedKey(from secret: SecretBytes) throws(CryptoError) -> SecretBytes {
        try ConcatKDF.key(from: secret, info: info, count: keySize)
    }

    /// Four bytes, big-endian.
    private static func append(_ value: Int, to info: inout [UInt8]) {
        for shift in [24, 16, 8, 0] { info.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }

    private static func ephemeralKey(in header: JWEHeader) throws(TokenError) -> PublicKey {
        guard let members = header["epk"]?.object else {
            throw TokenError(.malformedToken, "the header must have “epk”, the ephemeral public key, as an object")
        }
        do throws(TokenError) {
            let jwk = try JWK(members)
            guard !jwk.isPrivate else { throw TokenError(.malformedKey, "it contains a private key") }
            guard let curve = jwk.curve, JWEAlgorithmDescription.curves.contains(where: curve.isExactly) else {
                throw TokenError(.unsupportedKey, "its curve isn't one for key agreement")
            }
            return try jwk.publicKey()
        } catch {
            throw TokenError(.malformedToken, "“epk” of the header isn't usable: \(error.message)", cause: error)
        }
    }
}

typealias WrappedContentKey = (contentKey: SecretBytes, encryptedKey: [UInt8], parameters: JSONObject)

extension EncryptionKey {
    var sharedContentKey: SecretBytes? {
        if case (.direct, .secret(let secret)) = (details.scheme, material) { secret } else { nil }
    }

    /// The algorithm may determine another content key; a key agreement uses the information about
    /// the sender (`partyU`) and recipient (`partyV`).
    func wrap(
        _ contentKey: SecretBytes,
        for encryption: JWEEncryption,
        partyU: [UInt8],
        partyV: [UInt8]
    ) throws(CryptoError) -> WrappedContentKey {
        switch (details.scheme, material) {
        case (.direct, .secret(let secret)):
            return (secret, [], [:])
        case (.keyWrap, .secret(let secret)):
            return (contentKey, try AESKeyWrap(key: secret).wrap(contentKey), [:])
        case (.gcmKeyWrap(let cipher), .secret(let secret)):
            let sealed = try contentKey.withBytes { bytes throws(CryptoError) in
                try cipher.seal(bytes, authenticating: bytes.extracting(first: 0), key: secret)
            }
            let parameters: JSONObject = ["iv": .base64URL(sealed.vector), "tag": .base64URL(sealed.tag)]
            return (contentKey, sealed.ciphertext, parameters)
        case (.agreement(let wrapKeySize), .agreement(let publicKey)):
            let ephemeral = try PrivateKey.ephemeral(for: publicKey)
            let agreement = KeyAgreement(ephemeral.publicKey, details, encryption, partyU: partyU, partyV: partyV)
            guard let secret = try ephemeral.sharedSecret(with: publicKey) else {
                throw CryptoError(.weakKey, "The recipient's public key has small order")
            }
            let derived = try agreement.derivedKey(from: secret)
            var epk = ephemeral.publicKey.jwkMembers
            epk["kty"] = .string(publicKey.keyType.rawValue)
            guard wrapKeySize != nil else { return (derived, [], ["epk": .object(epk)]) }
            return (contentKey, try AESKeyWrap(key: derived).wrap(contentKey), ["epk": .object(epk)])
        case (.oaep, .rsa(_, let encrypter)):
            return (contentKey, try encrypter.encrypt(contentKey), [:])
        case (.password(let hash, let size, _), .password(let password, let iterations)):
            let derivation = PasswordDerivation(
                algorithm: algorithm,
                hash: hash,
                keySize: size,
                salt: try SecureRandom.bytes(count: 16),
                iterations: iterations
            )
            let parameters: JSONObject = [
                "p2s": .base64URL(derivation.salt), "p2c": .number(JSONNumber(iterations)),
            ]
            return (contentKey, try AESKeyWrap(key: derivation.key(from: password)).wrap(contentKey), parameters)
        default:
            throw CryptoError(.wrongKeyType, "\(algorithm) can't use this key")
        }
    }
}
