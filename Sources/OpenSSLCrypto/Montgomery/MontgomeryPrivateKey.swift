/// An X25519 or X448 key pair.
package struct MontgomeryPrivateKey: Sendable {
    /// The curve.
    package let curve: MontgomeryCurve
    /// The public key.
    package let publicKey: MontgomeryPublicKey

    let key: EVPKey

    /// Generates a key pair.
    package static func generate(_ curve: MontgomeryCurve) throws(CryptoError) -> MontgomeryPrivateKey {
        try MontgomeryPrivateKey(curve, key: EVPKey.generate(curve))
    }

    /// Creates a key pair from its private bytes, which a JWK or PKCS#8 contains, exactly
    /// ``MontgomeryCurve/keySize``.
    ///
    /// It throws `malformedKey` for any other size, and `keyMismatch` if they don't match the
    /// expected public key, if any.
    package init(
        curve: MontgomeryCurve,
        seed: SecretBytes,
        expecting expected: [UInt8]? = nil
    ) throws(CryptoError) {
        try self.init(curve, key: curve.keyPair(seed))
        guard expected == nil || expected == publicKey.octets else { throw curve.mismatch }
    }

    private init(_ curve: MontgomeryCurve, key: EVPKey) throws(CryptoError) {
        self.curve = curve
        self.key = key
        publicKey = try MontgomeryPublicKey(curve: curve, octets: key.publicOctets(on: curve))
    }

    /// Returns the private key bytes, ``MontgomeryCurve/keySize`` of them.
    package func seed() throws(CryptoError) -> SecretBytes {
        try key.privateOctets(size: curve.keySize)
    }
}
