import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// A call of an endpoint that sends the fixture's token, and the client's secret.
enum EndpointCall: String, CaseIterable {
    case introspect, revoke, push, register, userInfo, device

    func callAsFunction(_ fixture: EndpointFixture) async throws {
        let token = EndpointFixture.token
        switch self {
        case .introspect: _ = try await fixture.oauth.introspect(Secret(token))
        case .revoke: try await fixture.oauth.revoke(Secret(token))
        case .push: _ = try await fixture.oauth.push(parameters: [("code_challenge", token), ("state", token)])
        case .register:
            let metadata = ClientMetadata(["software_statement": .string(EndpointFixture.secret)])
            _ = try await fixture.registrar().register(metadata, initialAccessToken: Secret(token))
        case .userInfo: _ = try await fixture.oauth.userInfo(subject: "ada", authorized: fixture.authorized())
        case .device: _ = try await fixture.oauth.authorizeDevice(additionalParameters: ["hint": token])
        }
    }

    /// A Boolean value that indicates whether the response has another meaning for this endpoint.
    fileprivate func accepts(_ answer: String) -> Bool {
        switch self {
        case .revoke: ["html", "not an object", "truncated"].contains(answer)
        case .userInfo: answer == "another client"
        default: false
        }
    }
}

@Suite("Endpoints: failures", .limitedConcurrency)
struct EndpointFailureTests {
    @Test(
        "Each invalid response has its error code, without anything that was sent",
        arguments: EndpointCall.allCases
    )
    func responses(call: EndpointCall) async throws {
        for (name, step, code) in badAnswers where !call.accepts(name) {
            let fixture = EndpointFixture(step)
            let error = try #require(await #expect(throws: OAuth2Error.self, "\(name)") { try await call(fixture) })
            #expect(error.code == code, "\(name)")
            let shown = EndpointFixture.texts(of: error).joined()
            #expect(!shown.contains(EndpointFixture.token) && !shown.contains(EndpointFixture.secret), "\(name)")
            #expect(fixture.transport.requests.count == 1)
        }
    }

    @Test(
        "Sends no request to a missing or insecure endpoint",
        .shows("G9"),
        arguments: [(nil, .endpointMissing), (URL(string: "http://id.example/x"), .insecureTransport)]
            as [(URL?, OAuth2Error.Code)]
    )
    func addresses(url: URL?, code: OAuth2Error.Code) async {
        for call in EndpointCall.allCases {
            let fixture = EndpointFixture { server in
                server.introspectionEndpoint = url
                server.revocationEndpoint = url
                server.pushedAuthorizationRequestEndpoint = url
                server.registrationEndpoint = url
                server.userInfoEndpoint = url
                server.deviceAuthorizationEndpoint = url
            }
            #expect(await failureCode { try await call(fixture) } == code, "\(call)")
            #expect(fixture.transport.requests.isEmpty)
        }
    }
}

/// Invalid responses that any endpoint can send, with the resulting error codes.
private var badAnswers: [(name: String, step: MockTransport.Step, code: OAuth2Error.Code)] {
    let echo = "\(EndpointFixture.token) \(EndpointFixture.secret)"
    return [
        ("html", .text("<html>\(echo)"), .protocolViolation),
        ("html with an error status", .text("<html>\(echo)", status: 403), .protocolViolation),
        ("not an object", .json(#"["\#(echo)"]"#), .protocolViolation),
        ("truncated", .json(#"{"active":true,"sub":"\#(echo)"#), .protocolViolation),
        ("huge", .text(String(repeating: echo, count: 50_000)), .protocolViolation),
        ("a redirect", .status(307, headers: ["Location": "https://evil.example"]), .protocolViolation),
        (
            "an error", .json(#"{"error":"invalid_request","error_description":"\#(echo)"}"#, status: 400),
            .requestRejected
        ),
        (
            "another client", .json(#"{"error":"invalid_client","error_description":"\#(echo)"}"#, status: 401),
            .invalidClient
        ),
        ("an outage", .json(#"{"error":"\#(echo)"}"#, status: 503), .serverTransient),
        ("no connection", .failure(NetworkError(.cannotConnect, "no luck")), .serverUnreachable),
        ("a lost answer", .failure(NetworkError(.connectionLost, "no luck")), .serverUnreachable),
    ]
}
