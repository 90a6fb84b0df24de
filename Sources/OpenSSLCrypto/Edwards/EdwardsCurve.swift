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
    /// What messages are hashed with.
    private let hashing: Hashing

    private enum Hashing: Hashable {
        case fixed(HashFunction)
        case extendable(ExtendableOutputFunction, size: Int)
    }

    /// Hashes octets with the function that signatures on the curve are made with: SHA-512 on Edwards25519
    /// ([RFC 8032 §5.1](https://www.rfc-editor.org/rfc/rfc8032#section-5.1)), SHAKE256 with 114 octets on Edwards448
    /// ([§5.2](https://www.rfc-editor.org/rfc/rfc8032#section-5.2)).
    ///
    /// - Parameter bytes: The octets.
    /// - Returns: The hash.
    /// - Throws: ``CryptoError/Code/openSSL`` if the library does not offer the function.
    package func hash(_ bytes: RawSpan) throws(CryptoError) -> [UInt8] {
        switch hashing {
        case .fixed(let function): try function.hash(bytes)
        case .extendable(let function, let size): try function.hash(bytes, count: size)
        }
    }

    /// Edwards25519, with SHA-512.
    package static let ed25519 = EdwardsCurve(
        name: "Ed25519",
        keySize: 32,
        signatureSize: 64,
        identifier: ObjectIdentifier(1, 3, 101, 112),
        hashing: .fixed(.sha512)
    )
    /// Edwards448, with SHAKE256 and an empty context.
    package static let ed448 = EdwardsCurve(
        name: "Ed448",
        keySize: 57,
        signatureSize: 114,
        identifier: ObjectIdentifier(1, 3, 101, 113),
        hashing: .extendable(.shake256, size: 114)
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

    private init(name: String, keySize: Int, signatureSize: Int, identifier: ObjectIdentifier, hashing: Hashing) {
        self.name = name
        self.keySize = keySize
        self.signatureSize = signatureSize
        self.identifier = identifier
        self.hashing = hashing
    }
}
