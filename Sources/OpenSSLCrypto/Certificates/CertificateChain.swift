/// A chain of certificates that may lead to a trusted root.
package struct CertificateChain: Sendable {
    /// The certificates, starting with the leaf.
    package let certificates: [Certificate]

    /// The maximum number of certificates.
    package static let maximumCount = 10

    /// Creates a chain of one to ten certificates without verifying anything: the leaf, then its
    /// issuers; the root may be missing.
    package init(_ certificates: [Certificate]) throws(CryptoError) {
        guard (1...Self.maximumCount).contains(certificates.count) else {
            throw CryptoError(
                .invalidArgument,
                "The chain has \(certificates.count) certificates, but must have 1 to \(Self.maximumCount)"
            )
        }
        self.certificates = certificates
    }

    /// Verifies that the leaf was issued under one of the self-signed roots, may create signatures
    /// and is valid at a time in seconds since 1970, and returns the path from the leaf to a root.
    ///
    /// Only the given roots are trusted, not those of the system, and nothing is downloaded. The
    /// verification covers signatures (at least 112 bits of security, so no SHA-1 and no RSA keys
    /// below 2048 bits), validity periods, basic constraints, path lengths, name constraints and
    /// unknown critical extensions. If the leaf states its key usage, it must include digital
    /// signatures. The caller must check extended key usages, names and revocation. It throws
    /// `certificateNotTrusted` or `certificateNotValid`.
    package func verified(roots: [Certificate], at time: Int64) throws(CryptoError) -> [Certificate] {
        let leaf = certificates[0]
        let path = try path(to: roots, at: time)
        guard leaf.x509.allowsSignatures else {
            throw CryptoError(
                .certificateNotTrusted,
                "The key usage of the certificate “\(leaf.subject.prefix(128))” doesn't include digital signatures"
            )
        }
        return path
    }
}
