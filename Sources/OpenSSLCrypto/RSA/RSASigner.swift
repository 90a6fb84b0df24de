/// An RSA key pair that is ready to sign in one way.
///
/// A value may be used from several threads at once.
package struct RSASigner: Sendable {
    /// The padding.
    package let padding: RSASignaturePadding
    /// How messages are hashed.
    package let hash: HashFunction
    /// The size of a signature in octets: that of the modulus.
    package let signatureSize: Int

    private let signing: EVPKeyOperation

    init(
        _ key: EVPKey,
        _ padding: RSASignaturePadding,
        _ hash: HashFunction,
        signatureSize: Int
    ) throws(CryptoError) {
        guard hash.isCollisionResistant else {
            throw CryptoError(.invalidArgument, "Nothing is signed with \(hash.openSSLName): use SHA-256 or longer")
        }
        self.padding = padding
        self.hash = hash
        self.signatureSize = signatureSize
        signing = try EVPKeyOperation(.signing, .rsa(padding, hash), with: key)
    }

    /// Signs a message.
    ///
    /// - Parameter message: The message.
    /// - Returns: The signature, ``signatureSize`` octets. With PSS two of the same message differ.
    /// - Throws: ``CryptoError/Code/openSSL`` if the library fails.
    package func signature(for message: RawSpan) throws(CryptoError) -> [UInt8] {
        try hash.hash(message).withBytes { digest throws(CryptoError) in try signing.sign(digest) }
    }

}
