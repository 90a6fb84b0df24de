import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@Suite("Revocation", .limitedConcurrency)
struct RevocationTests {
    private let token = Secret(EndpointFixture.token)

    @Test("Revokes a token with the hint and the client's authentication")
    func request() async throws {
        let fixture = EndpointFixture(.status(200), .text("ok"))
        try await fixture.oauth.revoke(token)
        try await fixture.oauth.revoke(token, kind: .refreshToken)
        #expect(fixture.transport.requests.map(\.url.path) == ["/revoke", "/revoke"])
        #expect(fixture.transport.requests.allSatisfy { $0.headers["Authorization"]?.hasPrefix("Basic ") == true })
        #expect(
            fixture.forms == [
                "token=\(EndpointFixture.token)", "token=\(EndpointFixture.token)&token_type_hint=refresh_token",
            ]
        )
    }

    @Test("Reports an unsupported kind of token")
    func unsupported() async throws {
        let fixture = EndpointFixture(.error("unsupported_token_type"))
        let error = await #expect(throws: OAuth2Error.self) { try await fixture.oauth.revoke(token) }
        #expect(error?.code == .requestRejected)
        #expect(error?.serverCode == "unsupported_token_type")
    }

    @Test("Retries a busy server after its Retry-After")
    func busy() async throws {
        let fixture = EndpointFixture(.status(503, headers: ["Retry-After": "7"]), .status(200), attempts: 2)
        let call = Task { try await fixture.oauth.revoke(token) }
        try await fixture.time.waitForSleepers(count: 1)
        fixture.time.advance(by: .seconds(7))
        try await call.value
        #expect(fixture.time.sleeps.contains(.seconds(7)))
        #expect(fixture.transport.requests.count == 2)
    }

    @Test("Requires status 200 or 204", arguments: [201, 202, 206])
    func otherStatuses(status: Int) async throws {
        let fixture = EndpointFixture(.status(status))
        let error = await #expect(throws: OAuth2Error.self) { try await fixture.oauth.revoke(token) }
        #expect(error?.code == .protocolViolation)
        #expect(error?.status == status)
    }

    @Test(
        "Each invalid response has its error code, without anything that was sent",
        arguments: badAnswers.filter { !["html", "not an object", "truncated"].contains($0.name) }
    )
    func badAnswer(name: String, step: MockTransport.Step, code: OAuth2Error.Code) async throws {
        let fixture = EndpointFixture(step)
        let error = try #require(await #expect(throws: OAuth2Error.self) { try await fixture.oauth.revoke(token) })
        #expect(error.code == code)
        for text in EndpointFixture.texts(of: error) {
            #expect(!text.contains(EndpointFixture.token) && !text.contains(EndpointFixture.secret))
        }
    }

    @Test("Sends no request without the endpoint")
    func noEndpoint() async {
        let fixture = EndpointFixture { $0.revocationEndpoint = nil }
        #expect(await failureCode { try await fixture.oauth.revoke(token) } == .endpointMissing)
    }
}
