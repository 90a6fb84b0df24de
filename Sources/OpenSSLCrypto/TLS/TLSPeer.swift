internal import COpenSSL

/// A TLS server with verified certificates.
package struct TLSPeer: Sendable {
    /// A certificate of the verified chain.
    package struct ChainLink: Sendable {
        /// The certificate's DER encoding.
        package let der: [UInt8]
        /// The SHA-256 hash of its SubjectPublicKeyInfo, for any kind of key.
        package let publicKeyHash: [UInt8]
    }

    /// The requested name or address of the server, in lower case and without brackets or a
    /// trailing dot; empty for a proxy that's only known by its address.
    package let host: String
    /// The verified chain, from the server's certificate to a trusted one.
    ///
    /// It may differ from the certificates that the server sent.
    package let chain: [ChainLink]
}

extension TLSPeer.ChainLink {
    /// Reads a certificate that OpenSSL has decoded and still owns.
    init(borrowing certificate: OpaquePointer) throws(CryptoError) {
        der = try unsafe Certificate.octets(of: certificate)
        let key = unsafe [UInt8](encodedBy: { unsafe i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), $0) })
        guard let key else { throw CryptoError(failed: "i2d_X509_PUBKEY", "Can't read a certificate's key") }
        publicKeyHash = try key.withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }
    }
}

extension Certificate {
    /// Copies a certificate that OpenSSL has decoded.
    init(copying certificate: OpaquePointer) throws(CryptoError) {
        try self.init(der: unsafe Self.octets(of: certificate))
    }

    /// Returns the original DER encoding.
    static func octets(of certificate: OpaquePointer) throws(CryptoError) -> [UInt8] {
        OpenSSLLibrary.clearErrors()
        return try unsafe [UInt8](encodedBy: { unsafe i2d_X509(certificate, $0) })
            .orThrow(failed: "i2d_X509", "Can't encode a certificate")
    }
}
