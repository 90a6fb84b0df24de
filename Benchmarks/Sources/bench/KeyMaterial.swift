import TokenGeneration

/// A new key in the forms that the sides can take.
struct KeyMaterial: Sendable {
    let key: SigningKey
    /// PKCS#8; empty if the key is a secret.
    let pem: String
    /// Empty if the key is a pair.
    let secret: [UInt8]

    init(_ algorithm: TokenAlgorithm) throws {
        key = try SigningKey.generate(algorithm.algorithm)
        pem = try key.pem()
        secret = []
    }

    func service() throws -> any SigningService {
        try ES256SigningService(key: key)
    }
}
