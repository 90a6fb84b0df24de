import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing

/// Tests of responses that aren't about the token, or that another token can't fix.
@Suite("Rejected requests", .limitedConcurrency)
struct ResourceRowTests {
    @Test(
        "Ignores cancelled requests, and leaves failures without a response to the retry policies",
        .shows("R1", "R2")
    )
    func ignoredFailures() async throws {
        let call = RefusedCall()
        let rows: [(Int?, any Error)] = [
            (401, CancellationError()), (nil, NetworkError(.timedOut, "")), (nil, NetworkError(.tls, "")),
            (nil, NetworkError(.connectionLost, "")),
        ]
        for (status, error) in rows { #expect(try await call.action(status, error: error) == .none, "\(error)") }
        #expect(try await call.authenticator.text() == "access-1")
    }

    @Test("Ignores requests without its token and responses from other origins", .shows("R3"))
    func otherRequests() async throws {
        let call = RefusedCall()
        var request = URLRequest(url: OAuth2Fixture.api)
        for field in [nil, "Bearer the caller's", "Bearer unknown", "Basic YTpi", "Bearer", "unknown"] {
            request.setValue(field, forHTTPHeaderField: "Authorization")
            #expect(try await call.action(401, on: request) == .none, "\(field ?? "-")")
        }
        for other in ["https://elsewhere.example/reports", "https://api.example:8443/", "http://api.example/"] {
            let url = try #require(URL(string: other))
            #expect(try await call.action(401, RefusedCall.invalidToken, from: url) == .none, "\(other)")
        }
        #expect(try await call.authenticator.text() == "access-1")
    }

    @Test(
        "Ignores other status codes, and malformed requests",
        .shows("R4", "R11"),
        arguments: [200, 204, 301, 304, 307, 400, 404, 405, 407, 408, 409, 425, 429, 500, 502, 503, 504].map {
            ($0, RefusedCall.invalidToken)
        } + [(400, #"Bearer error="invalid_request""#), (401, #"Bearer error="invalid_request""#), (400, "Bearer")]
    )
    func otherStatuses(status: Int, challenge: String) async throws {
        let call = RefusedCall()
        #expect(try await call.action(status, challenge, headers: ["Retry-After": "1"]) == .none)
        #expect(try await call.authenticator.text() == "access-1")
    }

    @Test("A body that can be sent only once ends the call, and the next call gets a new token", .shows("R5"))
    func singleUseBody() async throws {
        let fixture = OAuth2Fixture(answers: [.refusal])
        let client = fixture.client(fixture.authenticator())
        let parts = AsyncStream<Data> { continuation in
            continuation.yield(Data("once".utf8))
            continuation.finish()
        }
        let body = HTTPBody.once(parts)
        var request = URLRequest(url: OAuth2Fixture.api)
        request.httpMethod = "POST"
        let error = await #expect(throws: ServerError.self) {
            try await client.makeRequest(request, options: RequestOptions(body: body))
        }
        guard case .bodyNotReplayable? = error?.retry?.reason else {
            Issue.record("failed for another reason: \(String(describing: error?.retry?.reason))")
            return
        }
        #expect(fixture.resource.requests.count == 1)
        _ = try await client.makeRequest(URLRequest(url: OAuth2Fixture.api))
        #expect(fixture.credentials.last == "Bearer access-2")
    }

    @Test("Never refreshes for a step-up, and reports the demand", .shows("O16", "R8", "RFC 9470 §3", "RFC 9728 §5.1"))
    func stepUpDemand() async throws {
        let fixture = OAuth2Fixture()
        let call = RefusedCall(fixture)
        let challenge = #"""
            Bearer error="insufficient_user_authentication", acr_values="gold silver", max_age="300", \#
            scope="pay", resource_metadata="https://api.example/.well-known/oauth-protected-resource"
            """#
        let error = try await call.reported(401, challenge)
        #expect(error.code == .stepUpRequired)
        #expect(error.serverText?.expose { $0.hasPrefix("WWW-Authenticate: Bearer ") } == true)
        let demand = try #require(error.demand)
        #expect((demand.acrValues, demand.maxAge, demand.scope) == (["gold", "silver"], .seconds(300), ["pay"]))
        #expect(
            demand.resourceMetadata?.absoluteString == "https://api.example/.well-known/oauth-protected-resource"
        )
        #expect(try await call.authenticator.text() == "access-1")
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test(
        "Retries a call once if its grant can step up without a user, with a separate token",
        .shows("R8", "RFC 9470 §3")
    )
    func steppingGrant() async throws {
        let demand = #"Bearer error="insufficient_user_authentication", acr_values="gold""#
        let fixture = OAuth2Fixture(answers: [.challenge(demand)])
        let client = fixture.client(fixture.authenticator(grant: SteppingGrant()))
        #expect(try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) == Data("ok".utf8))
        #expect(fixture.credentials == ["Bearer access-1", "Bearer access-2"])
        #expect(fixture.forms.map { $0["acr_values"] } == [nil, "gold"])
        // The next call uses the token of the original grant again.
        _ = try await client.makeRequest(URLRequest(url: OAuth2Fixture.api))
        #expect(fixture.credentials.last == "Bearer access-1")
    }

    @Test(
        "Gets a step-up source once for each demand and keeps its tokens separate"
    )
    func stepUpSource() async throws {
        let demand = #"Bearer error="insufficient_user_authentication", acr_values="gold""#
        let success = MockTransport.Step.status(200, body: Data("ok".utf8))
        let fixture = OAuth2Fixture(answers: [.challenge(demand), success, .challenge(demand), success])
        let asked = Mutex<[ResourceDemand]>([])
        let golden = StaticTokenSource(AccessToken(value: Secret("golden"), requested: fixture.time.now))
        let authenticator = fixture.authenticator { demand in
            asked.withLock { $0.append(demand) }
            return golden
        }
        let client = fixture.client(authenticator)
        for _ in 1...2 { #expect(try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) == Data("ok".utf8)) }
        #expect(fixture.credentials == ["Bearer access-1", "Bearer golden", "Bearer access-1", "Bearer golden"])
        #expect(asked.withLock { $0 } == [ResourceDemand(acrValues: ["gold"])])
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("Requests a token with the claims that a resource demands, if the application enables it")
    func demandedClaims() async throws {
        let claims = #"{"access_token":{"nbf":{"essential":true,"value":"1604106651"}}}"#
        let parameter = Data(claims.utf8).base64EncodedString()
        let challenge = #"Bearer realm="", error="insufficient_claims", claims="\#(parameter)""#
        let fixture = OAuth2Fixture(answers: [.challenge(challenge)])
        let client = fixture.client(fixture.authenticator(options: .obtaining(claims: true)))
        #expect(try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) == Data("ok".utf8))
        #expect(fixture.forms.map { $0["claims"] } == [nil, claims])
        #expect(fixture.credentials == ["Bearer access-1", "Bearer access-2"])
    }

    @Test("Meets a limited number of demands at a time")
    func manyDemands() async throws {
        func challenge(_ count: Int) -> MockTransport.Step {
            let claims = Data(#"{"access_token":{"nbf":{"value":"\#(count)"}}}"#.utf8).base64EncodedString()
            return .challenge(#"Bearer error="insufficient_claims", claims="\#(claims)""#)
        }
        let success = MockTransport.Step.status(200, body: Data("ok".utf8))
        let met = (0..<16).flatMap { [challenge($0), success] }
        let fixture = OAuth2Fixture(lifetime: 86_400, answers: met + [challenge(16), challenge(17), success])
        let authenticator = fixture.authenticator(options: .obtaining(claims: true))
        let client = fixture.client(authenticator)
        for _ in 0..<16 { _ = try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) }
        #expect(try await fixture.reason(authenticator) == .noRetry(.stepUpRequired))
        // Sources that nothing has used for an hour make way.
        fixture.time.advance(by: .seconds(3_600))
        #expect(try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) == Data("ok".utf8))
        #expect(fixture.endpoint.requests.count == 18)
    }

    @Test(
        "Fails with the demand if the claims can't be read",
        arguments: ["", "e30", "bm90IEpTT04=", "W10=", "e30=!"]
    )
    func unreadableClaims(parameter: String) async throws {
        let challenge = #"Bearer error="insufficient_claims", claims="\#(parameter)""#
        let fixture = OAuth2Fixture()
        let error = try await RefusedCall(fixture).reported(401, challenge)
        #expect(error.code == .stepUpRequired)
        #expect(error.demand == ResourceDemand())
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("Fails if the step-up source can't meet a demand, or the resource repeats it")
    func unmetDemands() async throws {
        let demands = ["silver", "gold", "gold"].map {
            #"Bearer error="insufficient_user_authentication", acr_values="\#($0)""#
        }
        let fixture = OAuth2Fixture(answers: demands.map { .challenge($0) })
        let golden = StaticTokenSource(AccessToken(value: Secret("golden"), requested: fixture.time.now))
        let authenticator = fixture.authenticator { $0.acrValues == ["gold"] ? golden : nil }
        for count in [1, 3] {
            #expect(try await fixture.reason(authenticator) == .noRetry(.stepUpRequired))
            #expect(fixture.resource.requests.count == count)
        }
    }

    @Test("Fails if the resource demands even more scope", .shows("R9"))
    func insufficientScopeTwice() async throws {
        let answers = ["write", "delete"].map { scope in
            MockTransport.Step.status(
                403,
                headers: ["WWW-Authenticate": #"Bearer error="insufficient_scope", scope="\#(scope)""#]
            )
        }
        let fixture = OAuth2Fixture(answers: answers)
        let authenticator = fixture.authenticator(options: .obtaining(scope: "write delete"))
        #expect(try await fixture.reason(authenticator) == .noRetry(.insufficientScope))
        #expect(fixture.resource.requests.count == 2)
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test(
        "Requests more scope that the application names once, together with the grant's own",
        .shows("O16", "R9"),
        arguments: [401, 403]
    )
    func insufficientScope(status: Int) async throws {
        let headers: HTTPHeaders = ["WWW-Authenticate": #"Bearer error="insufficient_scope", scope="write read""#]
        let fixture = OAuth2Fixture(answers: [.status(status, headers: headers)])
        let grant = ClientCredentialsGrant(scope: "read list")
        let client = fixture.client(fixture.authenticator(grant: grant, options: .obtaining(scope: "delete write")))
        #expect(try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) == Data("ok".utf8))
        #expect(fixture.forms.map { $0["scope"] } == ["read list", "read list write"])
        #expect(fixture.credentials == ["Bearer access-1", "Bearer access-2"])
    }

    @Test(
        "Fails if the grant can't meet a demand or already requests the scope",
        .shows("R9"),
        arguments: [#"Bearer error="insufficient_scope", scope="read""#, #"Bearer error="insufficient_scope""#]
    )
    func unavailableScope(challenge: String) async throws {
        let grants: [any Grant] = [
            ClientCredentialsGrant(scope: "read"), RefreshTokenGrant(refreshToken: Secret("r0")),
        ]
        for grant in grants {
            let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "r1")])
            let authenticator = fixture.authenticator(grant: grant, options: .obtaining(scope: "read write"))
            let call = RefusedCall(fixture, authenticator: authenticator)
            #expect(try await call.action(403, challenge) == .noRetry(.insufficientScope))
            #expect(fixture.endpoint.requests.count == 1)
        }
    }

    @Test("Ignores any other 403 unless the option treats it like a 401", .shows("R10"))
    func forbidden() async throws {
        let fixture = OAuth2Fixture()
        for challenge in [nil, RefusedCall.invalidToken] {
            #expect(try await RefusedCall(fixture).action(403, challenge) == .none)
        }
        var options = OAuth2Authenticator.Options()
        options.insecurelyTreatsForbiddenAsInvalidToken = true
        let lenient = fixture.authenticator(options: options)
        #expect(try await RefusedCall(fixture, authenticator: lenient).action(403) == .retry)
        #expect(try await lenient.text() == "access-4")
    }
}

/// A client's grant that can request a stronger authentication.
private struct SteppingGrant: DetailedGrant {
    var acrValues: [String] = []

    var identifier: String { "stepping \(acrValues)" }
    var isRepeatable: Bool { true }

    func parameters(at date: Date) -> [(name: String, value: String)]? {
        [("grant_type", "client_credentials")] + acrValues.map { ("acr_values", $0) }
    }

    func answering(_ demand: ResourceDemand) -> (any Grant)? {
        demand.acrValues.isEmpty ? nil : Self(acrValues: demand.acrValues)
    }
}
