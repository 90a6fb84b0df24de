/// An Edwards-curve key pair, checked when it is made and ready to sign.
///
/// A value may be used from several threads at once.
package struct EdwardsPrivateKey: Sendable {
    /// The curve.
    package let curve: EdwardsCurve
    /// The public key.
    package let publicKey: EdwardsPublicKey

    private let signing: EVPMessageOperation

    /// Makes a new key pair.
    ///
    /// - Parameter curve: The curve.
    /// - Returns: The key pair.
    /// - Throws: ``CryptoError/Code/openSSL`` if the library fails, for example because it has no random numbers.
    package static func generate(_ curve: EdwardsCurve) throws(CryptoError) -> EdwardsPrivateKey {
        try EdwardsPrivateKey(curve, key: EVPKey.generate(curve))
    }

    /// Makes a key pair from its seed, as a JWK has it.
    ///
    /// - Parameters:
    ///   - curve: The curve.
    ///   - seed: The private octets ([RFC 8032 §5.1.5](https://www.rfc-editor.org/rfc/rfc8032#section-5.1.5)), exactly
    ///     ``EdwardsCurve/keySize``.
    ///   - expected: The public octets that came with it, if they did.
    /// - Throws: ``CryptoError/Code/malformedKey`` for another size, and ``CryptoError/Code/keyMismatch`` if the public
    ///   octets are not the seed's.
    package init(
        curve: EdwardsCurve,
        seed: SecretBytes,
        expecting expected: [UInt8]? = nil
    ) throws(CryptoError) {
        guard seed.count == curve.keySize else {
            throw CryptoError(
                .malformedKey,
                "The private octets are \(seed.count): on \(curve.name) there are \(curve.keySize)"
            )
        }
        try self.init(curve, key: EVPKey.make(curve, seed: seed))
        guard expected == nil || expected == publicKey.octets else {
            throw CryptoError(
                .keyMismatch,
                "The private and the public part of the \(curve.name) key don't belong together"
            )
        }
    }

    private init(_ curve: EdwardsCurve, key: EVPKey) throws(CryptoError) {
        self.curve = curve
        publicKey = try EdwardsPublicKey(curve, checked: key.publicOctets(on: curve))
        signing = try EVPMessageOperation(.signing, with: key)
    }

    /// Reads the seed.
    ///
    /// - Returns: The private octets, ``EdwardsCurve/keySize`` of them.
    /// - Throws: ``CryptoError/Code/openSSL`` if the key can't be read out.
    package func seed() throws(CryptoError) -> SecretBytes {
        try signing.key.seed(on: curve)
    }

    /// Signs a message.
    ///
    /// - Parameter message: The message.
    /// - Returns: The signature, ``EdwardsCurve/signatureSize`` octets; always the same for the same message.
    /// - Throws: ``CryptoError/Code/openSSL`` if the library fails.
    package func signature(for message: RawSpan) throws(CryptoError) -> [UInt8] {
        try signing.sign(message)
    }

}
