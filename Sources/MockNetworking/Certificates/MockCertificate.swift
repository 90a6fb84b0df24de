public import Foundation
import OpenSSLCrypto

/// A certificate with its private key and the certificates of its issuers, for tests.
///
/// A ``MockCertificateAuthority`` issues it. It is an identity: a server or a client shows it and proves to have its key.
/// The key is not protected at all; use it for nothing but tests.
public struct MockCertificate: Sendable {
    let key: PrivateKey
    let chain: CertificateChain
    /// The private key as PKCS#8 PEM, unencrypted.
    public let privateKeyPEM: String
    /// The pin of the public key: `sha256/` and the base64 of the SHA-256 hash of its SubjectPublicKeyInfo
    /// ([RFC 7469 §2.4](https://www.rfc-editor.org/rfc/rfc7469#section-2.4)).
    public let publicKeyPin: String

    /// Reads a certificate that was made elsewhere.
    ///
    /// - Parameters:
    ///   - chainPEM: The certificate, then those of its issuers; nothing is verified.
    ///   - privateKeyPEM: The private key, unencrypted.
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` if one of them can't be read, or they don't belong
    ///   together.
    public init(chainPEM: String, privateKeyPEM: String) throws {
        do throws(CryptoError) {
            let key = try PrivateKey(pem: privateKeyPEM)
            let chain = try CertificateChain(Certificate.list(pem: chainPEM))
            guard key.publicKey.spkiDER() == chain.certificates[0].subjectPublicKeyInfo else {
                throw CryptoError(.keyMismatch, "The key is not that of the first certificate")
            }
            try self.init(chain, key)
        } catch {
            throw MockError(.cannotIssueCertificate, "the certificate can't be used; look at the cause", cause: error)
        }
    }

    init(_ chain: CertificateChain, _ key: PrivateKey) throws(CryptoError) {
        self.chain = chain
        self.key = key
        privateKeyPEM = try key.pkcs8PEM()
        publicKeyPin = try chain.certificates[0].pin()
    }

    /// The certificate as PEM, without those of its issuers.
    public var certificatePEM: String { chain.certificates[0].pem() }

    /// The certificate as DER.
    public var certificateDER: Data { Data(chain.certificates[0].der) }

    /// The certificate and those of the intermediate authorities as PEM, in the order in which TLS shows them; the root is
    /// not among them.
    public var chainPEM: String { chain.certificates.map { $0.pem() }.joined() }

    /// The subject, such as `CN=localhost`.
    public var subject: String { chain.certificates[0].subject }

    /// The first moment at which it is valid.
    public var notBefore: Date { Date(timeIntervalSince1970: Double(chain.certificates[0].notBefore)) }

    /// The last second in which it is valid.
    public var notAfter: Date { Date(timeIntervalSince1970: Double(chain.certificates[0].notAfter)) }

    /// The same certificate as a server shows it that forgot to send those of its issuers.
    ///
    /// - Returns: The certificate and its key only.
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` if OpenSSL fails.
    public func withoutIssuers() throws -> Self {
        try MockError.issuing { () throws(CryptoError) in
            try Self(CertificateChain([chain.certificates[0]]), key)
        }
    }

    /// Writes the private key as PEM, encrypted with a password (PKCS#8, PBES2).
    ///
    /// It takes a good part of a second, as guessing the password should.
    ///
    /// - Parameter password: The password, 1 to 1024 octets of UTF-8.
    /// - Returns: An `ENCRYPTED PRIVATE KEY` block.
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` for another password.
    package func encryptedPrivateKeyPEM(password: String) throws -> String {
        try MockError.issuing { () throws(CryptoError) in
            try key.encryptedPKCS8PEM(password: Array(password.utf8).withBytes { SecretBytes(copying: $0) })
        }
    }

    /// Writes the certificate, its key and the certificates of its issuers as one PKCS#12 archive
    /// ([RFC 7292](https://www.rfc-editor.org/rfc/rfc7292)), encrypted with AES-256.
    ///
    /// - Parameter password: The password; it has no zero octet.
    /// - Returns: The archive, the contents of a `.p12` file.
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` for another password.
    public func pkcs12(password: String) throws -> Data {
        try MockError.issuing { () throws(CryptoError) in
            Data(try CertificateIssuingPKCS12.encoding(chain: chain, key: key, password: password))
        }
    }
}

extension MockCertificate {
    /// A kind of key.
    public struct KeyType: Sendable, Hashable {
        enum Wrapped {
            case p256, p384, rsa2048, ed25519
        }

        let wrapped: Wrapped

        /// ECDSA on the curve P-256.
        public static let p256 = Self(wrapped: .p256)
        /// ECDSA on the curve P-384.
        public static let p384 = Self(wrapped: .p384)
        /// RSA with a modulus of 2048 bits; making one takes a tenth of a second.
        public static let rsa2048 = Self(wrapped: .rsa2048)
        /// Ed25519 ([RFC 8410](https://www.rfc-editor.org/rfc/rfc8410)).
        public static let ed25519 = Self(wrapped: .ed25519)

        func makeKey() throws(CryptoError) -> PrivateKey {
            switch wrapped {
            case .p256: .ellipticCurve(try .generate(.p256))
            case .p384: .ellipticCurve(try .generate(.p384))
            case .rsa2048: .rsa(try .generate(bitCount: 2048))
            case .ed25519: .edwards(try .generate(.ed25519))
            }
        }
    }
}

extension MockCertificate: CustomStringConvertible, CustomReflectable {
    /// The subject, for a person to read; the key is left out.
    public var description: String { "MockCertificate(\(subject))" }
    /// A mirror without children, so that no dump shows the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Certificate {
    func pin() throws(CryptoError) -> String {
        "sha256/" + Data(try publicKeyHash()).base64EncodedString()
    }
}
