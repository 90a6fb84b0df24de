internal import COpenSSL

/// The identity of a TLS client: a certificate, those of its issuers, and the private key.
///
/// A value can serve any number of connections.
package struct TLSIdentity: Sendable {
    /// The certificates, starting with the client's own.
    package let certificates: [Certificate]

    let key: EVPKey

    /// Creates an identity from the client's certificate, followed by those of its issuers as sent
    /// to the peer, and its private key.
    ///
    /// It throws `invalidArgument` unless there are one to ten certificates; the root may be
    /// missing. A key of another certificate is a `keyMismatch`, and one that can't sign a
    /// `wrongKeyType`.
    package init(certificates: [Certificate], privateKey: PrivateKey) throws(CryptoError) {
        if case .montgomery = privateKey {
            throw CryptoError(.wrongKeyType, "\(privateKey.kind) keys can't sign, so TLS can't use them")
        }
        let chain = try CertificateChain(certificates)
        guard try chain.certificates[0].publicKey() == privateKey.publicKey else {
            throw CryptoError(
                .keyMismatch,
                "The private key doesn't belong to the first certificate “\(chain.certificates[0].subject.prefix(128))”"
            )
        }
        self.certificates = chain.certificates
        key = try EVPKey.make(privateKey)
    }

    /// Sets a connection's certificates and key, to which OpenSSL then holds its own references.
    func use(on connection: OpaquePointer) throws(CryptoError) {
        let isUsed = unsafe try CertificateStack(certificates.dropFirst()).withPointer { issuers in
            unsafe certificates[0].x509.withPointer { certificate in
                unsafe key.withPointer { key in
                    unsafe SSL_use_cert_and_key(connection, certificate, key, issuers, 1) == 1
                }
            }
        }
        guard isUsed else {
            throw CryptoError(failed: "SSL_use_cert_and_key", "OpenSSL rejected the client certificate")
        }
    }
}
