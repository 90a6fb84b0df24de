import Foundation
import MockNetworking
import Networking
import OAuth2
import TestTurns
import Testing

@Suite("Revocation", .timeLimit(.minutes(10)), .turns)
struct RevocationTests {
    private let token = Secret(EndpointDesk.token)

    @Test("A token is given back with the hint and the client's authentication")
    func request() async throws {
        let desk = EndpointDesk(.status(200), .text("ok"))
        try await desk.oauth.revoke(token)
        try await desk.oauth.revoke(token, kind: .refreshToken)
        #expect(desk.transport.requests.map(\.url.path) == ["/revoke", "/revoke"])
        #expect(desk.transport.requests.allSatisfy { $0.headers["Authorization"]?.hasPrefix("Basic ") == true })
        #expect(
            desk.forms == ["token=\(EndpointDesk.token)", "token=\(EndpointDesk.token)&token_type_hint=refresh_token"]
        )
    }

    @Test("A server that can't revoke tokens of a kind says so")
    func unsupported() async throws {
        let desk = EndpointDesk(.error("unsupported_token_type"))
        let error = await #expect(throws: OAuth2Error.self) { try await desk.oauth.revoke(token) }
        #expect(error?.code == .requestRejected)
        #expect(error?.serverCode == "unsupported_token_type")
    }

    @Test("A server that is busy is asked again when it says")
    func busy() async throws {
        let desk = EndpointDesk(.status(503, headers: ["Retry-After": "7"]), .status(200), attempts: 2)
        let call = Task { try await desk.oauth.revoke(token) }
        try await desk.time.waitForSleepers(count: 1)
        desk.time.advance(by: .seconds(7))
        try await call.value
        #expect(desk.time.sleeps.contains(.seconds(7)))
        #expect(desk.transport.requests.count == 2)
    }

    @Test("Nothing counts as revoked but what the server says is", arguments: [201, 202, 206])
    func otherStatuses(status: Int) async throws {
        let desk = EndpointDesk(.status(status))
        let error = await #expect(throws: OAuth2Error.self) { try await desk.oauth.revoke(token) }
        #expect(error?.code == .protocolViolation)
        #expect(error?.status == status)
    }

    @Test(
        "Every other answer has its code, and nothing of what was sent is in the error",
        arguments: badAnswers.filter { !["html", "not an object", "truncated"].contains($0.name) }
    )
    func badAnswer(name: String, step: MockTransport.Step, code: OAuth2Error.Code) async throws {
        let desk = EndpointDesk(step)
        let error = try #require(await #expect(throws: OAuth2Error.self) { try await desk.oauth.revoke(token) })
        #expect(error.code == code)
        for text in EndpointDesk.texts(of: error) {
            #expect(!text.contains(EndpointDesk.token) && !text.contains(EndpointDesk.secret))
        }
    }

    @Test("A server without the endpoint is not asked")
    func noEndpoint() async {
        let desk = EndpointDesk { $0.revocationEndpoint = nil }
        #expect(await failureCode { try await desk.oauth.revoke(token) } == .endpointMissing)
    }
}
