import Foundation
import Testing
import TokenGeneration

/// The samples of the articles about claims, validation and DPoP.
@Suite("Claims, validation and DPoP samples")
struct ClaimsSnippets {
    @Test("Signs and verifies claims of a custom type")
    func ownType() throws {
        let service = try ES256SigningService.generate()
        let policy = ValidationPolicy(issuer: "https://id.example", audience: "orders")
        let verifier = JWTVerifier(key: service.verificationKey, policy: policy)

        struct OrderClaims: Codable {
            var iss: String
            var aud: [String]
            var exp: Date
            var role: String
        }

        let expiration = Date(timeIntervalSinceNow: 900)
        let claims = OrderClaims(
            iss: "https://id.example",
            aud: ["orders"],
            exp: expiration,
            role: "reader"
        )
        let token = try JWTGenerator(claims: claims, signingService: service).token()
        let read = try verifier.verify(token, as: OrderClaims.self)

        #expect(read.role == "reader")
    }

    @Test("Signs registered claims and JSON")
    func registeredClaims() throws {
        let service = try ES256SigningService.generate()
        var claims = RegisteredClaims(
            issuer: "https://id.example",
            audience: ["orders"]
        )
        claims.setTimes(lifetime: try Duration(parsing: "15m"))
        try claims.setRandomJWTID()
        #expect(claims.jwtID?.count == 22)

        var object: JSONObject = ["sub": "alice", "roles": ["reader", "editor"]]
        object.setTimes(lifetime: .seconds(900))
        let first = try JWTGenerator(payload: object, signingService: service).token()

        let json = Data(#"{ "sub": "alice", "limit": 1.00 }"#.utf8)
        let second = try JWTGenerator(claimsJSON: json, signingService: service).token()
        #expect(first != second)
    }

    @Test("Validates claims with a policy and custom checks")
    func checks() throws {
        var policy = ValidationPolicy(issuer: "https://id.example", audience: "orders")
        policy.issuer = .oneOf(["https://id.example", "https://id.example.org"])
        policy.maximumLifetime = try Duration(parsing: "1 hour")
        policy.requiredClaims = ["scope"]
        policy.prohibitedClaims = ["act"]
        policy.checks = [ClaimsCheck("tenant") { $0.claims["tenant"] == "acme" }]

        let service = try ES256SigningService.generate()
        var claims: JSONObject = [
            "iss": "https://id.example.org", "aud": "orders", "scope": "read", "tenant": "acme",
        ]
        claims.setTimes(lifetime: .seconds(60))
        let verifier = JWTVerifier(key: service.verificationKey, policy: policy)
        let token = try JWTGenerator(payload: claims, signingService: service).token()
        #expect(try verifier.verify(token).claims == claims)
        claims["tenant"] = "other"
        let other = try JWTGenerator(payload: claims, signingService: service).token()
        #expect(throws: TokenError(.checkFailed, "")) { try verifier.verify(other) }
    }

    @Test("Creates the policies of each profile")
    func profiles() {
        let nonce = "n"
        let plain = ValidationPolicy.plain(
            issuer: "https://id.example",
            audience: "orders"
        )
        let access = ValidationPolicy.accessToken(
            issuer: "https://id.example",
            audience: "https://orders.example"
        )
        let login = ValidationPolicy.idToken(
            issuer: "https://id.example",
            clientID: "web",
            nonce: nonce
        )
        let client = ValidationPolicy.clientAssertion(
            audience: "https://id.example",
            clientID: "batch"
        )
        #expect(plain.type == login.type)
        #expect(access.type == "at+jwt")
        #expect(client.audience == .only("https://id.example"))
    }

    @Test("Creates and verifies DPoP proofs")
    func proofs() async throws {
        let service = try ES256SigningService.generate()
        let accessTokens = JWTVerifier(key: service.verificationKey)
        let key = try SigningKey.generate(.es256)
        let thumbprint = JSONValue.string(key.verificationKey.thumbprint)
        var claims: JSONObject = ["cnf": ["jkt": thumbprint]]
        claims.setTimes(lifetime: .seconds(60))
        let accessToken = try JWTGenerator(payload: claims, signingService: service).token()
        let proof = try DPoPProofGenerator(key: key)
            .proof(method: "GET", url: "https://api.example/orders", accessToken: accessToken)

        let thumbprintOfProof = try await check(proof, accessToken, accessTokens)
        #expect(.string(thumbprintOfProof) == thumbprint)
        #expect(try make(accessToken) != proof)
    }

    private func make(_ accessToken: String) throws -> String {
        let generator = try DPoPProofGenerator(key: .generate(.es256))
        let proof = try generator.proof(
            method: "GET",
            url: "https://api.example/orders",
            accessToken: accessToken
        )
        return proof
    }

    private func check(_ proof: String, _ accessToken: String, _ accessTokens: JWTVerifier) async throws -> String {
        let verifier = DPoPVerifier(replayCache: InMemoryReplayCache())
        let bound = try DPoPAccessToken(
            accessToken,
            verified: accessTokens.verify(accessToken)
        )
        let checked = try await verifier.verify(
            proof,
            method: "GET",
            url: "https://api.example/orders",
            for: .resource(accessToken: bound),
            nonce: .notRequired
        )
        return checked.thumbprint
    }
}
