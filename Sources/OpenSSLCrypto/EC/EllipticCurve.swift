internal import COpenSSL

/// A named elliptic curve; keys with explicit parameters aren't supported.
package struct EllipticCurve: KeyParameters {
    /// The name in a JWK's `crv` member
    /// ([RFC 7518 §6.2.1.1](https://www.rfc-editor.org/rfc/rfc7518#section-6.2.1.1),
    /// [RFC 8812 §3.1](https://www.rfc-editor.org/rfc/rfc8812#section-3.1)).
    package let name: String
    /// The size of a coordinate and of a private scalar, in bytes.
    package let coordinateSize: Int
    /// OpenSSL's number for the curve.
    let openSSLNumber: Int32
    /// OpenSSL's name for the curve.
    let openSSLName: String
    /// The curve's object identifier in keys.
    package let identifier: ObjectIdentifier

    /// NIST P-256, also called secp256r1 and prime256v1.
    package static let p256 = EllipticCurve(
        name: "P-256",
        coordinateSize: 32,
        openSSLNumber: NID_X9_62_prime256v1,
        openSSLName: "prime256v1",
        identifier: ObjectIdentifier(1, 2, 840, 10045, 3, 1, 7)
    )
    /// NIST P-384, also called secp384r1.
    package static let p384 = EllipticCurve(
        name: "P-384",
        coordinateSize: 48,
        openSSLNumber: NID_secp384r1,
        openSSLName: "secp384r1",
        identifier: ObjectIdentifier(1, 3, 132, 0, 34)
    )
    /// NIST P-521, also called secp521r1.
    package static let p521 = EllipticCurve(
        name: "P-521",
        coordinateSize: 66,
        openSSLNumber: NID_secp521r1,
        openSSLName: "secp521r1",
        identifier: ObjectIdentifier(1, 3, 132, 0, 35)
    )
    /// SECG secp256k1.
    package static let secp256k1 = EllipticCurve(
        name: "secp256k1",
        coordinateSize: 32,
        openSSLNumber: NID_secp256k1,
        openSSLName: "secp256k1",
        identifier: ObjectIdentifier(1, 3, 132, 0, 10)
    )

    /// All four curves.
    package static let all: [EllipticCurve] = [.p256, .p384, .p521, .secp256k1]
}
