/// The public key of an X25519 or X448 key pair.
///
/// Every string of the right size is a public key
/// ([RFC 7748 §5](https://www.rfc-editor.org/rfc/rfc7748#section-5)). Points of small order, which
/// make the shared secret zero, are rejected by the key agreement.
package struct MontgomeryPublicKey: Sendable, Equatable {
    /// The curve.
    package let curve: MontgomeryCurve
    /// The bytes, as in a JWK's `x` member.
    package let octets: [UInt8]

    /// Creates a key from its bytes, exactly ``MontgomeryCurve/keySize``; any other size is
    /// `malformedKey`.
    package init(curve: MontgomeryCurve, octets: [UInt8]) throws(CryptoError) {
        try curve.check(publicKey: octets)
        self.curve = curve
        self.octets = octets
    }
}
