/// Certificates that are said to lead from one to a trusted root.
package struct CertificateChain: Sendable {
    /// The certificates, the one in question first.
    package let certificates: [Certificate]

    /// How many certificates there may be.
    package static let maximumCount = 10

    /// Collects certificates; nothing is verified.
    ///
    /// - Parameter certificates: One to ten certificates, the one in question first, then those of its issuers. The
    ///   root may be missing.
    /// - Throws: ``CryptoError/Code/invalidArgument`` for another number.
    package init(_ certificates: [Certificate]) throws(CryptoError) {
        guard (1...Self.maximumCount).contains(certificates.count) else {
            throw CryptoError(
                .invalidArgument,
                "The chain has \(certificates.count) certificates: 1 to \(Self.maximumCount) are possible"
            )
        }
        self.certificates = certificates
    }

    /// Verifies that the first certificate is issued under one of the roots and may be used to sign.
    ///
    /// The roots are the given ones only: nothing that the system trusts is used, and nothing is fetched. Checked are
    /// signatures (keys and hash functions of at least 112 bits of security, so no SHA-1 and no RSA under 2048 bits),
    /// validity, basic constraints, path lengths, name constraints and unknown critical extensions; and that the key
    /// usage of the first certificate, if it is stated, includes digital signatures. Extended key usages, names and
    /// revocation are the caller's to check.
    ///
    /// - Parameters:
    ///   - roots: The certificates to trust. They must be self-signed.
    ///   - time: When the certificates have to be valid, in seconds from the start of 1970.
    /// - Returns: The chain that was found, the first certificate first and a root last.
    /// - Throws: ``CryptoError/Code/certificateNotTrusted``, ``CryptoError/Code/certificateNotValid``,
    ///   ``CryptoError/Code/openSSL`` if the library fails.
    package func verified(roots: [Certificate], at time: Int64) throws(CryptoError) -> [Certificate] {
        let leaf = certificates[0]
        let path = try CertificateVerification(roots: roots).path(
            from: leaf,
            over: certificates.dropFirst(),
            at: time
        )
        guard leaf.x509.allowsSignatures else {
            throw CryptoError(
                .certificateNotTrusted,
                "The key usage of the certificate “\(leaf.subject.prefix(128))” does not include digital signatures"
            )
        }
        return path
    }
}
