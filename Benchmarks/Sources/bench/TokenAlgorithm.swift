import Crypto
import JWTKit
import TokenGeneration

/// One algorithm of the token suite, with what each side must be told of it.
struct TokenAlgorithm: Sendable {
    /// How OpenSSL is to be used.
    struct Floor: Sendable {
        /// The hash's name, or `nil` if the algorithm hashes on its own.
        let hash: String?
        var isPSS = false
    }

    let algorithm: JWSAlgorithm
    let floor: Floor
    /// Puts our key into jwt-kit's collection, or `nil` if jwt-kit does not know the algorithm.
    let addToPeer: (@Sendable (JWTKeyCollection, KeyMaterial) async throws -> Void)?

    var name: String { algorithm.rawValue }

    static let all: [TokenAlgorithm] = [
        ecdsa(.es256, "SHA256") { await $0.add(ecdsa: try ES256PrivateKey(pem: $1.pem)) }
    ]

    private static func ecdsa(
        _ algorithm: JWSAlgorithm,
        _ hash: String,
        _ addToPeer: (@Sendable (JWTKeyCollection, KeyMaterial) async throws -> Void)?
    ) -> TokenAlgorithm {
        TokenAlgorithm(algorithm: algorithm, floor: Floor(hash: hash), addToPeer: addToPeer)
    }
}
