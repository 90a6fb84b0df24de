import TokenGeneration

/// This package, called as in its documentation.
struct Ours: Sendable {
    let token: String
    private let service: any LocalSigningService
    private let verifier: JWTVerifier

    init(_ material: KeyMaterial) throws {
        service = material.key
        verifier = JWTVerifier(
            key: material.key.verificationKey,
            policy: ValidationPolicy(issuer: .exactly(Claims.sample.iss), audience: .contains(Claims.sample.aud))
        )
        token = try JWTGenerator(claims: Claims.sample, signingService: service).token()
    }

    var signing: Side {
        Side { times in
            for _ in 0..<times { use(try sign()) }
        }
    }

    var verification: Side {
        Side { times in
            for _ in 0..<times { use(try verify()) }
        }
    }

    @inline(never)
    func sign() throws -> String {
        try JWTGenerator(claims: Claims.sample, signingService: service).token()
    }

    @inline(never)
    func verify() throws -> Claims {
        try verifier.verify(token, as: Claims.self)
    }
}
