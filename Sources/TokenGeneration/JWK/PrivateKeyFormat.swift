internal import OpenSSLCrypto

/// The format of a private key in PEM or DER.
public struct PrivateKeyFormat: Sendable {
    enum Wrapped: Sendable {
        case pkcs8
        case encryptedPKCS8(SecretBytes)
        case traditional
    }

    let wrapped: Wrapped

    /// Unencrypted PKCS#8, the most widely supported format
    /// ([RFC 5958](https://www.rfc-editor.org/rfc/rfc5958)).
    public static var pkcs8: Self { Self(wrapped: .pkcs8) }

    /// PKCS#8, encrypted with AES-256 under a password, with 600,000 iterations of PBKDF2 per
    /// guess.
    ///
    /// - Parameter password: The password, 1 to 1024 bytes in UTF-8.
    /// - Returns: The format.
    public static func encryptedPKCS8(password: String) -> Self {
        Self(wrapped: .encryptedPKCS8(SecretBytes(password: password)))
    }

    /// PKCS#1 for RSA ([RFC 8017](https://www.rfc-editor.org/rfc/rfc8017#appendix-A.1.2)) and SEC1
    /// for elliptic curves ([RFC 5915](https://www.rfc-editor.org/rfc/rfc5915)).
    ///
    /// Keys on Edwards curves don't have such a format.
    public static var traditional: Self { Self(wrapped: .traditional) }
}

extension SecretBytes {
    /// Copies a password.
    init(password: String) {
        self = Array(password.utf8).withBytes { SecretBytes(copying: $0) }
    }
}
