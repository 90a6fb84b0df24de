internal import COpenSSL

/// Who a process is to a TLS peer: a certificate, those of its issuers, and the private key.
///
/// A value may be used from several threads and for any number of connections at once.
package struct TLSIdentity: Sendable {
    /// The certificates, the process's own first.
    package let certificates: [Certificate]

    let key: EVPKey

    /// Joins certificates and a key.
    ///
    /// - Parameters:
    ///   - certificates: The process's own certificate, then those of its issuers, as they are sent to the peer; the root
    ///     may be missing. At most ten.
    ///   - privateKey: The key of the first certificate.
    /// - Throws: ``CryptoError/Code/invalidArgument`` for no or too many certificates, ``CryptoError/Code/keyMismatch`` if
    ///   the key is not the first certificate's, and what ``Certificate/publicKey()`` throws.
    package init(certificates: [Certificate], privateKey: PrivateKey) throws(CryptoError) {
        let chain = try CertificateChain(certificates)
        guard try chain.certificates[0].publicKey() == privateKey.publicKey else {
            throw CryptoError(
                .keyMismatch,
                "The private key is not the key of the first certificate “\(chain.certificates[0].subject.prefix(128))”"
            )
        }
        self.certificates = chain.certificates
        key = try EVPKey.make(privateKey)
    }

    /// Gives certificates and key to a connection; OpenSSL then holds references of its own.
    func use(on connection: OpaquePointer) -> Bool {
        // The stack only borrows.
        let issuers = unsafe OPENSSL_sk_new_null()
        defer { unsafe OPENSSL_sk_free(issuers) }
        for certificate in certificates.dropFirst() {
            let isPushed = unsafe certificate.x509.withPointer {
                unsafe OPENSSL_sk_push(issuers, UnsafeRawPointer($0)) > 0
            }
            guard isPushed else { return false }
        }
        return withExtendedLifetime(certificates) {
            unsafe certificates[0].x509.withPointer { certificate in
                unsafe key.withPointer { key in
                    unsafe SSL_use_cert_and_key(connection, certificate, key, issuers, 1) == 1
                }
            }
        }
    }
}
