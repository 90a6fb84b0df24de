/// The parameters of a kind of key: a curve or a parameter set.
package protocol KeyParameters: Hashable, Sendable {
    /// All values.
    static var all: [Self] { get }
    /// The name in a JWK's `crv` or `alg` member.
    var name: String { get }
    /// The object identifier in keys.
    var identifier: ObjectIdentifier { get }
}

extension KeyParameters {
    /// Finds a value by its JWK name, which is case-sensitive.
    package init?(name: String) {
        guard let value = Self.all.first(where: { $0.name == name }) else { return nil }
        self = value
    }

    /// Finds a value by its object identifier in keys.
    init?(identifier: ObjectIdentifier) {
        guard let value = Self.all.first(where: { $0.identifier == identifier }) else { return nil }
        self = value
    }

    /// The error for a private key whose public key isn't the expected one.
    var mismatch: CryptoError {
        CryptoError(.keyMismatch, "The private and public parts of the \(name) key don't match")
    }
}

/// The parameters of keys that are strings of bytes of one size
/// ([RFC 8410](https://www.rfc-editor.org/rfc/rfc8410)); the name is also OpenSSL's.
protocol RawKeyCurve: KeyParameters {
    /// The size of a public key in bytes, and of a curve's private key.
    var keySize: Int { get }
}

extension RawKeyCurve {
    /// Checks the size of a public key; another size is `malformedKey`.
    func check(publicKey octets: [UInt8]) throws(CryptoError) {
        guard octets.count == keySize else {
            throw CryptoError(
                .malformedKey,
                "The public key has \(octets.count) bytes, but \(name) public keys have \(keySize)"
            )
        }
    }

    /// Creates a curve's key pair from its private key bytes, which must have the curve's size.
    ///
    /// Not for ML-DSA, whose seeds have another size than its public keys.
    func keyPair(_ seed: SecretBytes) throws(CryptoError) -> EVPKey {
        guard seed.count == keySize else {
            throw CryptoError(
                .malformedKey,
                "The private key has \(seed.count) bytes, but \(name) private keys have \(keySize)"
            )
        }
        return try EVPKey.make(self, seed: seed)
    }
}
