internal import COpenSSL

extension TLSIdentity {
    /// The largest PKCS#12 file that is read, in octets.
    package static let maximumPKCS12Size = 1 << 20
    /// The most keys, certificates and other contents of a PKCS#12 file.
    package static let maximumPKCS12Count = 256

    /// Reads a PKCS#12 file ([RFC 7292](https://www.rfc-editor.org/rfc/rfc7292)), such as a `.p12` or `.pfx`.
    ///
    /// It must have one private key and its certificate. The certificates of its issuers are sorted; those that have nothing
    /// to do with it are left out.
    ///
    /// Key derivations are bounded by one budget for the whole file, and their counts are checked before OpenSSL computes
    /// anything: first that of the MAC, then those of the encrypted contents, and those of the keys in them.
    ///
    /// - Parameters:
    ///   - pkcs12: The file's octets.
    ///   - password: The password; `nil` for a file that has none or an empty one.
    /// - Throws: ``CryptoError`` with the code `malformedCertificate` (no PKCS#12, nothing of use in it, or more work than
    ///   a file may ask for), `passwordRequired`, `incorrectPassword`, `openSSL` (an encryption that this OpenSSL does not offer), and what
    ///   ``PrivateKey/init(der:password:)`` and ``init(certificates:privateKey:)`` throw.
    package init(pkcs12: [UInt8], password: SecretBytes?) throws(CryptoError) {
        let file = try PKCS12File(pkcs12)
        var terminated: SecretBytes?
        if let password { terminated = try PKCS12File.terminated(password) }
        let contents = try file.contents(password: terminated)
        let privateKey = try contents.privateKey()
        try self.init(certificates: contents.chain(), privateKey: privateKey)
    }
}
