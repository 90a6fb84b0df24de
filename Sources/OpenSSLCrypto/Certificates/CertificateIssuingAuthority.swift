internal import COpenSSL

/// A certificate with its private key, which issues other certificates; for tests and private authorities.
///
/// The certificates follow [RFC 5280 §4.2](https://www.rfc-editor.org/rfc/rfc5280#section-4.2): basic constraints, key
/// usage, extended key usage, key identifiers and, for servers, subject alternative names.
package struct CertificateIssuingAuthority: Sendable {
    /// The authority's own certificate.
    package let certificate: Certificate

    private let key: EVPKey

    /// Takes a certificate and its key.
    ///
    /// - Parameters:
    ///   - certificate: The certificate; that it may issue others is not checked.
    ///   - key: Its key pair.
    /// - Throws: ``CryptoError/Code/keyMismatch`` if the key is not the certificate's.
    package init(certificate: Certificate, key: PrivateKey) throws(CryptoError) {
        guard key.publicKey.spkiDER() == certificate.subjectPublicKeyInfo else {
            throw CryptoError(
                .keyMismatch,
                "The key is not that of the certificate “\(certificate.subject.prefix(128))”"
            )
        }
        self.certificate = certificate
        self.key = try EVPKey.make(key)
    }

    /// Issues a certificate.
    ///
    /// - Parameters:
    ///   - template: What it says.
    ///   - publicKey: The public key of its subject.
    /// - Returns: The certificate, signed by this authority.
    /// - Throws: ``CryptoError/Code/invalidArgument`` for a name, host or time that a certificate can't have,
    ///   ``CryptoError/Code/openSSL``, ``CryptoError/Code/randomUnavailable``.
    package func certificate(
        _ template: CertificateIssuingTemplate,
        for publicKey: PublicKey
    ) throws(CryptoError) -> Certificate {
        let builder = try CertificateIssuingBuilder(template, key: EVPKey.make(publicKey), isRSA: publicKey.isRSA)
        try builder.setIssuer(certificate.x509)
        return try builder.signed(with: key, hash: certificate.publicKey().certificateHash)
    }

    /// Issues a certificate that its own key signs: a root, or one that nobody else vouches for.
    ///
    /// - Parameters:
    ///   - template: What it says.
    ///   - key: The key pair of its subject.
    /// - Returns: The certificate.
    /// - Throws: As ``certificate(_:for:)``.
    package static func selfSignedCertificate(
        _ template: CertificateIssuingTemplate,
        key: PrivateKey
    ) throws(CryptoError) -> Certificate {
        let evpKey = try EVPKey.make(key)
        let builder = try CertificateIssuingBuilder(template, key: evpKey, isRSA: key.publicKey.isRSA)
        try builder.setIssuer(nil)
        return try builder.signed(with: evpKey, hash: key.publicKey.certificateHash)
    }
}

extension PublicKey {
    fileprivate var isRSA: Bool {
        if case .rsa = self { true } else { false }
    }

    /// What its certificates are hashed with before they are signed; `nil` where the algorithm hashes by itself.
    fileprivate var certificateHash: HashFunction? {
        switch self {
        case .rsa: .sha256
        case .ellipticCurve(let key):
            key.curve.coordinateSize > 48 ? .sha512 : key.curve.coordinateSize > 32 ? .sha384 : .sha256
        case .edwards: nil
        }
    }
}
