public import FoundationEssentials
internal import OpenSSLCrypto

extension JWK {
    /// The certificates of the key and of its issuers in DER, from `x5c`, or `nil`
    /// ([RFC 7517 §4.7](https://www.rfc-editor.org/rfc/rfc7517#section-4.7)).
    ///
    /// The certificates aren't verified. To verify them, call ``verifyCertificates(roots:at:)``.
    ///
    /// - Throws: ``TokenError`` with the code `malformedKey` if an entry isn't base64.
    public var certificateChain: [Data]? {
        get throws(TokenError) {
            guard let entries = members["x5c"]?.array else { return nil }
            var chain: [Data] = []
            for entry in entries {
                guard let der = entry.string.flatMap({ Data(base64Encoded: $0) }), !der.isEmpty else {
                    throw TokenError(.malformedKey, "“x5c” of the JWK has an entry that isn't base64")
                }
                chain.append(der)
            }
            return chain
        }
    }

    /// Returns the JWK with a certificate chain in `x5c` and its thumbprint in `x5t#S256`.
    ///
    /// Existing `x5t` and `x5u` members are removed.
    ///
    /// - Parameter chain: The certificate of the key, followed by those of its issuers, in DER.
    /// - Returns: The JWK.
    /// - Throws: ``TokenError`` with the code `malformedKey` if an element isn't a certificate,
    ///   `tooLarge` for more than 10, or `keyMismatch` if the first certificate isn't for this key.
    public func certified(by chain: [some Sequence<UInt8>]) throws(TokenError) -> JWK {
        var certified = self
        certified.members["x5c"] = .array(chain.map { .string(Data($0).base64EncodedString()) })
        for name in ["x5t", "x5u"] { certified.members[name] = nil }
        let leaf = try certified.checkedCertificates()[0]
        certified.members["x5t#S256"] = .string(try Self.thumbprint(of: leaf, .sha256))
        return certified
    }

    /// Verifies the key's certificate (`x5c`) against the caller's roots.
    ///
    /// The certificate must be for this key and must match the thumbprints in the JWK (`x5t`,
    /// `x5t#S256`), if there are any. If it has a key usage, that must include digital signatures.
    /// The method doesn't fetch anything, and doesn't check names, extended key usages or
    /// revocation.
    ///
    /// - Parameters:
    ///   - roots: The trusted certificates.
    ///   - time: The time at which the certificates must be valid.
    /// - Throws: ``TokenError`` with the code `certificateRejected` if the chain doesn't lead to a
    ///   root or isn't valid at that time, `keyMismatch` if the certificate, key and thumbprints
    ///   don't belong together, `malformedKey` if a certificate is missing or malformed, or
    ///   `tooLarge` for more than 10.
    public func verifyCertificates(roots: CertificateRoots, at time: Date) throws(TokenError) {
        let certificates = try checkedCertificates()
        try check("x5t", .sha1, certificates[0])
        try check("x5t#S256", .sha256, certificates[0])
        guard let seconds = Int64(exactly: time.timeIntervalSince1970.rounded(.down)) else {
            throw TokenError(.certificateRejected, "the time for the certificate verification isn't a valid date")
        }
        do throws(CryptoError) {
            _ = try CertificateChain(certificates).verified(roots: roots.certificates, at: seconds)
        } catch {
            throw TokenError(.certificateRejected, error.message, cause: error)
        }
    }

    fileprivate func leafCertificate() throws(TokenError) -> [UInt8]? {
        guard let entries = members["x5c"]?.array, let leaf = entries.first else { return nil }
        try checkCount(ofCertificates: entries.count)
        guard let text = leaf.string, let der = Data(base64Encoded: text), !der.isEmpty else {
            throw TokenError(.malformedKey, "“x5c” of the JWK has an entry that isn't base64")
        }
        return Array(der)
    }

    private func checkCount(ofCertificates count: Int) throws(TokenError) {
        guard count <= CertificateChain.maximumCount else {
            throw TokenError(
                .tooLarge,
                "“x5c” of the JWK has \(count) certificates, but the limit is \(CertificateChain.maximumCount)"
            )
        }
    }

    private func checkedCertificates() throws(TokenError) -> [Certificate] {
        try checkCount(ofCertificates: members["x5c"]?.array?.count ?? 0)
        guard let chain = try certificateChain, !chain.isEmpty else {
            throw TokenError(.malformedKey, "the JWK has no certificate (“x5c”)")
        }
        let certificates = try chain.map { der throws(TokenError) in
            try TokenError.refusingKey(Certificate(der: Array(der)))
        }
        let key = try TokenError.refusingKey(certificates[0].publicKey())
        guard try isKey(key) else {
            throw TokenError(.keyMismatch, "the certificate in “x5c” of the JWK is for another key")
        }
        return certificates
    }

    private func isKey(_ key: PublicKey) throws(TokenError) -> Bool {
        guard keyType.isExactly(key.keyType.rawValue),
            key.curveName.map({ (key.keyType == .akp ? algorithm : curve)?.isExactly($0) ?? false }) ?? true,
            AlgorithmDescription.table.contains(where: { $0.fits(key.keyType, curve: key.curveName) })
        else { return false }
        return try publicKey() == key
    }

    private func check(_ name: String, _ hash: HashFunction, _ certificate: Certificate) throws(TokenError) {
        guard let stated = members[name]?.string else { return }
        guard stated.isExactly(try Self.thumbprint(of: certificate, hash)) else {
            throw TokenError(.keyMismatch, "“\(name)” of the JWK is the thumbprint of another certificate")
        }
    }

    private static func thumbprint(of certificate: Certificate, _ hash: HashFunction) throws(TokenError) -> String {
        try TokenError.refusingKey(Base64URL.encode(certificate.fingerprint(hash)))
    }

    /// [RFC 7517 §4.7](https://www.rfc-editor.org/rfc/rfc7517#section-4.7); the key is `nil` for a
    /// secret, and only the first certificate is decoded.
    func checkCertificate(isFor publicKey: PublicKey?) throws(TokenError) {
        guard let leaf = try leafCertificate() else { return }
        let certificate = try TokenError.refusingKey(Certificate(der: leaf))
        // The encodings are usually equal, so that the key needn't be imported again.
        if certificate.subjectPublicKeyInfo == publicKey?.spkiDER() { return }
        guard try TokenError.refusingKey(certificate.publicKey()) == publicKey else {
            throw TokenError(.keyMismatch, "the certificate in “x5c” of the JWK is for another key")
        }
    }
}

/// The root certificates that a chain must end in.
///
/// Only the caller's roots count. The system's trust store isn't used.
public struct CertificateRoots: Sendable {
    let certificates: [Certificate]

    /// Parses certificates from PEM.
    ///
    /// - Parameter pem: A text with at least one `CERTIFICATE` block.
    /// - Throws: ``TokenError`` with the code `malformedKey` or `unsupportedKey`.
    public init(pem: String) throws(TokenError) {
        certificates = try TokenError.refusingKey(Certificate.list(pem: pem))
    }

    /// Parses certificates from DER.
    ///
    /// - Parameter der: The bytes of at least one certificate.
    /// - Throws: ``TokenError`` with the code `malformedKey`.
    public init(der: [some Sequence<UInt8>]) throws(TokenError) {
        certificates = try der.map { octets throws(TokenError) in
            try TokenError.refusingKey(Certificate(der: Array(octets)))
        }
    }
}
