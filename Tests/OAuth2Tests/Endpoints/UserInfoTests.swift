import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("UserInfo", .limitedConcurrency)
struct UserInfoTests {
    private let key: SigningKey
    private let keys: JWKSet

    init() throws {
        key = try SigningKey.generate(.es256)
        keys = JWKSet(keys: [key.verificationKey.jwk])
    }

    @Test("Sends the authenticator's token and returns the claims")
    func json() async throws {
        let fixture = EndpointFixture(.json(#"{"sub":"ada","name":"Ada","email_verified":true}"#))
        let info = try await fixture.oauth.userInfo(subject: "ada", authorized: client(of: fixture))
        #expect(info.subject == "ada")
        #expect(info["name"] == "Ada" && info["email_verified"] == nil && info["email"] == nil)
        #expect(info.claims["email_verified"] == true)
        let request = try #require(fixture.transport.requests.first)
        #expect(request.method == .get)
        #expect(request.url.absoluteString == "https://id.example/userinfo")
        #expect(request.headers["Authorization"] == "Bearer \(EndpointFixture.token)")
        #expect(request.headers["Accept"] == "application/json, application/jwt")
    }

    @Test(
        "Rejects a response about another user",
        arguments: [
            (#"{"sub":"eve"}"#, OAuth2Error.Code.subjectMismatch), (#"{"sub":"Ada"}"#, .subjectMismatch),
            (#"{"sub":"ada "}"#, .subjectMismatch), (#"{"sub":""}"#, .protocolViolation), ("{}", .protocolViolation),
            (#"{"sub":7}"#, .protocolViolation), (#"{"sub":null}"#, .protocolViolation),
            (#"{"sub":"ada","sub":"eve"}"#, .protocolViolation),
        ]
    )
    func subjects(json: String, code: OAuth2Error.Code) async {
        let fixture = EndpointFixture(.json(json))
        #expect(
            await failureCode { _ = try await fixture.oauth.userInfo(subject: "ada", authorized: client(of: fixture)) }
                == code
        )
    }

    @Test("Accepts a signed response, and requests only that with keys")
    func signed() async throws {
        let fixture = EndpointFixture(try jwt())
        let info = try await fixture.oauth.userInfo(subject: "ada", authorized: client(of: fixture), keys: keys)
        #expect(info["email"] == "ada@example.com")
        #expect(fixture.transport.requests.first?.headers["Accept"] == "application/jwt")
    }

    @Test(
        "Rejects an invalid signed response",
        arguments: [
            (["iss": "https://evil.example"], TokenError.Code.issuerMismatch), (["aud": "other"], .audienceMismatch),
            (["aud": nil], .missingClaim), (["exp": 1], .expired), (["sub": nil], .missingClaim),
        ] as [([String: JSONValue?], TokenError.Code)]
    )
    func badClaims(changes: [String: JSONValue?], code: TokenError.Code) async throws {
        let fixture = EndpointFixture(try jwt(changes))
        let error = await #expect(throws: OAuth2Error.self) {
            try await fixture.oauth.userInfo(subject: "ada", authorized: client(of: fixture), keys: keys)
        }
        #expect(error?.code == .protocolViolation)
        #expect((error?.cause as? TokenError)?.code == code)
    }

    @Test("Rejects another key's signature, another type of JWT, and an unsigned response")
    func badSignatures() async throws {
        let other = try SigningKey.generate(.es256)
        let unsigned = MockTransport.Step.text(
            "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.",
            headers: ["Content-Type": "application/jwt"]
        )
        for step in [try jwt(key: other), try jwt(type: "at+jwt"), unsigned, .json(#"{"sub":"ada"}"#)] {
            let fixture = EndpointFixture(step)
            let code = await failureCode {
                _ = try await fixture.oauth.userInfo(subject: "ada", authorized: client(of: fixture), keys: keys)
            }
            #expect(code == .protocolViolation)
        }
        let fixture = EndpointFixture(try jwt())
        #expect(
            await failureCode { _ = try await fixture.oauth.userInfo(subject: "ada", authorized: client(of: fixture)) }
                == .protocolViolation
        )
    }

    @Test(
        "Distinguishes a rejected token from other errors",
        arguments: [#"Bearer error="invalid_token""#, #"Bearer realm="x""#, #"DPoP error="invalid_token""#]
    )
    func refusedToken(challenge: String) async throws {
        let fixture = EndpointFixture(
            .status(401, headers: ["WWW-Authenticate": challenge]),
            .status(401, headers: ["WWW-Authenticate": challenge])
        )
        let error = try #require(
            await #expect(throws: OAuth2Error.self) {
                try await fixture.oauth.userInfo(subject: "ada", authorized: client(of: fixture))
            }
        )
        #expect(error.code == .accessTokenRejected)
        for text in EndpointFixture.texts(of: error) { #expect(!text.contains(EndpointFixture.token)) }
    }

    @Test(
        "Each invalid response has its error code, without anything that was sent",
        arguments: badAnswers.filter { $0.name != "another client" }
    )
    func badAnswer(name: String, step: MockTransport.Step, code: OAuth2Error.Code) async throws {
        let fixture = EndpointFixture(step)
        let error = try #require(
            await #expect(throws: OAuth2Error.self) {
                try await fixture.oauth.userInfo(subject: "ada", authorized: client(of: fixture))
            }
        )
        #expect(error.code == code)
        for text in EndpointFixture.texts(of: error) {
            #expect(!text.contains(EndpointFixture.token) && !text.contains(EndpointFixture.secret))
        }
    }

    @Test("Throws the token source's error")
    func noToken() async {
        let fixture = EndpointFixture()
        let source = ClosureTokenSource { _ in throw OAuth2Error(.reauthenticationRequired, "not signed in") }
        let authenticator = OAuth2Authenticator(
            source: source,
            resources: [URL(string: "https://id.example")!],
            timing: .init(timeSource: fixture.time.timeSource)
        )
        let client = NetworkClient(
            transport: fixture.transport,
            interceptors: [authenticator],
            options: .init(timeSource: fixture.time.timeSource)
        )
        let code = await failureCode { _ = try await fixture.oauth.userInfo(subject: "ada", authorized: client) }
        #expect(code == .reauthenticationRequired)
        #expect(fixture.transport.requests.isEmpty)
    }

    private func client(of fixture: EndpointFixture) -> NetworkClient {
        let source = StaticTokenSource(AccessToken(value: Secret(EndpointFixture.token), requested: fixture.time.now))
        let authenticator = OAuth2Authenticator(
            source: source,
            resources: [URL(string: "https://id.example")!],
            timing: .init(timeSource: fixture.time.timeSource)
        )
        return NetworkClient(
            transport: fixture.transport,
            interceptors: [authenticator],
            options: .init(timeSource: fixture.time.timeSource)
        )
    }

    private func jwt(
        _ changes: [String: JSONValue?] = [:],
        key: SigningKey? = nil,
        type: String = "JWT"
    ) throws -> MockTransport.Step {
        var claims: JSONObject = [
            "iss": "https://id.example", "aud": "api", "sub": "ada", "email": "ada@example.com",
        ]
        for (name, value) in changes { claims[name] = value }
        let token = try JWTGenerator(
            header: ["typ": .string(type)],
            payload: claims,
            signingService: ES256SigningService(key: key ?? self.key)
        ).token()
        return .text(token, headers: ["Content-Type": "application/jwt; charset=utf-8"])
    }
}
