/// A curve for key agreement with X25519 or X448
/// ([RFC 7748](https://www.rfc-editor.org/rfc/rfc7748)).
package struct MontgomeryCurve: RawKeyCurve {
    /// The name in a JWK's `crv` member
    /// ([RFC 8037 §3.2](https://www.rfc-editor.org/rfc/rfc8037#section-3.2)).
    package let name: String
    /// The size of a public key, of a private key and of a shared secret in bytes.
    package let keySize: Int
    /// The object identifier in keys
    /// ([RFC 8410 §3](https://www.rfc-editor.org/rfc/rfc8410#section-3)).
    package let identifier: ObjectIdentifier

    /// Curve25519.
    package static let x25519 = MontgomeryCurve(
        name: "X25519",
        keySize: 32,
        identifier: ObjectIdentifier(1, 3, 101, 110)
    )
    /// Curve448.
    package static let x448 = MontgomeryCurve(
        name: "X448",
        keySize: 56,
        identifier: ObjectIdentifier(1, 3, 101, 111)
    )

    /// Both curves.
    package static let all: [MontgomeryCurve] = [.x25519, .x448]
}
