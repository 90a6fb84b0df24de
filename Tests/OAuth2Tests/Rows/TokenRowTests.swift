import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

/// Tests of rejected tokens.
@Suite("Rejected requests: tokens", .limitedConcurrency)
struct TokenRowTests {
    private let refusal = RefusedCall.failure(401, RefusedCall.invalidToken)

    @Test(
        "Treats invalid_token, no error and no challenge as a rejected token",
        arguments: [RefusedCall.invalidToken, "Bearer", #"DPoP algs="ES256""#, nil]
    )
    func row13(challenge: String?) async throws {
        let call = RefusedCall()
        #expect(try await call.action(401, challenge) == .retry)
        #expect(try await call.authenticator.text() == "access-2")
    }

    @Test("Retries an older token up to three times without a refresh")
    func row13a() async throws {
        let call = RefusedCall()
        let late = try await call.request()
        #expect(try await call.action(401) == .retry)
        _ = try await call.authenticator.text()
        for count in 0...2 {
            let state = Retry.State(
                authenticationErrors: Array(repeating: refusal, count: count),
                started: call.fixture.time.now - .seconds(60)
            )
            #expect(try await call.action(401, on: late, state: state) == .retry)
        }
        let last = Retry.State(authenticationErrors: [refusal, refusal, refusal], started: call.fixture.time.now)
        #expect(try await call.action(401, on: late, state: last) == .noRetry(.freshTokenRejected))
        #expect(call.fixture.endpoint.requests.count == 2)
    }

    @Test("Fails if a token issued for the call is rejected, or any token twice")
    func row13b() async throws {
        let call = RefusedCall()
        let started = call.fixture.time.now
        _ = try await call.request()
        let state = Retry.State(authenticationErrors: [refusal], started: started)
        #expect(try await call.action(401, state: state) == .noRetry(.freshTokenRejected))
        call.fixture.time.advance(by: .seconds(1))
        let twice = Retry.State(authenticationErrors: [refusal, refusal], started: call.fixture.time.now)
        #expect(try await call.action(401, state: twice) == .noRetry(.freshTokenRejected))
        #expect(try await call.authenticator.text() == "access-1")
    }

    @Test("A resource that rejected a new token causes no refresh for 30 seconds, but others do")
    func row13bMark() async throws {
        let call = RefusedCall()
        _ = try await call.request()
        let state = Retry.State(authenticationErrors: [refusal], started: call.fixture.time.now)
        #expect(try await call.action(401, state: state) == .noRetry(.freshTokenRejected))
        #expect(try await call.action(401) == .noRetry(.freshTokenRejected))
        call.fixture.time.advance(by: .seconds(30))
        #expect(try await call.action(401) == .retry)
        let other = RefusedCall()
        _ = try await other.request()
        let first = Retry.State(authenticationErrors: [refusal], started: other.fixture.time.now)
        #expect(try await other.action(401, state: first) == .noRetry(.freshTokenRejected))
        let elsewhere = try await other.request(url: #require(URL(string: "https://other.example/")))
        #expect(try await other.action(401, on: elsewhere) == .retry)
    }

    @Test("Reports the end of the grant as the reason")
    func row13c() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "r1", lifetime: 100), .error("invalid_grant")])
        let grant = RefreshTokenGrant(refreshToken: Secret("r0"))
        let call = RefusedCall(fixture, authenticator: fixture.authenticator(grant: grant))
        let request = try await call.request()
        fixture.time.advance(by: .seconds(3600))
        #expect(await failureCode { _ = try await call.authenticator.text() } == .reauthenticationRequired)
        #expect(try await call.action(401, on: request) == .noRetry(.reauthenticationRequired))
    }

    @Test("Fails if the source can't replace its token")
    func row13d() async throws {
        let fixture = OAuth2Fixture()
        let token = AccessToken(value: Secret("static"), requested: fixture.time.now)
        let authenticator = OAuth2Authenticator(
            source: StaticTokenSource(token),
            resources: .everyHTTPSOrigin,
            timing: .init(timeSource: fixture.time.timeSource)
        )
        let call = RefusedCall(fixture, authenticator: authenticator)
        #expect(try await call.action(401) == .noRetry(.reauthenticationRequired))
        #expect(try await authenticator.text() == "static")
    }

    @Test("Refreshes five times at most within 30 seconds")
    func row13e() async throws {
        let call = RefusedCall()
        for _ in 1...5 { #expect(try await call.action(401) == .retry) }
        #expect(try await call.action(401) == .noRetry(.excessiveRefresh))
        #expect(call.fixture.endpoint.requests.count == 6)
        call.fixture.time.advance(by: .seconds(30.001))
        #expect(try await call.action(401) == .retry)
    }

    @Test("Delays the retry during a backoff, within the delay budget")
    func row13f() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1"), .retryAfter(20)])
        let call = RefusedCall(fixture)
        let request = try await call.request()
        #expect(try await call.action(401, on: request) == .retry)
        #expect(await failureCode { _ = try await call.authenticator.text() } == .serverTransient)
        fixture.time.advance(by: .seconds(5))
        #expect(try await call.action(401, on: request) == .retryAfter(.seconds(15)))
        let spent = Retry.State(delays: [.seconds(46)], started: fixture.time.now)
        guard case .noRetry(.delay(let budget)) = try await call.rawAction(401, on: request, state: spent) else {
            Issue.record("not failed for exceeding its budget")
            return
        }
        #expect(budget == .seconds(60))
    }

    @Test("Waits once for a resource that learns of tokens late")
    func row13g() async throws {
        let fixture = OAuth2Fixture()
        let call = RefusedCall(fixture, authenticator: fixture.authenticator(replicationDelay: .milliseconds(500)))
        let request = try await call.request()
        #expect(try await call.action(401, on: request) == .retryAfter(.milliseconds(500)))
        #expect(fixture.endpoint.requests.count == 1)
        let again = Retry.State(authenticationErrors: [refusal], started: fixture.time.now + .seconds(1))
        #expect(try await call.action(401, on: request, state: again) == .retry)
        #expect(try await call.authenticator.text() == "access-2")
        fixture.time.advance(by: .seconds(2))
        #expect(try await call.action(401) == .retry)
    }

    @Test("Replaces the token and retries the call")
    func row13h() async throws {
        let call = RefusedCall()
        #expect(try await call.action(401, RefusedCall.invalidToken) == .retry)
        #expect(try await call.request().value(forHTTPHeaderField: "Authorization") == "Bearer access-2")
    }

    @Test("Ignores an unknown error code until the token expires")
    func row14() async throws {
        let call = RefusedCall()
        let request = try await call.request()
        #expect(try await call.action(401, #"Bearer error="something_new""#, on: request) == .none)
        call.fixture.time.advance(by: .seconds(3571))
        #expect(try await call.action(401, #"Bearer error="something_new""#, on: request) == .retry)
        #expect(try await call.authenticator.text() == "access-2")
    }
}

extension MockTransport.Step {
    /// A 503 response with `Retry-After`.
    static func retryAfter(_ seconds: Int) -> Self { .status(503, headers: ["Retry-After": "\(seconds)"]) }
}
