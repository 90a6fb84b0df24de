/// An Edwards-curve key pair, validated on creation.
package struct EdwardsPrivateKey: Sendable {
    /// The curve.
    package let curve: EdwardsCurve
    /// The public key.
    package let publicKey: EdwardsPublicKey

    private let signing: EVPMessageOperation

    /// Generates a key pair.
    package static func generate(_ curve: EdwardsCurve) throws(CryptoError) -> EdwardsPrivateKey {
        try EdwardsPrivateKey(curve, key: EVPKey.generate(curve))
    }

    /// Creates a key pair from its seed, which a JWK contains: private key bytes of exactly
    /// ``EdwardsCurve/keySize`` ([RFC 8032
    /// §5.1.5](https://www.rfc-editor.org/rfc/rfc8032#section-5.1.5)).
    ///
    /// It throws `malformedKey` for any other size, and `keyMismatch` if the seed doesn't match the
    /// expected public key bytes, if any.
    package init(
        curve: EdwardsCurve,
        seed: SecretBytes,
        expecting expected: [UInt8]? = nil
    ) throws(CryptoError) {
        try self.init(curve, key: curve.keyPair(seed))
        guard expected == nil || expected == publicKey.octets else { throw curve.mismatch }
    }

    private init(_ curve: EdwardsCurve, key: EVPKey) throws(CryptoError) {
        self.curve = curve
        publicKey = try EdwardsPublicKey(curve, checked: key.publicOctets(on: curve))
        signing = try EVPMessageOperation(.signing, with: key)
    }

    /// Returns the private key bytes, ``EdwardsCurve/keySize`` of them.
    package func seed() throws(CryptoError) -> SecretBytes {
        try signing.key.privateOctets(size: curve.keySize)
    }

    /// Returns the deterministic signature of a message, ``EdwardsCurve/signatureSize`` bytes.
    package func signature(for message: RawSpan) throws(CryptoError) -> [UInt8] {
        try signing.sign(message)
    }

}
