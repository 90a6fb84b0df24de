/// A curve for signatures by EdDSA ([RFC 8032](https://www.rfc-editor.org/rfc/rfc8032)).
package struct EdwardsCurve: Hashable, Sendable {
    /// The name a JWK's `crv` member uses ([RFC 8037 §3.1](https://www.rfc-editor.org/rfc/rfc8037#section-3.1)), which is
    /// OpenSSL's as well.
    package let name: String
    /// The size of a public key and of a seed in octets.
    package let keySize: Int
    /// The size of a signature in octets.
    package let signatureSize: Int
    /// The curve's identifier in keys.
    let identifier: ObjectIdentifier

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

    /// Finds a curve by its JWK name, which is case-sensitive.
    ///
    /// - Parameter name: The name; `nil` results if it is none of the two.
    package init?(name: String) {
        guard let curve = Self.all.first(where: { $0.name == name }) else { return nil }
        self = curve
    }

    /// Finds a curve by its identifier in keys.
    init?(identifier: ObjectIdentifier) {
        guard let curve = Self.all.first(where: { $0.identifier == identifier }) else { return nil }
        self = curve
    }

    static let all: [EdwardsCurve] = [.ed25519, .ed448]

    private init(name: String, keySize: Int, signatureSize: Int, identifier: ObjectIdentifier) {
        self.name = name
        self.keySize = keySize
        self.signatureSize = signatureSize
        self.identifier = identifier
    }
}
