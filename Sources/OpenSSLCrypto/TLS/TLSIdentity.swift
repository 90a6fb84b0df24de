internal import COpenSSL

/// The identity of a TLS client: a certificate, those of its issuers, and the private key.
package struct TLSIdentity: Sendable {
    package let certificates: [Certificate]

    let key: EVPKey

    /// The client's certificate comes first, then those of its issuers as sent to the peer; the
    /// root may be missing.
    ///
    /// It throws `invalidArgument` unless there are one to ten certificates, `keyMismatch` for a
    /// key of another certificate, and `wrongKeyType` for one that can't sign.
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

    /// OpenSSL holds its own references then.
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

    package static let maximumPKCS12Size = 1 << 20
    package static let maximumPKCS12Count = 256

    /// Reads a PKCS#12 file ([RFC 7292](https://www.rfc-editor.org/rfc/rfc7292)), such as a `.p12`
    /// or `.pfx`.
    ///
    /// The file must contain one private key and its certificate. Its issuers' certificates may be
    /// in any order; unrelated ones are ignored.
    ///
    /// One budget limits the key derivations of the whole file. Each count is checked before
    /// OpenSSL uses it: first that of the MAC, then those of the encrypted contents and of the keys
    /// in them.
    ///
    /// The password is `nil` for a file with none or an empty one. It throws `malformedCertificate`
    /// (not PKCS#12, no key or certificate, or too much work), `passwordRequired`,
    /// `incorrectPassword`, `openSSL` (an encryption that this OpenSSL doesn't support), and the
    /// errors of ``PrivateKey/init(der:password:)`` and ``init(certificates:privateKey:)``.
    package init(pkcs12: [UInt8], password: SecretBytes?) throws(CryptoError) {
        var file = try PKCS12File(pkcs12)
        let contents = try file.contents(password: password)
        let privateKey = try contents.privateKey()
        try self.init(certificates: contents.chain(), privateKey: privateKey)
    }
}
