internal import COpenSSL

/// A certificate with its private key that issues other certificates, for tests and private
/// authorities.
///
/// The certificates conform to [RFC 5280 §4.2](https://www.rfc-editor.org/rfc/rfc5280#section-4.2),
/// with basic constraints, key usage, extended key usage, key identifiers and, for servers, subject
/// alternative names.
package struct CertificateIssuingAuthority: Sendable {
    /// The authority's own certificate.
    package let certificate: Certificate

    private let key: EVPKey

    /// Creates an authority from a certificate and its key pair; the certificate's right to issue
    /// others isn't checked.
    package init(certificate: Certificate, key: PrivateKey) throws(CryptoError) {
        guard key.publicKey.spkiDER() == certificate.subjectPublicKeyInfo else {
            throw CryptoError(
                .keyMismatch,
                "The key doesn't belong to the certificate “\(certificate.subject.prefix(128))”"
            )
        }
        self.certificate = certificate
        self.key = try EVPKey.make(key)
    }

    /// Issues a certificate for the subject's public key, signed by this authority.
    ///
    /// A name, host or time that a certificate can't represent is an `invalidArgument`.
    package func certificate(
        _ template: CertificateIssuingTemplate,
        for publicKey: PublicKey
    ) throws(CryptoError) -> Certificate {
        let builder = try CertificateIssuingBuilder(template, key: EVPKey.make(publicKey), isRSA: publicKey.isRSA)
        try builder.setIssuer(certificate.x509)
        return try builder.signed(with: key, hash: certificate.publicKey().certificateHash)
    }

    /// Issues a certificate that is signed with the subject's own key pair, like
    /// ``certificate(_:for:)``: a root, or one that no authority vouches for.
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

    /// The hash function for certificates signed with the key, or `nil` if the algorithm includes
    /// one.
    fileprivate var certificateHash: HashFunction? {
        switch self {
        case .rsa: .sha256
        case .ellipticCurve(let key):
            key.curve.coordinateSize > 48 ? .sha512 : key.curve.coordinateSize > 32 ? .sha384 : .sha256
        case .edwards, .montgomery, .mldsa: nil
        }
    }
}
