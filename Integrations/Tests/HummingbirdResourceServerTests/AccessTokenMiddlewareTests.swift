import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdResourceServer
import HummingbirdTesting
import Logging
import MockNetworking
import Networking
import OAuth2
import ObservedService
import ResourceServer
import Testing
import TokenGeneration

@Suite("Hummingbird: access tokens")
struct AccessTokenMiddlewareTests {
    /// Runs a test with a service in memory, or on a port.
    private func withService(
        _ setup: TestingSetup = .router,
        _ change: (inout ProtectedService) throws -> Void = { _ in },
        _ test: @Sendable (ProtectedService, any TestClientProtocol) async throws -> Void
    ) async throws {
        var service = try ProtectedService()
        try change(&service)
        let made = service
        do {
            try await made.application().test(setup) { client in try await test(made, client) }
        } catch {
            await made.stop()
            throw error
        }
        await made.stop()
    }

    @Test("Passes a request with a valid token, which the route finds in its context")
    func valid() async throws {
        try await withService(.live) { service, client in
            let response = try await client.response(bearer: try service.token())
            #expect(response.status == .ok)
            #expect(response.text == "ada")
            #expect(service.logs.all.allSatisfy { $0.message != "request refused" })
        }
    }

    @Test("Challenges a request without a token, without DPoP unless it's configured")
    func noToken() async throws {
        try await withService { service, client in
            let response = try await client.response()
            #expect(response.status == .unauthorized)
            #expect(response.challenge == #"Bearer realm="reports""#)
            #expect(response.headers[.cacheControl] == "no-store")
            #expect(service.logs.all.map(\.metadata["error.type"]) == ["noToken"])
        }
        try await withService(.router, { $0.verifier.dpop = DPoPVerifier(replayCache: InMemoryReplayCache()) }) {
            _,
            client in
            let response = try await client.response()
            #expect(response.challenge?.contains(#", DPoP realm="reports", algs="#) == true)
        }
    }

    @Test("Rejects an invalid token, and logs the reason but not the token")
    func invalidToken() async throws {
        try await withService { service, client in
            let token = try service.token(audience: "https://other.example")
            let response = try await client.response(bearer: token)
            #expect(response.status == .unauthorized)
            #expect(response.challenge?.contains(#"error="invalid_token""#) == true)
            let record = try #require(service.logs.all.first)
            #expect(record.level == .notice)
            #expect(record.metadata["error.type"] == "invalidToken")
            #expect(record.metadata["error.message"]?.isEmpty == false)
            #expect(record.metadata["error.cause"]?.contains("audience") == true)
            for part in token.split(separator: ".") { #expect(!service.logs.text.contains(part)) }
        }
    }

    @Test("A malformed Authorization field gets the status 400")
    func malformed() async throws {
        try await withService { _, client in
            let response = try await client.response(bearer: "a b")
            #expect(response.status == .badRequest)
            #expect(response.challenge?.contains(#"error="invalid_request""#) == true)
        }
    }

    @Test("Requires each group's scope, and names it in the challenge")
    func scopes() async throws {
        try await withService { service, client in
            let reader = try service.token()
            let response = try await client.response("/reports", .delete, bearer: reader)
            #expect(response.status == .forbidden)
            #expect(response.challenge?.contains(#"error="insufficient_scope""#) == true)
            #expect(response.challenge?.contains(#"scope="reports.write""#) == true)
            #expect(service.logs.all.map(\.metadata["error.type"]) == ["insufficientScope"])
            let message = service.logs.all.first?.metadata["error.message"]
            #expect(message?.contains("requires “reports.write”, the token has “reports.read”") == true)
            #expect(try await client.response("/reports/later", bearer: reader).status == .ok)
            let writer = try service.token(scope: "reports.read reports.write")
            #expect(try await client.response("/reports", .delete, bearer: writer).status == .noContent)
            let other = try service.token(scope: "reports.write")
            #expect(try await client.response("/reports", .delete, bearer: other).status == .forbidden)
        }
    }

    @Test("A group with a token doesn't change its siblings, or routes added after it")
    func siblings() async throws {
        try await withService { service, client in
            #expect(try await client.response("/shared/own").status == .unauthorized)
            #expect(try await client.response("/shared/own", bearer: try service.token()).text == "ada")
            for token in [nil, try service.token()] {
                let response = try await client.response("/shared/open", bearer: token)
                #expect(response.status == .ok && response.text == "nobody")
            }
        }
    }

    @Test("A required scope without a verified token is an error of the server")
    func unverified() async throws {
        try await withService { service, client in
            let response = try await client.response("/unprotected", bearer: try service.token())
            #expect(response.status == .internalServerError)
        }
    }

    @Test("An unreachable issuer gets the status 503, at the level error")
    func undecided() async throws {
        try await withService(
            .router,
            { service in
                service.verifier = AccessTokenVerifier(
                    issuer: service.authorization.metadata.issuer,
                    audience: ProtectedService.url,
                    keys: .url(URL(string: "http://127.0.0.1:1/jwks")!)
                )
            }
        ) { service, client in
            let response = try await client.response(bearer: try service.token())
            #expect(response.status == .serviceUnavailable)
            #expect(service.logs.all.map(\.level) == [.error])
            #expect(service.logs.all.map(\.metadata["error.type"]) == ["undecided"])
        }
    }

    @Test("Publishes the resource's metadata without a token")
    func metadata() async throws {
        try await withService { service, client in
            let response = try await client.response("/.well-known/oauth-protected-resource")
            #expect(response.status == .ok)
            #expect(response.headers[.contentType] == "application/json")
            let document = try JSONObject(parsing: Data(response.text.utf8))
            #expect(document["resource"] == .string(ProtectedService.url))
            let issuer = service.authorization.metadata.issuer
            #expect(document["authorization_servers"] == .array([.string(issuer)]))
        }
    }

    // MARK: DPoP

    @Test("Verifies DPoP proofs of the public URL, each once")
    func proofs() async throws {
        let prover = try DPoPProofGenerator(key: .generate(.es256))
        try await withService(.router, { $0.verifier.dpop = DPoPVerifier(replayCache: InMemoryReplayCache()) }) {
            service,
            client in
            let token = try service.token(key: prover)
            func proof(_ url: String) throws -> String { try prover.proof(method: "GET", url: url, accessToken: token) }
            let good = try proof(ProtectedService.url + "/reports")
            #expect(try await client.response(dpop: token, proof: good, path: "/reports?page=2").status == .ok)
            for bad in [good, try proof("https://other.example/reports"), try proof(ProtectedService.url + "/other")] {
                let response = try await client.response(dpop: token, proof: bad)
                #expect(response.status == .unauthorized)
                #expect(response.challenge?.contains(#"error="invalid_dpop_proof""#) == true)
            }
            #expect(try await client.response(bearer: token).status == .unauthorized)
        }
    }

    @Test("Sends nonces for proofs, also with a route's own error")
    func nonces() async throws {
        let prover = try DPoPProofGenerator(key: .generate(.es256))
        try await withService(
            .router,
            { service in
                service.verifier.dpop = DPoPVerifier(replayCache: InMemoryReplayCache())
                service.verifier.nonces = RotatedNonces(names: ["current", "previous"])
            }
        ) { service, client in
            let token = try service.token(key: prover)
            func response(_ nonce: String?, _ path: String = "/reports") async throws -> TestResponse {
                let url = ProtectedService.url + path
                let proof = try prover.proof(method: "GET", url: url, accessToken: token, nonce: nonce)
                return try await client.response(dpop: token, proof: proof, path: path)
            }
            let refused = try await response(nil)
            #expect(refused.status == .unauthorized)
            #expect(refused.challenge?.contains(#"error="use_dpop_nonce""#) == true)
            #expect(refused.nonce == "current")
            let current = try await response("current")
            #expect((current.status, current.nonce) == (.ok, nil))
            let previous = try await response("previous")
            #expect((previous.status, previous.nonce) == (.ok, "current"))
            let missing = try await response("previous", "/reports/missing")
            #expect((missing.status, missing.nonce) == (.notFound, "current"))
        }
    }
}

/// Nonces that the test names; the first is the current one.
private struct RotatedNonces: DPoPNonces {
    let names: [String]

    func accepted(at date: Date) async throws -> [String] { names }
}
