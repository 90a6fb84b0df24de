internal import OpenSSLCrypto

/// A content encryption algorithm of an encrypted token, identified by its name in a header's `enc`
/// ([RFC 7518 §5.1](https://www.rfc-editor.org/rfc/rfc7518#section-5.1)).
///
/// All of them authenticate the content and the protected header. The package implements every
/// value of this type.
public struct JWEEncryption: RegisteredName {
    /// The name, as in the IANA registry.
    public let rawValue: String

    /// The cipher.
    let cipher: AuthenticatedCipher

    /// The algorithms that the package implements, which are all values of this type.
    public static var implemented: [JWEEncryption] {
        [.a128CBCHS256, .a192CBCHS384, .a256CBCHS512, .a128GCM, .a192GCM, .a256GCM]
    }
}

extension JWEEncryption {
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
