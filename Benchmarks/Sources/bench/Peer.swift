import JWTKit

/// vapor/jwt-kit, called as in its documentation: its key collection is an actor, so each call is
/// awaited.
struct Peer: Sendable {
    private let keys: JWTKeyCollection
    private let token: String

    /// Creates the side, or returns `nil` if jwt-kit doesn't support the algorithm.
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
