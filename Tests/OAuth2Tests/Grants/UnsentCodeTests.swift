import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

/// Single-use codes in requests that weren't sent.
@Suite("Unsent codes", .limitedConcurrency)
struct UnsentCodeTests {
    private func code() throws -> AuthorizationCodeGrant {
        AuthorizationCodeGrant(
            code: Secret("c0de"),
            redirectURI: "urn:a",
            codeVerifier: try CodeVerifier(),
            idToken: .none
        )
    }

    @Test(
        "Uses a code again if it certainly wasn't sent",
        arguments: [NetworkError.Code.cannotConnect, .cannotResolveHost, .rateLimited, .circuitOpen]
    )
    func notSent(_ failure: NetworkError.Code) async throws {
        let fixture = EndpointFixture(.failure(NetworkError(failure, "no luck")), .tokens("a1"), .tokens("a2"))
        let code = try code()
        #expect(await failureCode { _ = try await fixture.oauth.tokens(for: code) } == .serverUnreachable)
        #expect(try await fixture.oauth.tokens(for: code).accessToken.value == Secret("a1"))
        #expect(await failureCode { _ = try await fixture.oauth.tokens(for: code) } == .reauthenticationRequired)
        #expect(fixture.transport.requests.count == 2)
    }

    @Test("Uses a code again if the client couldn't authenticate")
    func noProof() async throws {
        let code = try code()
        let broken = EndpointFixture(clientAuthentication: FailingAuthentication())
        #expect(await failureCode { _ = try await broken.oauth.tokens(for: code) } == .assertionFailed)
        #expect(broken.transport.requests.isEmpty)
        let fixture = EndpointFixture(.tokens("a1"))
        #expect(try await fixture.oauth.tokens(for: code).accessToken.value == Secret("a1"))
    }

    @Test(
        "Doesn't use a code again if it may have been sent",
        arguments: [
            MockTransport.Step.failure(NetworkError(.connectionLost, "no luck")), .status(503),
            .error("invalid_client"),
            .error("invalid_grant"), .text("<html>"), .failure(NetworkError(.timedOut, "no luck")),
        ]
    )
    func sent(_ step: MockTransport.Step) async throws {
        let fixture = EndpointFixture(step, .tokens("a1"))
        let code = try code()
        #expect(await failureCode { _ = try await fixture.oauth.tokens(for: code) } != nil)
        #expect(await failureCode { _ = try await fixture.oauth.tokens(for: code) } == .reauthenticationRequired)
        #expect(fixture.transport.requests.count == 1)
    }

    @Test("Doesn't use a code again after one sent and one unsent attempt")
    func sentThenNotSent() async throws {
        let fixture = EndpointFixture(.status(503), .failure(NetworkError(.cannotConnect, "no luck")), attempts: 2)
        let code = try code()
        #expect(await failureCode { _ = try await fixture.oauth.tokens(for: code) } != nil)
        #expect(await failureCode { _ = try await fixture.oauth.tokens(for: code) } == .reauthenticationRequired)
    }

    private struct FailingAuthentication: ClientAuthentication {
        let clientID = "api"

        func authenticate(_ request: inout TokenRequest, at date: Date) throws(OAuth2Error) {
            throw OAuth2Error(.assertionFailed, "the key is missing")
        }
    }
}
