import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("RequestAuthentication: tokens for other HTTP clients", .limitedConcurrency, .tags(.concurrency))
struct RequestAuthenticationTests {
    private let ok = Data("ok".utf8)

    @Test("Adds the token, and shares one token request among concurrent requests")
    func firstToken() async throws {
        let fixture = OAuth2Fixture()
        let client = fixture.otherClient()
        let answers = try await withThrowingTaskGroup(of: Data.self) { group in
            for _ in 1...20 { group.addTask { try await client.send().body } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: ok, count: 20))
        #expect(Set(fixture.credentials) == ["Bearer access-1"])
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("Shares the token and its refresh with a NetworkClient")
    func sharedAuthenticator() async throws {
        let fixture = OAuth2Fixture()
        let authenticator = fixture.authenticator()
        let (ours, other) = (fixture.client(authenticator), fixture.otherClient(authenticator))
        _ = try await ours.makeRequest(URLRequest(url: OAuth2Fixture.api))
        fixture.revoke()
        #expect(try await other.send().body == ok)
        #expect(try await ours.makeRequest(URLRequest(url: OAuth2Fixture.api)) == ok)
        #expect(fixture.endpoint.requests.count == 2)
        #expect(authenticator.counters.retries == 1)
    }

    @Test("Ends after two requests to a server that rejects every token")
    func alwaysRefused() async throws {
        let fixture = OAuth2Fixture(answers: Array(repeating: .refusal, count: 5))
        #expect(await failureCode { try await fixture.otherClient().send() } == .freshTokenRejected)
        #expect(fixture.resource.requests.count == 2)
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test("Ends if a server rejects each token differently")
    func alternatingRefusals() async throws {
        let steps = (1...20).flatMap { number -> [MockTransport.Step] in
            [
                .status(401, headers: ["WWW-Authenticate": RefusedCall.nonceNeeded, "DPoP-Nonce": "n\(number)"]),
                .challenge(RefusedCall.invalidToken), .challenge(#"DPoP error="invalid_dpop_proof""#),
            ]
        }
        let fixture = OAuth2Fixture(steps: (1...9).map { .boundToken("bound-\($0)") }, answers: steps)
        let client = fixture.otherClient(fixture.authenticator(dpop: .generated()))
        #expect(await failureCode { try await client.send() } == .proofRejected)
        #expect(fixture.resource.requests.count == 3)
    }

    @Test("Returns a response that isn't about the token", arguments: [200, 204, 302, 400, 403, 404, 407, 500, 503])
    func unrelated(status: Int) async throws {
        let fixture = OAuth2Fixture(answers: [.status(status)])
        #expect(try await fixture.otherClient().send().status == status)
        #expect(fixture.resource.requests.count == 1)
    }

    @Test("Fails with the demand if the token's scope is insufficient")
    func insufficientScope() async throws {
        let challenge = #"Bearer error="insufficient_scope", scope="reports.write""#
        let fixture = OAuth2Fixture(answers: [.status(403, headers: ["WWW-Authenticate": challenge])])
        let source = StaticTokenSource(AccessToken(value: Secret("fixed"), requested: fixture.time.now))
        let authenticator = OAuth2Authenticator(
            source: source,
            resources: [OAuth2Fixture.api],
            timing: .init(timeSource: fixture.time.timeSource)
        )
        let error = await failure { try await fixture.otherClient(authenticator).send() }
        #expect((error?.code, error?.demand?.scope) == (.insufficientScope, ["reports.write"]))
    }

    @Test("Gets a token with demanded scope that the application names, and sends the request once more")
    func stepUp() async throws {
        let challenge = #"Bearer error="insufficient_scope", scope="reports.write""#
        let fixture = OAuth2Fixture(answers: [.status(403, headers: ["WWW-Authenticate": challenge])])
        let authenticator = fixture.authenticator(
            grant: ClientCredentialsGrant(scope: "reports.read"),
            options: .obtaining(scope: "reports.write")
        )
        #expect(try await fixture.otherClient(authenticator).send().body == ok)
        #expect(fixture.forms.map { $0["scope"] } == ["reports.read", "reports.read reports.write"])
        #expect(fixture.credentials == ["Bearer access-1", "Bearer access-2"])
    }

    // MARK: Proofs

    @Test("Makes a proof for each attempt, and repeats the request with the server's nonce", .shows("O41"))
    func nonce() async throws {
        let fixture = OAuth2Fixture(
            steps: [.boundToken("bound-1")],
            answers: [
                .status(401, headers: ["WWW-Authenticate": RefusedCall.nonceNeeded, "DPoP-Nonce": "n1"]),
                .status(200, headers: ["DPoP-Nonce": "n2"]), .status(200),
            ]
        )
        let client = fixture.otherClient(fixture.authenticator(dpop: .generated()))
        for _ in 1...2 { #expect(try await client.send(method: .post).status == 200) }
        let proofs = try fixture.resource.requests.map { request in
            try UnverifiedToken(#require(request.headers["DPoP"])).unverifiedClaims
        }
        #expect(proofs.map { $0["nonce"]?.string } == [nil, "n1", "n2"])
        #expect(proofs.map { $0["htm"]?.string } == ["POST", "POST", "POST"])
        #expect(Set(proofs.map { $0["htu"]?.string }) == [OAuth2Fixture.api.absoluteString])
        #expect(Set(proofs.map { $0["jti"]?.string }).count == 3)
        #expect(Set(fixture.credentials) == ["DPoP bound-1"])
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("Fails if the server requires a nonce but sends none")
    func missingNonce() async throws {
        let fixture = OAuth2Fixture(
            steps: [.boundToken("bound-1")],
            answers: [.challenge(RefusedCall.nonceNeeded)]
        )
        let client = fixture.otherClient(fixture.authenticator(dpop: .generated()))
        #expect(await failureCode { try await client.send() } == .missingNonce)
    }

    // MARK: Origins

    @Test("Gives another origin no credentials, and names the reason if it requires them", .shows("O41"))
    func otherOrigin() async throws {
        let fixture = OAuth2Fixture(answers: [.refusal, .status(401)])
        let client = fixture.otherClient(fixture.authenticator(resources: [OAuth2Fixture.api]))
        let url = try #require(URL(string: "https://other.example/reports"))
        #expect(await failureCode { _ = try await client.send(url) } == .originNotCovered)
        #expect(try await client.send(url).status == 401)
        #expect(fixture.credentials == [nil, nil])
        #expect(fixture.endpoint.requests.isEmpty)
    }

    @Test("Ignores the response of a redirect's target at another origin")
    func redirect() async throws {
        let fixture = OAuth2Fixture()
        var authentication = fixture.authenticator().authentication(method: .get, url: OAuth2Fixture.api)
        #expect(try await authentication.credentials()["Authorization"] == "Bearer access-1")
        let target = try #require(URL(string: "https://other.example/reports"))
        let refusal = HTTPTransportResponse.refusal
        #expect(try await !authentication.needsRetry(after: 401, headers: refusal.headers, from: target))
        #expect(try await authentication.credentials()["Authorization"] == "Bearer access-1")
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("Leaves a request with its own Authorization field alone")
    func ownCredentials() async throws {
        let fixture = OAuth2Fixture()
        let response = try await fixture.otherClient().send(headers: ["authorization": "Basic YTpi"])
        #expect(response.status == 401)
        #expect(fixture.credentials == ["Basic YTpi"])
        #expect(fixture.endpoint.requests.isEmpty)
    }

    @Test("Refuses to send a token without TLS")
    func insecure() async throws {
        let fixture = OAuth2Fixture()
        let url = try #require(URL(string: "http://api.example/reports"))
        let client = fixture.otherClient(fixture.authenticator(resources: [url]))
        #expect(await failureCode { try await client.send(url) } == .insecureTransport)
        #expect(fixture.resource.requests.isEmpty)
    }

    // MARK: Time

    @Test("Waits before the next attempt, on the authenticator's clock")
    func delay() async throws {
        let fixture = OAuth2Fixture(answers: [.refusal])
        let authenticator = fixture.authenticator(replicationDelay: .milliseconds(300))
        var authentication = authenticator.authentication(method: .get, url: OAuth2Fixture.api)
        _ = try await authentication.credentials()
        let action = await authentication.action(after: 401, headers: HTTPTransportResponse.refusal.headers)
        #expect(DecidedAction(action) == .retryAfter(.milliseconds(300)))
        let sending = Task { try await fixture.otherClient(authenticator).send().body }
        // Other sleepers may be timeouts of the token request that are still ending.
        while !fixture.time.sleeps.contains(.milliseconds(300)) { await Task.yield() }
        fixture.time.advance(by: .milliseconds(300))
        #expect(try await sending.value == ok)
        #expect(fixture.resource.requests.count == 2)
    }

    @Test("Fails at once if the delay would end after the deadline")
    func deadline() async throws {
        let fixture = OAuth2Fixture(answers: [.refusal])
        let client = fixture.otherClient(fixture.authenticator(replicationDelay: .milliseconds(300)))
        let error = await #expect(throws: Retry.Error.self) {
            try await client.send(deadline: fixture.time.now + .milliseconds(200))
        }
        guard case .delay(.milliseconds(200)) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(fixture.time.sleeps.allSatisfy { $0 != .milliseconds(300) })
    }

    @Test("A response without new credentials, or evaluated twice, causes no retry")
    func evaluatedTwice() async throws {
        let fixture = OAuth2Fixture()
        var authentication = fixture.authenticator().authentication(method: .get, url: OAuth2Fixture.api)
        let refusal = HTTPTransportResponse.refusal.headers
        #expect(try await !authentication.needsRetry(after: 401, headers: refusal))
        _ = try await authentication.credentials()
        #expect(try await authentication.needsRetry(after: 401, headers: refusal))
        #expect(try await !authentication.needsRetry(after: 401, headers: refusal))
    }
}
