import Foundation
import FoundationNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: proofs", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(10)))
struct ProofServerTests {
    @Test(
        "requests_oauth2client verifies our proofs, with nonces that change, of the token endpoint and of a resource",
        .serialized,
        arguments: [JWSAlgorithm.es256, .es384, .rs256]
    )
    func proofs(algorithm: JWSAlgorithm) async throws {
        let base = try Interop.required("INTEROP_DPOP")
        let authenticator = OAuth2Authenticator(
            server: AuthorizationServer(issuer: base, tokenEndpoint: try #require(URL(string: base + "/token"))),
            clientAuthentication: .clientSecretBasic(clientID: "a", secret: Secret("b")),
            grant: ClientCredentialsGrant(),
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

    @Test("What requests_oauth2client refuses is refused")
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

    @Test("Tokens are bound to a key", arguments: OAuth2Peer.allCases)
    func boundTokens(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("DPoP", peer) {
            let server = try await peer.server()
            guard server.values(of: "dpop_signing_alg_values_supported")?.contains("ES256") == true else {
                return .lacks
            }
            let source = try await peer.source(
                ClientCredentialsGrant(scope: "read"),
                peer.authentication(peer.service),
                dpop: .generated()
            )
            let token = try await source.token()
            #expect(token.type.lowercased() == "dpop")
            let found = try await peer.oauth().introspect(token.value)
            #expect(found.confirmation?["jkt"]?.string == token.proofGenerator?.thumbprint)
            return .passed
        }
    }
}
