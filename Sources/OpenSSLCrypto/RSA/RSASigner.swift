/// An RSA key pair with a padding and a hash function, ready to sign.
package struct RSASigner: Sendable {
    private let hash: HashFunction
    private let signing: EVPKeyOperation

    init(_ key: EVPKey, _ padding: RSASignaturePadding, _ hash: HashFunction) throws(CryptoError) {
        guard hash.isCollisionResistant else {
            throw CryptoError(.invalidArgument, "Can't sign with \(hash.openSSLName); use SHA-256 or longer")
        }
        self.hash = hash
        signing = try EVPKeyOperation(.signing, .rsa(padding, hash), with: key)
    }

    /// Returns the signature of a message, as long as the modulus.
    ///
    /// PSS signatures are randomized: signing a message twice gives two different signatures.
    package func signature(for message: RawSpan) throws(CryptoError) -> [UInt8] {
        try hash.hash(message).withBytes { digest throws(CryptoError) in try signing.sign(digest) }
    }
}
