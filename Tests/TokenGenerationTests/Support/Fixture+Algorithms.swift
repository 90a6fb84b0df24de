import Foundation
import TestVectors
import TokenGeneration

extension Fixture {
    /// Returns the key for an algorithm, generated once because some take a while.
    static func key(for algorithm: JWSAlgorithm) throws -> SigningKey {
        guard let jwk = keys[algorithm] else { return try SigningKey.generate(algorithm) }
        return try SigningKey(jwk: JWK(parsing: Data(jwk)), algorithm: algorithm)
    }

    /// The keys as private JWKs in JSON. LeakSanitizer doesn't see what a global of type
    /// `SigningKey` refers to: an enum keeps its case in spare bits of the reference.
    private static let keys: [JWSAlgorithm: [UInt8]] = {
        var keys: [JWSAlgorithm: [UInt8]] = [:]
        for algorithm in JWSAlgorithm.implemented {
            keys[algorithm] = try? [UInt8](SigningKey.generate(algorithm).privateJWK().members.serializedData())
        }
        return keys
    }()

    /// Returns the JWK in a vector.
    static func jwk(vector name: String, member: String = "key") throws -> JWK {
        guard let key = try Vector.object(name)[member] else { throw CocoaError(.fileReadCorruptFile) }
        return try JWK(parsing: JSONSerialization.data(withJSONObject: key))
    }
}
