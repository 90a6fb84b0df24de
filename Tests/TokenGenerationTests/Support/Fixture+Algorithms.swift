import Foundation
import TestVectors
import TokenGeneration

extension Fixture {
    /// One key per implemented algorithm, made once: some take a while.
    static func key(for algorithm: JWSAlgorithm) throws -> SigningKey {
        guard let key = keys[algorithm] else { throw CocoaError(.featureUnsupported) }
        return try key.get()
    }

    private static let keys = Dictionary(
        uniqueKeysWithValues: JWSAlgorithm.implemented.map { algorithm in
            (algorithm, Result { try SigningKey.generate(algorithm) })
        }
    )

    /// The JWK that stands in a vector.
    static func jwk(vector name: String, member: String = "key") throws -> JWK {
        guard let key = try Vector.object(name)[member] else { throw CocoaError(.fileReadCorruptFile) }
        return try JWK(parsing: JSONSerialization.data(withJSONObject: key))
    }
}
