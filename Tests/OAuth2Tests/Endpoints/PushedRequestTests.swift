import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@Suite("Pushed authorization requests", .limitedConcurrency)
struct PushedRequestTests {
    private static let uri = "urn:ietf:params:oauth:request_uri:6esc_11ACC5bwc014ltc14eY22c"
    private static let answer = #"{"request_uri":"\#(uri)","expires_in":60}"#

    @Test("Pushes a request, and the user's URL has a reference to it", arguments: [200, 201])
    func push(status: Int) async throws {
        let fixture = EndpointFixture(.json(Self.answer, status: status))
        let request = try AuthorizationRequest(
            clientID: "api",
            redirectURI: "https://api.example/callback",
            scope: "read"
        )
        let pushed = try await fixture.oauth.push(request)
        #expect(pushed.requestURI == Self.uri)
        #expect(pushed.clientID == "api")
        #expect(pushed.expiry == fixture.time.now + .seconds(60))
        let sent = try #require(fixture.transport.requests.first)
        #expect(sent.url.absoluteString == "https://id.example/par")
        #expect(sent.headers["Authorization"]?.hasPrefix("Basic ") == true)
        let fields = FormURLEncoded.decode(fixture.forms[0]) ?? []
        #expect(Set(fields.map(\.name)) == Set(request.parameters.map(\.name)))
        for (name, value) in request.parameters { #expect(fields.contains { $0.name == name && $0.value == value }) }
        #expect(
            try pushed.url(at: EndpointFixture.server).absoluteString
                == "https://id.example/authorize?client_id=api&request_uri=urn%3Aietf%3Aparams%3Aoauth%3Arequest_uri%3A6esc_11ACC5bwc014ltc14eY22c"
        )
    }

    @Test("Rejects parameters of another client or with a request_uri")
    func refusedParameters() async {
        let fixture = EndpointFixture()
        for parameters in [[("client_id", "other")], [("request_uri", Self.uri)]] {
            #expect(await failureCode { _ = try await fixture.oauth.push(parameters: parameters) } == .malformedRequest)
        }
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test(
        "Rejects a response with missing members",
        arguments: [
            "{}", #"{"request_uri":"urn:x"}"#, #"{"expires_in":60}"#, #"{"request_uri":7,"expires_in":60}"#,
            #"{"request_uri":"","expires_in":60}"#, #"{"request_uri":"urn:x","expires_in":"60"}"#,
            #"{"request_uri":"urn:x","expires_in":0}"#, #"{"request_uri":"urn:x","expires_in":-1}"#,
            #"{"request_uri":"a\r\nb","expires_in":60}"#,
        ]
    )
    func violations(json: String) async {
        let fixture = EndpointFixture(.json(json, status: 201))
        #expect(await failureCode { _ = try await fixture.oauth.push(parameters: []) } == .protocolViolation)
    }

    @Test("Each invalid response has its error code, without anything that was sent", arguments: badAnswers)
    func badAnswer(name: String, step: MockTransport.Step, code: OAuth2Error.Code) async throws {
        let fixture = EndpointFixture(step)
        let error = try #require(
            await #expect(throws: OAuth2Error.self) {
                try await fixture.oauth.push(parameters: [("state", EndpointFixture.token)])
            }
        )
        #expect(error.code == code)
        for text in EndpointFixture.texts(of: error) {
            #expect(!text.contains(EndpointFixture.token) && !text.contains(EndpointFixture.secret))
        }
    }

    @Test("Sends no request without the endpoint")
    func noEndpoint() async {
        let fixture = EndpointFixture { $0.pushedAuthorizationRequestEndpoint = nil }
        #expect(await failureCode { _ = try await fixture.oauth.push(parameters: []) } == .endpointMissing)
    }
}
