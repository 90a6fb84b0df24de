/// A curve for EdDSA signatures ([RFC 8032](https://www.rfc-editor.org/rfc/rfc8032)).
package struct EdwardsCurve: RawKeyCurve {
    /// The name in a JWK's `crv` member
    /// ([RFC 8037 §3.1](https://www.rfc-editor.org/rfc/rfc8037#section-3.1)), which is also
    /// OpenSSL's name.
    package let name: String
    /// The size of a public key and of a seed, in bytes.
    package let keySize: Int
    /// The size of a signature, in bytes.
    package let signatureSize: Int
    /// The curve's object identifier in keys.
    package let identifier: ObjectIdentifier

    /// Returns the hash of bytes with the hash function of the curve's signature scheme.
    ///
    /// This is SHA-512 for Ed25519 ([RFC 8032
    /// §5.1](https://www.rfc-editor.org/rfc/rfc8032#section-5.1)) and SHAKE256 with 114 bytes for
    /// Ed448 ([§5.2](https://www.rfc-editor.org/rfc/rfc8032#section-5.2)).
    package func hash(_ bytes: RawSpan) throws(CryptoError) -> [UInt8] {
        try self == .ed25519 ? HashFunction.sha512.hash(bytes) : ExtendableOutputFunction.shake256(bytes, count: 114)
    }

    /// Edwards25519, with SHA-512.
    package static let ed25519 = EdwardsCurve(
        name: "Ed25519",
        keySize: 32,
        signatureSize: 64,
        identifier: ObjectIdentifier(1, 3, 101, 112)
    )
    /// Edwards448, with SHAKE256 and an empty context.
    package static let ed448 = EdwardsCurve(
        name: "Ed448",
        keySize: 57,
        signatureSize: 114,
        identifier: ObjectIdentifier(1, 3, 101, 113)
    )

    /// Both curves.
    package static let all: [EdwardsCurve] = [.ed25519, .ed448]
}
