/// A curve whose keys are strings of bytes of one size
/// ([RFC 8410](https://www.rfc-editor.org/rfc/rfc8410)).
protocol RawKeyCurve {
    /// OpenSSL's name, which is also the name in a JWK's `crv` member.
    var name: String { get }
    /// The size of a public key and of a private key in bytes.
    var keySize: Int { get }
    /// The object identifier in keys.
    var identifier: ObjectIdentifier { get }
}
