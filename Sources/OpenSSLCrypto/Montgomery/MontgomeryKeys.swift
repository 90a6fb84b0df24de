/// An X25519 or X448 key pair.
package struct MontgomeryPrivateKey: Sendable {
    package let curve: MontgomeryCurve
    package let publicKey: MontgomeryPublicKey

    let key: EVPKey

    package static func generate(_ curve: MontgomeryCurve) throws(CryptoError) -> MontgomeryPrivateKey {
        try MontgomeryPrivateKey(curve, key: EVPKey.generate(curve))
    }

    /// Throws `malformedKey` for a seed of another size than ``MontgomeryCurve/keySize``, and
    /// `keyMismatch` if it doesn't match the expected public key.
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

    package func seed() throws(CryptoError) -> SecretBytes {
        try key.privateOctets(size: curve.keySize)
    }
}

/// The public key of an X25519 or X448 key pair.
///
/// Every string of the right size is a public key
/// ([RFC 7748 §5](https://www.rfc-editor.org/rfc/rfc7748#section-5)). Points of small order, which
/// make the shared secret zero, are rejected by the key agreement.
package struct MontgomeryPublicKey: Sendable, Equatable {
    package let curve: MontgomeryCurve
    package let octets: [UInt8]

    /// Any size other than ``MontgomeryCurve/keySize`` is `malformedKey`.
    package init(curve: MontgomeryCurve, octets: [UInt8]) throws(CryptoError) {
        try curve.check(publicKey: octets)
        self.curve = curve
        self.octets = octets
    }
}

/// A curve for key agreement with X25519 or X448
/// ([RFC 7748](https://www.rfc-editor.org/rfc/rfc7748)).
package struct MontgomeryCurve: RawKeyCurve {
    /// The name in a JWK's `crv` member
    /// ([RFC 8037 §3.2](https://www.rfc-editor.org/rfc/rfc8037#section-3.2)).
    package let name: String
    /// The size of a public key, of a private key and of a shared secret in bytes.
    package let keySize: Int
    package let identifier: ObjectIdentifier

    package static let x25519 = MontgomeryCurve(
        name: "X25519",
        keySize: 32,
        identifier: ObjectIdentifier(1, 3, 101, 110)
    )
    package static let x448 = MontgomeryCurve(
        name: "X448",
        keySize: 56,
        identifier: ObjectIdentifier(1, 3, 101, 111)
    )

    package static let all: [MontgomeryCurve] = [.x25519, .x448]
}
