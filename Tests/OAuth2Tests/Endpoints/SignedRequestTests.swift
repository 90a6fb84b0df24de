import Foundation
import MockNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("Signed authorization requests")
struct SignedRequestTests {
    private let key: SigningKey
    private let service: ES256SigningService
    private let date = Date(timeIntervalSince1970: 1_000_000_000)

    init() throws {
        key = try SigningKey.generate(.es256)
        service = try ES256SigningService(key: key, keyID: "k1")
    }

    @Test("Signs all parameters, with the server as audience")
    func claims() throws {
        let request = try AuthorizationRequest(
            clientID: "api",
            redirectURI: "https://api.example/callback",
            scope: "openid read",
            resources: ["https://a.example", "https://b.example"],
            additionalParameters: ["max_age": "300", "claims": #"{"userinfo":{"email":null}}"#, "prompt": "login"]
        )
        let signed = try SignedAuthorizationRequest(
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
        #expect(token.claims["prompt"] == "login")
        #expect(token.claims["exp"] == 1_000_000_300)
        #expect(token.claims["sub"] == nil && token.claims["request"] == nil && token.claims["request_uri"] == nil)
        let url = try signed.url(at: EndpointFixture.server).absoluteString
        #expect(
            url.hasPrefix("https://id.example/authorize?client_id=api&response_type=code&scope=openid+read&request=ey")
        )
    }

    @Test("Each signed request has a new jti", arguments: [nil, "https://as.example/authorize"])
    func uniqueness(audience: String?) throws {
        let request = try AuthorizationRequest(clientID: "api", redirectURI: "https://api.example/callback")
        let tokens = try (1...2).map { _ in
            try SignedAuthorizationRequest(
                request,
                for: EndpointFixture.server,
                signingService: service,
                lifetime: .seconds(10_000_000),
                audience: audience
            ).parameters.last?.value
        }
        #expect(Set(tokens).count == 2)
        let claims = try UnverifiedToken(try #require(tokens[0])).unverifiedClaims
        #expect(claims["aud"]?.string == audience ?? "https://id.example")
        let times = try ["exp", "iat"].map { try #require(claims[$0]?.number?.integer) }
        #expect(times[0] - times[1] == 86_400)
    }

    @Test("Throws an error if the service can't sign")
    func failure() throws {
        struct Broken: SigningService {
            struct Failure: Error {}
            let algorithm = JWSAlgorithm.es256
            func sign(data: Data) throws -> Data { throw Failure() }
        }
        let request = try AuthorizationRequest(clientID: "api", redirectURI: "https://api.example/callback")
        let error = #expect(throws: OAuth2Error.self) {
            try SignedAuthorizationRequest(request, for: EndpointFixture.server, signingService: Broken())
        }
        #expect(error?.code == .assertionFailed)
        #expect(error?.cause is Broken.Failure)
    }

    @Test("Pushes a signed request, and doesn't show it in descriptions")
    func pushing() async throws {
        let request = try AuthorizationRequest(clientID: "api", redirectURI: "https://api.example/callback")
        let signed = try SignedAuthorizationRequest(request, for: EndpointFixture.server, signingService: service)
        let fixture = EndpointFixture(.json(#"{"request_uri":"urn:x","expires_in":60}"#, status: 201))
        _ = try await fixture.oauth.push(parameters: signed.parameters)
        let text = try #require(signed.parameters.last?.value)
        #expect(fixture.forms[0].contains("request=\(text)"))
        var dumped = "\(signed)"
        dump(signed, to: &dumped)
        #expect(!dumped.contains(text) && dumped.contains("api"))
    }
}
