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

    /// Creates an authority.
    ///
    /// - Parameters:
    ///   - certificate: The certificate. Its right to issue others isn't checked.
    ///   - key: The certificate's key pair.
    /// - Throws: ``CryptoError/Code/keyMismatch`` if the key is not the certificate's.
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

    /// Issues a certificate.
    ///
    /// - Parameters:
    ///   - template: The certificate's contents.
    ///   - publicKey: The subject's public key.
    /// - Returns: The certificate, signed by this authority.
    /// - Throws: ``CryptoError/Code/invalidArgument`` for a name, host or time that a certificate
    ///   can't represent, ``CryptoError/Code/openSSL``, ``CryptoError/Code/randomUnavailable``.
    package func certificate(
        _ template: CertificateIssuingTemplate,
        for publicKey: PublicKey
    ) throws(CryptoError) -> Certificate {
        let builder = try CertificateIssuingBuilder(template, key: EVPKey.make(publicKey), isRSA: publicKey.isRSA)
        try builder.setIssuer(certificate.x509)
        return try builder.signed(with: key, hash: certificate.publicKey().certificateHash)
    }

    /// Issues a self-signed certificate: a root, or one that no authority vouches for.
    ///
    /// - Parameters:
    ///   - template: The certificate's contents.
    ///   - key: The subject's key pair.
    /// - Returns: The certificate.
    /// - Throws: The same errors as ``certificate(_:for:)``.
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
