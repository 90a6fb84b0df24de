internal import OpenSSLCrypto

/// How a private key is written as PEM or DER.
public struct PrivateKeyFormat: Sendable {
    enum Wrapped: Sendable {
        case pkcs8
        case encryptedPKCS8(SecretBytes)
        case traditional
    }

    let wrapped: Wrapped

    /// PKCS#8 ([RFC 5958](https://www.rfc-editor.org/rfc/rfc5958)), not encrypted: what nearly everything reads.
    public static var pkcs8: Self { Self(wrapped: .pkcs8) }

    /// PKCS#8, encrypted with AES-256 under a password that each guess costs 600,000 rounds of PBKDF2.
    ///
    /// - Parameter password: The password, 1 to 1024 bytes in UTF-8.
    /// - Returns: The format.
    public static func encryptedPKCS8(password: String) -> Self {
        Self(wrapped: .encryptedPKCS8(SecretBytes(password: password)))
    }

    /// PKCS#1 for RSA ([RFC 8017](https://www.rfc-editor.org/rfc/rfc8017#appendix-A.1.2)), SEC1 for elliptic curves
    /// ([RFC 5915](https://www.rfc-editor.org/rfc/rfc5915)); keys on Edwards curves have no such form.
    public static var traditional: Self { Self(wrapped: .traditional) }
}

extension SecretBytes {
    /// Copies a password.
    init(password: String) {
        self = Array(password.utf8).withBytes { SecretBytes(copying: $0) }
    }
}
