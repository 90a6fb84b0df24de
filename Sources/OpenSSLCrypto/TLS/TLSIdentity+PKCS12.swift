internal import COpenSSL

extension TLSIdentity {
    /// The maximum size of a PKCS#12 file, in bytes.
    package static let maximumPKCS12Size = 1 << 20
    /// The maximum number of keys, certificates and other contents of a PKCS#12 file.
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
        let file = try PKCS12File(pkcs12)
        var terminated: SecretBytes?
        if let password { terminated = try PKCS12File.terminated(password) }
        let contents = try file.contents(password: terminated)
        let privateKey = try contents.privateKey()
        try self.init(certificates: contents.chain(), privateKey: privateKey)
    }
}
