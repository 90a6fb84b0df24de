internal import OpenSSLCrypto

/// A key management algorithm of an encrypted token, identified by its name in a header's `alg`
/// ([RFC 7518 §4.1](https://www.rfc-editor.org/rfc/rfc7518#section-4.1)).
///
/// The algorithm determines how the recipient gets the key that encrypts the content. The package
/// implements every value of this type. `RSA1_5` isn't one of them: its padding lets an attacker
/// decrypt tokens with the recipient's help (Bleichenbacher 1998).
public struct JWEAlgorithm: RegisteredName {
    /// The name, as in the IANA registry.
    public let rawValue: String

    /// The algorithms that the package implements, which are all values of this type.
    public static var implemented: [JWEAlgorithm] { JWEAlgorithmDescription.table.map(\.algorithm) }

    init(tableName: String) {
        rawValue = tableName
    }

    /// The shared secret itself encrypts the content
    /// ([RFC 7518 §4.5](https://www.rfc-editor.org/rfc/rfc7518#section-4.5)).
    public static let dir = JWEAlgorithm(tableName: "dir")
    /// AES key wrap with a secret of 128 bits
    /// ([RFC 7518 §4.4](https://www.rfc-editor.org/rfc/rfc7518#section-4.4)).
    public static let a128KW = JWEAlgorithm(tableName: "A128KW")
    /// AES key wrap with a secret of 192 bits.
    public static let a192KW = JWEAlgorithm(tableName: "A192KW")
    /// AES key wrap with a secret of 256 bits.
    public static let a256KW = JWEAlgorithm(tableName: "A256KW")
    /// AES-GCM key encryption with a secret of 128 bits, for at most 2³² tokens per secret
    /// ([RFC 7518 §4.7](https://www.rfc-editor.org/rfc/rfc7518#section-4.7)).
    public static let a128GCMKW = JWEAlgorithm(tableName: "A128GCMKW")
    /// AES-GCM key encryption with a secret of 192 bits, for at most 2³² tokens per secret.
    public static let a192GCMKW = JWEAlgorithm(tableName: "A192GCMKW")
    /// AES-GCM key encryption with a secret of 256 bits, for at most 2³² tokens per secret.
    public static let a256GCMKW = JWEAlgorithm(tableName: "A256GCMKW")
    /// Key agreement with an ephemeral key, whose result encrypts the content
    /// ([RFC 7518 §4.6](https://www.rfc-editor.org/rfc/rfc7518#section-4.6)).
    public static let ecdhES = JWEAlgorithm(tableName: "ECDH-ES")
    /// Key agreement with an ephemeral key, and AES key wrap with 128 bits.
    public static let ecdhESA128KW = JWEAlgorithm(tableName: "ECDH-ES+A128KW")
    /// Key agreement with an ephemeral key, and AES key wrap with 192 bits.
    public static let ecdhESA192KW = JWEAlgorithm(tableName: "ECDH-ES+A192KW")
    /// Key agreement with an ephemeral key, and AES key wrap with 256 bits.
    public static let ecdhESA256KW = JWEAlgorithm(tableName: "ECDH-ES+A256KW")
    /// RSA with OAEP and SHA-1
    /// ([RFC 7518 §4.3](https://www.rfc-editor.org/rfc/rfc7518#section-4.3)).
    ///
    /// The padding doesn't depend on the weaknesses of SHA-1. Prefer ``rsaOAEP256`` where both
    /// parties support it.
    public static let rsaOAEP = JWEAlgorithm(tableName: "RSA-OAEP")
    /// RSA with OAEP and SHA-256.
    public static let rsaOAEP256 = JWEAlgorithm(tableName: "RSA-OAEP-256")
    /// RSA with OAEP and SHA-384, registered by the
    /// [Web Cryptography API](https://www.w3.org/TR/WebCryptoAPI/#jwk-mapping).
    public static let rsaOAEP384 = JWEAlgorithm(tableName: "RSA-OAEP-384")
    /// RSA with OAEP and SHA-512, registered by the
    /// [Web Cryptography API](https://www.w3.org/TR/WebCryptoAPI/#jwk-mapping).
    public static let rsaOAEP512 = JWEAlgorithm(tableName: "RSA-OAEP-512")
    /// A password with PBKDF2 and SHA-256, and AES key wrap with 128 bits
    /// ([RFC 7518 §4.8](https://www.rfc-editor.org/rfc/rfc7518#section-4.8)).
    public static let pbes2HS256A128KW = JWEAlgorithm(tableName: "PBES2-HS256+A128KW")
    /// A password with PBKDF2 and SHA-384, and AES key wrap with 192 bits.
    public static let pbes2HS384A192KW = JWEAlgorithm(tableName: "PBES2-HS384+A192KW")
    /// A password with PBKDF2 and SHA-512, and AES key wrap with 256 bits.
    public static let pbes2HS512A256KW = JWEAlgorithm(tableName: "PBES2-HS512+A256KW")
}

/// A content encryption algorithm of an encrypted token, identified by its name in a header's `enc`
/// ([RFC 7518 §5.1](https://www.rfc-editor.org/rfc/rfc7518#section-5.1)).
///
/// All of them authenticate the content and the protected header. The package implements every
/// value of this type.
public struct JWEEncryption: RegisteredName {
    /// The name, as in the IANA registry.
    public let rawValue: String

    let cipher: AuthenticatedCipher

    /// The algorithms that the package implements, which are all values of this type.
    public static var implemented: [JWEEncryption] {
        [.a128CBCHS256, .a192CBCHS384, .a256CBCHS512, .a128GCM, .a192GCM, .a256GCM]
    }

    /// AES-128 in CBC mode with HMAC-SHA-256
    /// ([RFC 7518 §5.2.3](https://www.rfc-editor.org/rfc/rfc7518#section-5.2.3)).
    public static let a128CBCHS256 = JWEEncryption(rawValue: "A128CBC-HS256", cipher: .aes128CBCHMACSHA256)
    /// AES-192 in CBC mode with HMAC-SHA-384
    /// ([RFC 7518 §5.2.4](https://www.rfc-editor.org/rfc/rfc7518#section-5.2.4)).
    public static let a192CBCHS384 = JWEEncryption(rawValue: "A192CBC-HS384", cipher: .aes192CBCHMACSHA384)
    /// AES-256 in CBC mode with HMAC-SHA-512
    /// ([RFC 7518 §5.2.5](https://www.rfc-editor.org/rfc/rfc7518#section-5.2.5)).
    public static let a256CBCHS512 = JWEEncryption(rawValue: "A256CBC-HS512", cipher: .aes256CBCHMACSHA512)
    /// AES-128 in Galois/Counter Mode
    /// ([RFC 7518 §5.3](https://www.rfc-editor.org/rfc/rfc7518#section-5.3)).
    public static let a128GCM = JWEEncryption(rawValue: "A128GCM", cipher: .aes128GCM)
    /// AES-192 in Galois/Counter Mode.
    public static let a192GCM = JWEEncryption(rawValue: "A192GCM", cipher: .aes192GCM)
    /// AES-256 in Galois/Counter Mode, the default for new tokens.
    public static let a256GCM = JWEEncryption(rawValue: "A256GCM", cipher: .aes256GCM)
}

/// The table has one row per algorithm; no other code in the module enumerates them.
struct JWEAlgorithmDescription: Sendable {
    enum Scheme: Sendable {
        case direct
        case keyWrap(keySize: Int)
        case gcmKeyWrap(AuthenticatedCipher)
        case agreement(wrapKeySize: Int?)
        case oaep(HashFunction)
        case password(HashFunction, wrapKeySize: Int, recommendedIterations: Int)
    }

    let algorithm: JWEAlgorithm
    let keyTypes: [KeyType]
    let scheme: Scheme

    /// In display order; the iterations for passwords are OWASP's recommendations of 2023 for
    /// PBKDF2.
    static let table: [JWEAlgorithmDescription] = [
        Self(algorithm: .dir, keyTypes: [.oct], scheme: .direct),
        Self(algorithm: .a128KW, keyTypes: [.oct], scheme: .keyWrap(keySize: 16)),
        Self(algorithm: .a192KW, keyTypes: [.oct], scheme: .keyWrap(keySize: 24)),
        Self(algorithm: .a256KW, keyTypes: [.oct], scheme: .keyWrap(keySize: 32)),
        Self(algorithm: .a128GCMKW, keyTypes: [.oct], scheme: .gcmKeyWrap(.aes128GCM)),
        Self(algorithm: .a192GCMKW, keyTypes: [.oct], scheme: .gcmKeyWrap(.aes192GCM)),
        Self(algorithm: .a256GCMKW, keyTypes: [.oct], scheme: .gcmKeyWrap(.aes256GCM)),
        Self(algorithm: .ecdhES, keyTypes: [.ec, .okp], scheme: .agreement(wrapKeySize: nil)),
        Self(algorithm: .ecdhESA128KW, keyTypes: [.ec, .okp], scheme: .agreement(wrapKeySize: 16)),
        Self(algorithm: .ecdhESA192KW, keyTypes: [.ec, .okp], scheme: .agreement(wrapKeySize: 24)),
        Self(algorithm: .ecdhESA256KW, keyTypes: [.ec, .okp], scheme: .agreement(wrapKeySize: 32)),
        Self(algorithm: .rsaOAEP, keyTypes: [.rsa], scheme: .oaep(.sha1)),
        Self(algorithm: .rsaOAEP256, keyTypes: [.rsa], scheme: .oaep(.sha256)),
        Self(algorithm: .rsaOAEP384, keyTypes: [.rsa], scheme: .oaep(.sha384)),
        Self(algorithm: .rsaOAEP512, keyTypes: [.rsa], scheme: .oaep(.sha512)),
        Self(
            algorithm: .pbes2HS256A128KW,
            keyTypes: [],
            scheme: .password(.sha256, wrapKeySize: 16, recommendedIterations: 600_000)
        ),
        Self(
            algorithm: .pbes2HS384A192KW,
            keyTypes: [],
            scheme: .password(.sha384, wrapKeySize: 24, recommendedIterations: 210_000)
        ),
        Self(
            algorithm: .pbes2HS512A256KW,
            keyTypes: [],
            scheme: .password(.sha512, wrapKeySize: 32, recommendedIterations: 210_000)
        ),
    ]

    static let curves: [String] = KeyAgreementCurve.implemented.map(\.rawValue)

    func fits(_ keyType: KeyType, curve: String?) -> Bool {
        guard keyTypes.contains(keyType) else { return false }
        guard case .agreement = scheme else { return true }
        return Self.curves.contains { curve?.isExactly($0) ?? false }
    }

    /// The content key isn't random but follows from the recipient's key, so that a token can have
    /// only one recipient and has no encrypted key.
    var determinesContentKey: Bool {
        switch scheme {
        case .direct, .agreement(nil): true
        case .keyWrap, .gcmKeyWrap, .agreement, .oaep, .password: false
        }
    }

    var usesPassword: Bool {
        if case .password = scheme { true } else { false }
    }
}

extension JWEAlgorithm {
    var details: JWEAlgorithmDescription {
        // Every value comes from the table.
        JWEAlgorithmDescription.table.first { $0.algorithm == self } ?? JWEAlgorithmDescription.table[0]
    }

    /// In bytes, or `nil` if the keys aren't shared secrets of a fixed size.
    package func secretSize(for encryption: JWEEncryption) -> Int? {
        switch details.scheme {
        case .direct: encryption.cipher.keySize
        case .keyWrap(let size): size
        case .gcmKeyWrap(let cipher): cipher.keySize
        case .agreement, .oaep, .password: nil
        }
    }

    package var usesPassword: Bool { details.usesPassword }
}

/// A curve for key agreement, identified by its name in a JWK's `crv`.
public struct KeyAgreementCurve: RegisteredName {
    /// The name, as in the IANA registry.
    public let rawValue: String

    /// NIST P-256, which most implementations support.
    public static let p256 = KeyAgreementCurve("P-256")
    /// NIST P-384.
    public static let p384 = KeyAgreementCurve("P-384")
    /// NIST P-521.
    public static let p521 = KeyAgreementCurve("P-521")
    /// Curve25519 ([RFC 8037 §3.2](https://www.rfc-editor.org/rfc/rfc8037#section-3.2)).
    public static let x25519 = KeyAgreementCurve("X25519")
    /// Curve448 ([RFC 8037 §3.2](https://www.rfc-editor.org/rfc/rfc8037#section-3.2)).
    public static let x448 = KeyAgreementCurve("X448")

    static let implemented: [KeyAgreementCurve] = [.p256, .p384, .p521, .x25519, .x448]

    private init(_ name: String) {
        rawValue = name
    }
}
