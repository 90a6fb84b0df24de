import TokenGeneration

/// A new key in the forms that the sides can take.
struct KeyMaterial: Sendable {
    let key: SigningKey
    /// PKCS#8; empty if the key is a secret.
    let pem: String
    /// Empty if the key is a pair.
    let secret: [UInt8]

    init(_ algorithm: TokenAlgorithm) throws {
        if algorithm.algorithm.isSymmetric {
            // As long as the hash, and the same bytes for all sides.
            secret = (0..<64).map { _ in UInt8.random(in: .min ... .max) }
            pem = ""
            key = try SigningKey(secret: secret, algorithm: algorithm.algorithm)
        } else {
            secret = []
            key = try SigningKey.generate(algorithm.algorithm)
            pem = try key.pem()
        }
    }
}
