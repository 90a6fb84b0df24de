import Foundation
import TestVectors
import TokenGeneration

extension Fixture {
    /// Returns one key per implemented algorithm, generated once because some take a while.
    static func key(for algorithm: JWSAlgorithm) throws -> SigningKey {
        guard let key = keys[algorithm] else { throw CocoaError(.featureUnsupported) }
        return try key.get()
    }

    private static let keys = Dictionary(
        uniqueKeysWithValues: JWSAlgorithm.implemented.map { algorithm in
            (algorithm, Result { try SigningKey.generate(algorithm) })
        }
    )

    /// Returns the JWK in a vector.
    static func jwk(vector name: String, member: String = "key") throws -> JWK {
        guard let key = try Vector.object(name)[member] else { throw CocoaError(.fileReadCorruptFile) }
        return try JWK(parsing: JSONSerialization.data(withJSONObject: key))
    }
}
