import TokenGeneration

/// A generated private key or secret, for signatures or for encryption.
enum GeneratedKey {
    case signature(SigningKey)
    case encryption(DecryptionKey)

    /// Generates a key.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm that the key is for.
    ///   - rsaKeySize: The size of an RSA key in bits.
    ///   - curve: The curve of a key for key agreement.
    ///   - encryption: The content encryption of a key for `dir`.
    /// - Throws: ``TokenError`` if the key can't be generated.
    init(
        _ algorithm: GeneratedAlgorithm,
        rsaKeySize: Int?,
        curve: KeyAgreementCurve?,
        encryption: JWEEncryption?
    ) throws(TokenError) {
        switch (algorithm, rsaKeySize) {
        case (.signature(let algorithm), nil): self = .signature(try .generate(algorithm))
        case (.signature(let algorithm), let size?):
            self = .signature(try .generate(algorithm, rsaKeySize: size))
        case (.encryption(let algorithm), _):
            self = .encryption(
                try .generate(
                    algorithm,
                    on: curve ?? .p256,
                    rsaKeySize: rsaKeySize ?? 2_048,
                    encryption: encryption ?? .a256GCM
                )
            )
        }
    }

    /// The RFC 7638 thumbprint.
    var thumbprint: String {
        get throws(TokenError) {
            switch self {
            case .signature(let key): key.verificationKey.thumbprint
            case .encryption(let key): try key.privateJWK().thumbprint
            }
        }
    }

    func privateJWK() throws(TokenError) -> JWK {
        switch self {
        case .signature(let key): try key.privateJWK()
        case .encryption(let key): try key.privateJWK()
        }
    }

    var publicJWK: JWK {
        switch self {
        case .signature(let key): key.verificationKey.jwk
        case .encryption(let key): key.encryptionKey.jwk
        }
    }

    func privatePEM(_ format: PrivateKeyFormat) throws(TokenError) -> String {
        switch self {
        case .signature(let key): try key.pem(format)
        case .encryption(let key): try key.pem(format)
        }
    }

    func publicPEM() throws(TokenError) -> String {
        switch self {
        case .signature(let key): try key.verificationKey.pem()
        case .encryption(let key): try key.encryptionKey.pem()
        }
    }
}
