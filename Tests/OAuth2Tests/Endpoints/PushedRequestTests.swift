import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Pushed and signed authorization requests", .limitedConcurrency)
struct PushedRequestTests {
    private static let uri = "urn:ietf:params:oauth:request_uri:6esc_11ACC5bwc014ltc14eY22c"
    private static let answer = #"{"request_uri":"\#(uri)","expires_in":60}"#

    private let key: SigningKey
    private let service: ES256SigningService
    private let date = Date(timeIntervalSince1970: 1_000_000_000)

    init() throws {
        key = try SigningKey.generate(.es256)
        service = try ES256SigningService(key: key, keyID: "k1")
    }

    @Test(
        "Pushes a request, and the user's URL has a reference to it",
        .shows("O11", "RFC 9126", "FAPI 2.0 §5.3.3.2 (2)", "FAPI 2.0 §5.3.3.2 (6)"),
        arguments: [200, 201]
    )
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
            #expect(await failureCode { try await fixture.oauth.push(parameters: parameters) } == .malformedRequest)
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
        #expect(await failureCode { try await fixture.oauth.push(parameters: []) } == .protocolViolation)
    }

    // MARK: Signed requests

    @Test("Signs all parameters, with the server as audience")
    func claims() async throws {
        let request = try AuthorizationRequest(
            clientID: "api",
            redirectURI: "https://api.example/callback",
            scope: "openid read",
            resources: ["https://a.example", "https://b.example"],
            additionalParameters: ["max_age": "300", "claims": #"{"userinfo":{"email":null}}"#, "prompt": "login"]
        )
        let signed = try await SignedAuthorizationRequest(
            request,
            for: EndpointFixture.server,
            signingService: service,
            date: date
        )
        #expect(signed.parameters.map(\.name) == ["client_id", "response_type", "scope", "request"])
        let text = try #require(signed.parameters.last?.value)
        let policy = ValidationPolicy(
            issuer: "api",
            audience: "https://id.example",
            type: "oauth-authz-req+jwt",
            requiredClaims: ["jti", "iat", "nbf"],
            currentDate: { date }
        )
        let token = try JWTVerifier(key: key.verificationKey, policy: policy).verify(text)
        #expect(token.header["kid"] == "k1")
        for name in ["response_type", "client_id", "redirect_uri", "state", "nonce", "code_challenge", "scope"] {
            #expect(token.claims[name]?.string == request.parameters.first { $0.name == name }?.value)
        }
        #expect(token.claims["resource"] == ["https://a.example", "https://b.example"])
        #expect(token.claims["max_age"] == 300)
        #expect(token.claims["claims"] == ["userinfo": ["email": nil]])
        #expect((token.claims["prompt"], token.claims["exp"]) == ("login", 1_000_000_300))
        #expect(token.claims["sub"] == nil && token.claims["request"] == nil && token.claims["request_uri"] == nil)
        let url = try signed.url(at: EndpointFixture.server).absoluteString
        #expect(
            url.hasPrefix("https://id.example/authorize?client_id=api&response_type=code&scope=openid+read&request=ey")
        )
    }

    @Test("Each signed request has a new jti", arguments: [nil, "https://as.example/authorize"])
    func uniqueness(audience: String?) async throws {
        let request = try AuthorizationRequest(clientID: "api", redirectURI: "https://api.example/callback")
        var signed: [JSONObject] = []
        for signer in [service, Vault(service: service)] as [any SigningService] {
            let token = try await SignedAuthorizationRequest(
                request,
                for: EndpointFixture.server,
                signingService: signer,
                lifetime: .seconds(10_000_000),
                audience: audience
            ).parameters.last?.value
            signed.append(try UnverifiedToken(try #require(token)).unverifiedClaims)
        }
        #expect(Set(signed.map { $0["jti"]?.string }).count == 2)
        let claims = signed[0]
        #expect(claims["aud"]?.string == audience ?? "https://id.example")
        let times = try ["exp", "iat"].map { try #require(claims[$0]?.number?.integer) }
        #expect(times[0] - times[1] == 86_400)
    }

    @Test("Throws an error if the service can't sign")
    func signingFailure() async throws {
        let request = try AuthorizationRequest(clientID: "api", redirectURI: "https://api.example/callback")
        let error = await failure {
            try await SignedAuthorizationRequest(request, for: EndpointFixture.server, signingService: BrokenService())
        }
        #expect(error?.code == .assertionFailed)
        #expect(error?.cause is BrokenService.Broken)
    }

    @Test("Pushes a signed request, and doesn't show it in descriptions")
    func pushing() async throws {
        let request = try AuthorizationRequest(clientID: "api", redirectURI: "https://api.example/callback")
        let signed = try await SignedAuthorizationRequest(request, for: EndpointFixture.server, signingService: service)
        let fixture = EndpointFixture(.json(#"{"request_uri":"urn:x","expires_in":60}"#, status: 201))
        _ = try await fixture.oauth.push(parameters: signed.parameters)
        let text = try #require(signed.parameters.last?.value)
        #expect(fixture.forms[0].contains("request=\(text)"))
        // RFC 9126 §3: all others are in the signed request.
        #expect(FormURLEncoded.decode(fixture.forms[0])?.map(\.name) == ["client_id", "request"])
        var dumped = "\(signed)"
        dump(signed, to: &dumped)
        #expect(!dumped.contains(text) && dumped.contains("api"))
    }
}
