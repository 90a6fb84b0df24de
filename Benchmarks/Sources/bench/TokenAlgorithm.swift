import Crypto
import JWTKit
import TokenGeneration

/// An algorithm of the token suite, with the configuration of each side.
struct TokenAlgorithm: Sendable {
    /// The configuration of OpenSSL.
    struct Floor: Sendable {
        /// The name of the hash, or `nil` if the algorithm includes one.
        let hash: String?
        var isPSS = false
    }

    let algorithm: JWSAlgorithm
    let floor: Floor
    /// Adds our key to jwt-kit's collection, or `nil` if jwt-kit doesn't support the algorithm.
    let addToPeer: (@Sendable (JWTKeyCollection, KeyMaterial) async throws -> Void)?

    var name: String { algorithm.rawValue }
    /// The duration of a turn, in nanoseconds of CPU time: longer for ML-DSA, which repeats a part
    /// of each signature a random number of times.
    var slice: UInt64 { name.hasPrefix("ML-DSA") ? 25_000_000 : 5_000_000 }

    /// The algorithms that the OpenSSL of this process offers.
    static let all = rows.filter(\.isAvailable)
    /// The others: before OpenSSL 3.5, ML-DSA.
    static let unavailable = rows.filter { !$0.isAvailable }

    private static let rows: [TokenAlgorithm] = [
        hmac(.hs256, "SHA256", .sha256), hmac(.hs384, "SHA384", .sha384), hmac(.hs512, "SHA512", .sha512),
        ecdsa(.es256, "SHA256") { await $0.add(ecdsa: try ES256PrivateKey(pem: $1.pem)) },
        ecdsa(.es384, "SHA384") { await $0.add(ecdsa: try ES384PrivateKey(pem: $1.pem)) },
        ecdsa(.es512, "SHA512") { await $0.add(ecdsa: try ES512PrivateKey(pem: $1.pem)) },
        ecdsa(.es256k, "SHA256", nil),
        rsa(.rs256, "SHA256") { await $0.add(rsa: try Insecure.RSA.PrivateKey(pem: $1.pem), digestAlgorithm: .sha256) },
        rsa(.rs384, "SHA384") { await $0.add(rsa: try Insecure.RSA.PrivateKey(pem: $1.pem), digestAlgorithm: .sha384) },
        rsa(.rs512, "SHA512") { await $0.add(rsa: try Insecure.RSA.PrivateKey(pem: $1.pem), digestAlgorithm: .sha512) },
        rsa(.ps256, "SHA256", isPSS: true) {
            await $0.add(pss: try Insecure.RSA.PrivateKey(pem: $1.pem), digestAlgorithm: .sha256)
        },
        rsa(.ps384, "SHA384", isPSS: true) {
            await $0.add(pss: try Insecure.RSA.PrivateKey(pem: $1.pem), digestAlgorithm: .sha384)
        },
        rsa(.ps512, "SHA512", isPSS: true) {
            await $0.add(pss: try Insecure.RSA.PrivateKey(pem: $1.pem), digestAlgorithm: .sha512)
        },
        TokenAlgorithm(algorithm: .edDSA, floor: Floor(hash: nil)) {
            await $0.add(eddsa: try EdDSA.PrivateKey(pem: $1.pem))
        },
        TokenAlgorithm(algorithm: .ed448, floor: Floor(hash: nil), addToPeer: nil),
        TokenAlgorithm(algorithm: .mldsa44, floor: Floor(hash: nil), addToPeer: nil),
        TokenAlgorithm(algorithm: .mldsa65, floor: Floor(hash: nil)) {
            await $0.add(mldsa: try MLDSA65PrivateKey(seedRepresentation: $1.seed()))
        },
        TokenAlgorithm(algorithm: .mldsa87, floor: Floor(hash: nil)) {
            await $0.add(mldsa: try MLDSA87PrivateKey(seedRepresentation: $1.seed()))
        },
    ]

    private var isAvailable: Bool { JWSAlgorithm.implemented.contains(algorithm) }

    private static func hmac(
        _ algorithm: JWSAlgorithm,
        _ hash: String,
        _ peerHash: DigestAlgorithm
    ) -> TokenAlgorithm {
        TokenAlgorithm(algorithm: algorithm, floor: Floor(hash: hash)) { keys, material in
            await keys.add(hmac: HMACKey(from: material.secret), digestAlgorithm: peerHash)
        }
    }

    private static func rsa(
        _ algorithm: JWSAlgorithm,
        _ hash: String,
        isPSS: Bool = false,
        _ addToPeer: @escaping @Sendable (JWTKeyCollection, KeyMaterial) async throws -> Void
    ) -> TokenAlgorithm {
        TokenAlgorithm(algorithm: algorithm, floor: Floor(hash: hash, isPSS: isPSS), addToPeer: addToPeer)
    }

    private static func ecdsa(
        _ algorithm: JWSAlgorithm,
        _ hash: String,
        _ addToPeer: (@Sendable (JWTKeyCollection, KeyMaterial) async throws -> Void)?
    ) -> TokenAlgorithm {
        TokenAlgorithm(algorithm: algorithm, floor: Floor(hash: hash), addToPeer: addToPeer)
    }
}
