internal import COpenSSL

/// A TLS server whose certificates are verified.
package struct TLSPeer: Sendable {
    /// One certificate of the verified chain.
    package struct ChainLink: Sendable {
        /// The certificate's DER encoding.
        package let der: [UInt8]
        /// The SHA-256 hash of its SubjectPublicKeyInfo, whatever the kind of key.
        package let publicKeyHash: [UInt8]
    }

    /// The name or address by which the server was asked for, in lower case and without brackets or a final dot; empty for
    /// a proxy that is known by its address only.
    package let host: String
    /// The chain that leads from the server's certificate, which comes first, to a trusted one.
    ///
    /// It is not always what the server sent.
    package let chain: [ChainLink]
}

extension TLSPeer.ChainLink {
    /// Reads a certificate that OpenSSL has decoded and keeps.
    init(borrowing certificate: OpaquePointer) throws(CryptoError) {
        der = try unsafe Certificate.octets(of: certificate)
        let size = unsafe i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), nil)
        guard size > 0 else { throw CryptoError(failed: "i2d_X509_PUBKEY", "A certificate's key can't be read") }
        let key = [UInt8](capacity: Int(size)) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                var start = buffer.baseAddress
                initializedCount = Int(max(unsafe i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &start), 0))
            }
        }
        publicKeyHash = try key.withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }
    }
}

extension Certificate {
    /// Copies a certificate that OpenSSL has decoded.
    init(copying certificate: OpaquePointer) throws(CryptoError) {
        try self.init(der: unsafe Self.octets(of: certificate))
    }

    /// The DER encoding, as it was read.
    static func octets(of certificate: OpaquePointer) throws(CryptoError) -> [UInt8] {
        OpenSSLLibrary.clearErrors()
        let size = unsafe i2d_X509(certificate, nil)
        guard size > 0 else { throw CryptoError(failed: "i2d_X509", "A certificate can't be written") }
        return [UInt8](capacity: Int(size)) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                var start = buffer.baseAddress
                initializedCount = Int(max(unsafe i2d_X509(certificate, &start), 0))
            }
        }
    }
}
