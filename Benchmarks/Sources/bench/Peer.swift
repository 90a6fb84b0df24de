import JWTKit

/// vapor/jwt-kit, as its users call it: a key collection, which is an actor, awaited for every token.
struct Peer: Sendable {
    private let keys: JWTKeyCollection
    private let token: String

    /// - Returns: `nil` if jwt-kit does not know the algorithm.
    init?(_ algorithm: TokenAlgorithm, _ material: KeyMaterial) async throws {
        guard let add = algorithm.addToPeer else { return nil }
        keys = JWTKeyCollection()
        try await add(keys, material)
        token = try await keys.sign(Claims.sample)
    }

    var signing: Side {
        Side { [keys] times in
            for _ in 0..<times { use(try await keys.sign(Claims.sample)) }
        }
    }

    var verification: Side {
        Side { [keys, token] times in
            for _ in 0..<times { use(try await keys.verify(token, as: Claims.self)) }
        }
    }
}
