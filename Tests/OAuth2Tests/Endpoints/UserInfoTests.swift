import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@Suite("UserInfo", .limitedConcurrency)
struct UserInfoTests {
    private let key: SigningKey
    private let keys: IssuerKeys

    init() throws {
        key = try SigningKey.generate(.es256)
        keys = .fixed(JWKSet(keys: [key.verificationKey.jwk]))
    }

    @Test("Sends the authenticator's token and returns the claims", .shows("O12", "OpenID Connect Core §5.3"))
    func json() async throws {
        let fixture = EndpointFixture(.json(#"{"sub":"ada","name":"Ada","email_verified":true}"#))
        let info = try await fixture.oauth.userInfo(subject: "ada", authorized: fixture.authorized())
        #expect(info.subject == "ada")
        #expect(info["name"] == "Ada" && info["email_verified"] == nil && info["email"] == nil)
        #expect(info.claims["email_verified"] == true)
        let request = try #require(fixture.transport.requests.first)
        #expect((request.method, request.url.absoluteString) == (.get, "https://id.example/userinfo"))
        #expect(request.headers["Authorization"] == "Bearer \(EndpointFixture.token)")
        #expect(request.headers["Accept"] == "application/json, application/jwt")
    }

    @Test(
        "Rejects a response about another user",
        .shows("G10", "OpenID Connect Core §5.3"),
        arguments: [
            (#"{"sub":"eve"}"#, OAuth2Error.Code.subjectMismatch), (#"{"sub":"Ada"}"#, .subjectMismatch),
            (#"{"sub":"ada "}"#, .subjectMismatch), (#"{"sub":""}"#, .protocolViolation), ("{}", .protocolViolation),
            (#"{"sub":7}"#, .protocolViolation), (#"{"sub":null}"#, .protocolViolation),
            (#"{"sub":"ada","sub":"eve"}"#, .protocolViolation),
        ]
    )
    func subjects(json: String, code: OAuth2Error.Code) async {
        #expect(await failureCode { try await info(.json(json)) } == code)
    }

    private func info(_ steps: MockTransport.Step..., keys: IssuerKeys? = nil) async throws -> UserInfo {
        let fixture = EndpointFixture(steps)
        return try await fixture.oauth.userInfo(subject: "ada", authorized: fixture.authorized(), keys: keys)
    }

    @Test("Accepts a signed response, and requests only that with keys", .shows("OpenID Connect Core §5.3"))
    func signed() async throws {
        let fixture = EndpointFixture(try jwt())
        let info = try await fixture.oauth.userInfo(subject: "ada", authorized: fixture.authorized(), keys: keys)
        #expect(info["email"] == "ada@example.com")
        #expect(fixture.transport.requests.first?.headers["Accept"] == "application/jwt")
    }

    @Test("A key without an algorithm is for RS256, or for the assumed algorithm")
    func withoutAlgorithm() async throws {
        let rsa = try IssuerKey(.rs256, id: nil)
        let pss = try rsa.signing(with: .ps256)
        var keys = IssuerKeys.fixed(JWKSet(keys: [rsa.jwkWithoutAlgorithm]))
        #expect(try await info(jwt(key: rsa.key), keys: keys).subject == "ada")
        let assumed = keys
        let error = await failure { try await info(jwt(key: pss.key), keys: assumed) }
        #expect((error?.cause as? TokenError)?.code == .algorithmMismatch)
        keys.selection = KeySelection(assumedAlgorithms: [.ps256])
        #expect(try await info(jwt(key: pss.key), keys: keys).subject == "ada")
    }

    @Test("Verifies with fetched keys, and throws their error")
    func fetchedKeys() async throws {
        let issuer = PublishedKeys([], steps: [.json(JWKSet(keys: [key.verificationKey.jwk]).serialized())])
        let keys = IssuerKeys.remote(issuer.keySet())
        for _ in 1...2 { #expect(try await info(jwt(), keys: keys).subject == "ada") }
        #expect(issuer.fetchCount == 1)
        let broken = PublishedKeys([], steps: Array(repeating: .status(400), count: 9))
        let error = await failure { try await info(jwt(), keys: .remote(broken.keySet())) }
        #expect(error?.status == 400 && !(error?.cause is TokenError))
    }

    @Test(
        "Rejects an invalid signed response",
        arguments: [
            (["iss": "https://evil.example"], TokenError.Code.issuerMismatch), (["aud": "other"], .audienceMismatch),
            (["aud": nil], .missingClaim), (["exp": 1], .expired), (["sub": nil], .missingClaim),
        ] as [([String: JSONValue?], TokenError.Code)]
    )
    func badClaims(changes: [String: JSONValue?], code: TokenError.Code) async throws {
        let step = try jwt(changes)
        let error = await failure { try await info(step, keys: keys) }
        #expect((error?.code, (error?.cause as? TokenError)?.code) == (.protocolViolation, code))
    }

    @Test("Rejects another key's signature, another type of JWT, and an unsigned response", .shows("G10"))
    func badSignatures() async throws {
        let other = try SigningKey.generate(.es256)
        let unsigned = MockTransport.Step.text(
            "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.",
            headers: ["Content-Type": "application/jwt"]
        )
        let rows: [(MockTransport.Step, IssuerKeys?)] = [
            (try jwt(key: other), keys), (try jwt(type: "at+jwt"), keys), (unsigned, keys),
            (.json(#"{"sub":"ada"}"#), keys), (try jwt(), nil),
        ]
        for (index, (step, keys)) in rows.enumerated() {
            #expect(await failureCode { try await info(step, keys: keys) } == .protocolViolation, "row \(index)")
        }
    }

    @Test(
        "Distinguishes a rejected token from other errors",
        arguments: [#"Bearer error="invalid_token""#, #"Bearer realm="x""#, #"DPoP error="invalid_token""#]
    )
    func refusedToken(challenge: String) async throws {
        let error = try #require(await failure { try await info(.challenge(challenge), .challenge(challenge)) })
        #expect(error.code == .accessTokenRejected)
        for text in EndpointFixture.texts(of: error) { #expect(!text.contains(EndpointFixture.token)) }
    }

    @Test(
        "A 401 rejects the token, with any body and also without a challenge",
        arguments: [
            .status(401), .status(401, body: Data("<html>".utf8)), .challenge(#"error="invalid_token""#),
            .json(#"{"error":"unauthorized"}"#, status: 401), .json(#"{"error":"access_denied"}"#, status: 401),
        ] as [MockTransport.Step]
    )
    func refusedWithoutChallenge(step: MockTransport.Step) async throws {
        let error = try #require(await failure { try await info(step, step) })
        #expect((error.code, error.status) == (.accessTokenRejected, 401))
    }

    @Test("Throws the token source's error")
    func noToken() async {
        let fixture = EndpointFixture()
        let source = ClosureTokenSource { _ in throw OAuth2Error(.reauthenticationRequired, "not signed in") }
        let authorized = fixture.authorized(source)
        let code = await failureCode { try await fixture.oauth.userInfo(subject: "ada", authorized: authorized) }
        #expect(code == .reauthenticationRequired)
        #expect(fixture.transport.requests.isEmpty)
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
            signingService: key ?? self.key
        ).token()
        return .text(token, headers: ["Content-Type": "application/jwt; charset=utf-8"])
    }
}
