/// An Edwards-curve key pair, validated on creation.
package struct EdwardsPrivateKey: Sendable {
    /// The curve.
    package let curve: EdwardsCurve
    /// The public key.
    package let publicKey: EdwardsPublicKey

    private let signing: EVPMessageOperation

    /// Generates a key pair.
    ///
    /// - Parameter curve: The curve.
    /// - Returns: The key pair.
    /// - Throws: ``CryptoError/Code/openSSL`` if OpenSSL fails, for example because no random
    ///   numbers are available.
    package static func generate(_ curve: EdwardsCurve) throws(CryptoError) -> EdwardsPrivateKey {
        try EdwardsPrivateKey(curve, key: EVPKey.generate(curve))
    }

    /// Creates a key pair from its seed, which a JWK contains.
    ///
    /// - Parameters:
    ///   - curve: The curve.
    ///   - seed: The private key bytes
    ///     ([RFC 8032 §5.1.5](https://www.rfc-editor.org/rfc/rfc8032#section-5.1.5)), exactly
    ///     ``EdwardsCurve/keySize``.
    ///   - expected: The public key bytes that the seed must match. The default is `nil`, for no
    ///     check.
    /// - Throws: ``CryptoError/Code/malformedKey`` for any other size, and
    ///   ``CryptoError/Code/keyMismatch`` if the public key bytes don't match the seed.
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

    /// Returns the seed.
    ///
    /// - Returns: The private key bytes, ``EdwardsCurve/keySize`` of them.
    /// - Throws: ``CryptoError/Code/openSSL`` if OpenSSL can't export the key.
    package func seed() throws(CryptoError) -> SecretBytes {
        try signing.key.privateOctets(size: curve.keySize)
    }

    /// Signs a message.
    ///
    /// - Parameter message: The message.
    /// - Returns: The signature, ``EdwardsCurve/signatureSize`` bytes. It's deterministic.
    /// - Throws: ``CryptoError/Code/openSSL`` if OpenSSL fails.
    package func signature(for message: RawSpan) throws(CryptoError) -> [UInt8] {
        try signing.sign(message)
    }

}
