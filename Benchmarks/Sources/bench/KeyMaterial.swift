import Foundation
import TokenGeneration

/// A new key in the formats of all sides.
struct KeyMaterial: Sendable {
    let key: SigningKey
    /// The PKCS#8 text, or an empty string if the key is a secret.
    let pem: String
    /// The secret, or empty for a key pair.
    let secret: [UInt8]

    init(_ algorithm: TokenAlgorithm) throws {
        if algorithm.algorithm.isSymmetric {
            // Long enough for every hash.
            secret = (0..<64).map { _ in UInt8.random(in: .min ... .max) }
            pem = ""
            key = try SigningKey(secret: secret, algorithm: algorithm.algorithm)
        } else {
            secret = []
            key = try SigningKey.generate(algorithm.algorithm)
            pem = try key.pem()
        }
    }

    /// Returns the seed of an ML-DSA key.
    func seed() throws -> Data {
        guard let text = try key.privateJWK().members["priv"]?.string,
            let seed = Data(base64Encoded: text.replacing("-", with: "+").replacing("_", with: "/") + "=")
        else { throw Floor.Failure(text: "The key has no seed.") }
        return seed
    }
}
