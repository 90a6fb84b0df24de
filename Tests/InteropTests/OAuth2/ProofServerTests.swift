import Foundation
import FoundationNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: proofs", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct ProofServerTests {
    @Test(
        "requests_oauth2client verifies DPoP proofs with changing nonces of both servers",
        // The servers change their nonces with every request.
        .serialized,
        arguments: [JWSAlgorithm.es256, .es384, .rs256]
    )
    func proofs(algorithm: JWSAlgorithm) async throws {
        let base = try Interop.required("INTEROP_DPOP")
        let authenticator = OAuth2Authenticator(
            server: AuthorizationServer(issuer: base, tokenEndpoint: try #require(URL(string: base + "/token"))),
            clientAuthentication: .clientSecretBasic(clientID: "a", secret: Secret("b")),
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin,
            dpop: .generated(algorithm),
            client: NetworkClient(options: .init(timeout: .seconds(120)))
        )
        let client = NetworkClient(interceptors: [authenticator], options: .init(timeout: .seconds(120)))
        for number in 1...8 {
            let url = try #require(URL(string: "\(base)/api?number=\(number)#there"))
            let answer = try JSONObject(parsing: try await client.makeRequest(URLRequest(url: url)))
            #expect(answer["query"]?.string == "number=\(number)")
        }
        #expect(authenticator.counters.refreshes == 1)
    }

    @Test("requests_oauth2client rejects invalid DPoP proofs")
    func refusals() async throws {
        let base = try Interop.required("INTEROP_DPOP")
        let url = try #require(URL(string: base + "/token"))
        let generator = try DPoPProofGenerator(key: .generate(.es256))
        let wrong = [
            try generator.proof(method: "GET", url: url.absoluteString),
            try generator.proof(method: "POST", url: base + "/other"),
            try generator.proof(method: "POST", url: url.absoluteString, date: Date().addingTimeInterval(-600)),
            try generator.proof(method: "POST", url: url.absoluteString) + "A",
        ]
        for proof in wrong {
            var request = URLRequest(url: url)
            request.httpMethod = "POST"
            request.setValue(proof, forHTTPHeaderField: "DPoP")
            let error = await #expect(throws: ServerError.self) {
                try await NetworkClient(options: .init(timeout: .seconds(120))).makeRequest(request)
            }
            let body = try JSONObject(parsing: try #require(error?.response))
            #expect(body["error"] == "invalid_dpop_proof")
        }
    }

    @Test("Binds tokens to a key", arguments: OAuth2Peer.allCases)
    func boundTokens(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("DPoP", peer) {
            let server = try await peer.server()
            let source = try await peer.source(peer.grant(), peer.authentication(peer.service), dpop: .generated())
            guard server.values(of: "dpop_signing_alg_values_supported")?.contains("ES256") == true else {
                // The server ignores the proof, so the token isn't bound.
                let error = await #expect(throws: OAuth2Error.self) { try await source.token() }
                #expect(error?.code == .unsupportedTokenType)
                guard peer == .idpyoidc else {
                    #expect(try await !peer.mentions("dpop+jwt"))
                    return .lacks
                }
                try await hexadecimalDigests(peer)
                return .differs("doesn't bind tokens; expects `ath` in hexadecimal, so it rejects correct proofs")
            }
            let token = try await source.token()
            #expect(token.type.lowercased() == "dpop")
            let found = try await peer.oauth().introspect(token.value)
            #expect(found.confirmation?["jkt"]?.string == token.proofGenerator?.thumbprint)
            return .passed
        }
    }

    /// Checks that idpyoidc's UserInfo accepts a proof if only the encoding of the token's digest
    /// is changed.
    private func hexadecimalDigests(_ peer: OAuth2Peer) async throws {
        let text = try await peer.source(peer.grant(), peer.authentication(peer.service)).token().value.expose { $0 }
        let url = try #require(URL(string: try peer.base + "/proved-userinfo"))
        let key = try SigningKey.generate(.es256)
        let proof = try DPoPProofGenerator(key: key).proof(method: "GET", url: url.absoluteString, accessToken: text)
        let right = try UnverifiedToken(proof)
        var claims = right.unverifiedClaims
        let ath: String = try #require(claims["ath"]?.string)
        let plain = ath.replacing("-", with: "+").replacing("_", with: "/") + "="
        let digest = try #require(Data(base64Encoded: plain))
        claims["ath"] = .string(digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())
        let wrong = try JWTGenerator(
            header: ["typ": "dpop+jwt", "jwk": try #require(right.unverifiedHeader["jwk"])],
            payload: claims,
            signingService: try ES256SigningService(key: key)
        ).token()
        var request = URLRequest(url: url)
        request.setAuthorization("DPoP \(text)")
        request.setValue(wrong, forHTTPHeaderField: "DPoP")
        _ = try await peer.client.makeRequest(request)
        request.setValue(proof, forHTTPHeaderField: "DPoP")
        let error = await #expect(throws: ServerError.self) { try await peer.client.makeRequest(request) }
        #expect(error?.errorCode == 500)
    }
}
