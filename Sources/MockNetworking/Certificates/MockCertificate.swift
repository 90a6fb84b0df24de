public import Foundation
import OpenSSLCrypto

/// A certificate with its private key and its issuers' certificates, for tests.
///
/// A ``MockCertificateAuthority`` issues it, as the identity of a server or a client. Use it only
/// in tests, because its key isn't protected.
public struct MockCertificate: Sendable {
    let key: PrivateKey
    let chain: CertificateChain
    /// The private key as PKCS#8 PEM, unencrypted.
    public let privateKeyPEM: String
    /// The pin of the public key: `sha256/` and the base64 of the SHA-256 hash of its
    /// SubjectPublicKeyInfo ([RFC 7469 §2.4](https://www.rfc-editor.org/rfc/rfc7469#section-2.4)).
    public let publicKeyPin: String

    /// Creates a certificate from PEM.
    ///
    /// - Parameters:
    ///   - chainPEM: The certificate, then its issuers' certificates. They aren't verified.
    ///   - privateKeyPEM: The unencrypted private key.
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` if one of them can't be read,
    ///   or the key doesn't match.
    public init(chainPEM: String, privateKeyPEM: String) throws {
        do throws(CryptoError) {
            let key = try PrivateKey(pem: privateKeyPEM)
            let chain = try CertificateChain(Certificate.list(pem: chainPEM))
            guard key.publicKey.spkiDER() == chain.certificates[0].subjectPublicKeyInfo else {
                throw CryptoError(.keyMismatch, "The key doesn't match the first certificate")
            }
            try self.init(chain, key)
        } catch {
            throw MockError(.cannotIssueCertificate, "the certificate can't be used; see the cause", cause: error)
        }
    }

    init(_ chain: CertificateChain, _ key: PrivateKey) throws(CryptoError) {
        self.chain = chain
        self.key = key
        privateKeyPEM = try key.pkcs8PEM()
        publicKeyPin = try chain.certificates[0].pin()
    }

    /// The certificate in PEM, without its issuers'.
    public var certificatePEM: String { chain.certificates[0].pem() }

    /// The certificate in DER.
    public var certificateDER: Data { Data(chain.certificates[0].der) }

    /// The certificate and the intermediate authorities' certificates in PEM, in the order of TLS,
    /// without the root.
    public var chainPEM: String { chain.certificates.map { $0.pem() }.joined() }

    /// The subject, such as `CN=localhost`.
    public var subject: String { chain.certificates[0].subject }

    /// The first moment at which the certificate is valid.
    public var notBefore: Date { Date(timeIntervalSince1970: Double(chain.certificates[0].notBefore)) }

    /// The last second in which the certificate is valid.
    public var notAfter: Date { Date(timeIntervalSince1970: Double(chain.certificates[0].notAfter)) }

    /// Returns the certificate without its issuers', to simulate a server that forgets to send
    /// them.
    ///
    /// - Returns: The certificate with its key.
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` if OpenSSL fails.
    public func withoutIssuers() throws -> Self {
        try MockError.issuing { () throws(CryptoError) in
            try Self(CertificateChain([chain.certificates[0]]), key)
        }
    }

    /// Returns the private key in encrypted PKCS#8, which takes a good part of a second.
    ///
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` unless the password has 1 to
    ///   1024 bytes of UTF-8.
    package func encryptedPrivateKeyPEM(password: String) throws -> String {
        try MockError.issuing { () throws(CryptoError) in
            try key.encryptedPKCS8PEM(password: Array(password.utf8).withBytes { SecretBytes(copying: $0) })
        }
    }

    /// Returns the certificate, its key and its issuers' certificates as a PKCS#12 archive
    /// ([RFC 7292](https://www.rfc-editor.org/rfc/rfc7292)) encrypted with AES-256.
    ///
    /// - Parameter password: The password, without zero bytes.
    /// - Returns: The archive, the contents of a `.p12` file.
    /// - Throws: ``MockError`` with the code `cannotIssueCertificate` for any other password.
    public func pkcs12(password: String) throws -> Data {
        try MockError.issuing { () throws(CryptoError) in
            Data(try archive(password: password))
        }
    }

    /// A kind of key.
    @nonexhaustive
    public enum KeyType: Sendable, Hashable {
        /// ECDSA on the curve P-256.
        case p256
        /// ECDSA on the curve P-384.
        case p384
        /// RSA with a modulus of 2048 bits; generating a key takes a tenth of a second.
        case rsa2048
        /// Ed25519 ([RFC 8410](https://www.rfc-editor.org/rfc/rfc8410)).
        case ed25519

        func makeKey() throws(CryptoError) -> PrivateKey {
            switch self {
            case .p256: .ellipticCurve(try .generate(.p256))
            case .p384: .ellipticCurve(try .generate(.p384))
            case .rsa2048: .rsa(try .generate(bitCount: 2048))
            case .ed25519: .edwards(try .generate(.ed25519))
            }
        }
    }
}

extension MockCertificate: CustomStringConvertible, CustomReflectable {
    /// The subject, without the key.
    public var description: String { "MockCertificate(\(subject))" }
    /// A mirror without children, so that no dump shows the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Certificate {
    func pin() throws(CryptoError) -> String { "sha256/" + Data(try publicKeyHash()).base64EncodedString() }
}
