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

    /// Creates an algorithm of the table.
    init(tableName: String) {
        rawValue = tableName
    }
}

extension JWEAlgorithm {
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
