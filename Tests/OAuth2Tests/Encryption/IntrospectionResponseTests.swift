import Foundation
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

/// The rules of RFC 9701 for introspection responses that are JWTs.
@Suite("Introspection responses as JWTs", .limitedConcurrency)
struct IntrospectionResponseTests {
    private static let mediaType = "application/token-introspection+jwt"

    private let key: SigningKey
    private let token = Secret(EndpointFixture.token)

    init() throws {
        key = try SigningKey.generate(.es256)
    }

    @Test("Requests a JWT and returns the members of `token_introspection`", .shows("RFC 9701 §4 to §8"))
    func accepted() async throws {
        let fixture = EndpointFixture(try response())
        let found = try await fixture.oauth.introspect(token, verifiedBy: verifier(fixture))
        #expect(found.isActive && found.subject == "ada" && found.scope == ["read", "write"])
        #expect(found.claims["token_introspection"] == nil)
        let request = try #require(fixture.transport.requests.first)
        #expect(request.headers["Accept"] == Self.mediaType)
        #expect(request.headers["Authorization"]?.hasPrefix("Basic ") == true)
    }

    @Test("Ignores the other members for an inactive token")
    func inactive() async throws {
        let found = try await introspect(try response(["token_introspection": ["active": false, "sub": "ada"]]))
        #expect(!found.isActive && found.subject == nil && found.claims == ["active": false])
    }

    @Test(
        "Rejects a JWT that breaks a rule of RFC 9701 §5",
        .shows("RFC 9701 §4 to §8"),
        arguments: [
            (["iss": nil], .protocolViolation, .missingClaim), (["aud": nil], .protocolViolation, .missingClaim),
            (["iat": nil], .protocolViolation, .missingClaim),
            (["iss": "https://evil.example"], .issuerMismatch, .issuerMismatch),
            (["aud": "another"], .protocolViolation, .audienceMismatch),
            (["iat": 1_000_000_061], .protocolViolation, .issuedInFuture),
            (["iat": 999_999_000], .protocolViolation, .tooOld), (["sub": "ada"], .protocolViolation, .prohibitedClaim),
            (["exp": 2_000_000_000], .protocolViolation, .prohibitedClaim),
            (["token_introspection": nil], .protocolViolation, .malformedClaim),
            (["token_introspection": "active"], .protocolViolation, .malformedClaim),
            (["token_introspection": [true]], .protocolViolation, .malformedClaim),
            (["token_introspection": ["active": "true"]], .protocolViolation, nil),
            (["token_introspection": ["sub": "ada"]], .protocolViolation, nil),
        ] as [([String: JSONValue?], OAuth2Error.Code, TokenError.Code?)]
    )
    func claims(changes: [String: JSONValue?], code: OAuth2Error.Code, cause: TokenError.Code?) async throws {
        let step = try response(changes)
        let error = await failure { try await introspect(step) }
        #expect((error?.code, (error?.cause as? TokenError)?.code) == (code, cause))
    }

    private func introspect(_ step: MockTransport.Step) async throws -> IntrospectedToken {
        let fixture = EndpointFixture(step)
        return try await fixture.oauth.introspect(token, verifiedBy: verifier(fixture))
    }

    @Test(
        "Rejects another type of JWT",
        .shows("RFC 9701 §4 to §8"),
        arguments: [("JWT", false), ("at+jwt", false), ("application/Token-Introspection+JWT", true)]
    )
    func types(type: String, isAccepted: Bool) async throws {
        let step = try response(type: type)
        let code = await failureCode { try await introspect(step) }
        #expect(code == (isAccepted ? nil : .protocolViolation))
    }

    @Test("The error of a JWT doesn't show what it contains")
    func quotes() async throws {
        let step = try response(type: EndpointFixture.token)
        let error = try #require(await failure { try await introspect(step) })
        for shown in EndpointFixture.texts(of: error) { #expect(!shown.contains(EndpointFixture.token)) }
        let cause = try #require(error.cause as? TokenError)
        #expect(cause.code == .typeMismatch)
        #expect(cause.message.hasPrefix("“typ” of the header is “…”, but the policy expects"))
        #expect(error.serverText?.expose { $0.contains(EndpointFixture.token) } == true)
    }

    @Test("Rejects another key, another algorithm and a missing signature")
    func signatures() async throws {
        let unsigned = try UnsecuredTokenText.make(claims(changing: [:]), type: "token-introspection+jwt")
        let steps = [
            try response(key: SigningKey.generate(.es256)), try response(key: SigningKey.generate(.es384)),
            .text(unsigned, headers: ["Content-Type": Self.mediaType]),
        ]
        for (step, code) in zip(steps, [TokenError.Code.signatureInvalid, .algorithmMismatch, .algorithmMismatch]) {
            #expect(await flaw { try await introspect(step) } == code)
        }
    }

    @Test("Rejects JSON if a JWT is required, and a JWT if no verifier can check it")
    func downgrade() async throws {
        #expect(await failureCode { try await introspect(.json(#"{"active":true}"#)) } == .protocolViolation)
        let plain = EndpointFixture(try response())
        let error = await failure { try await plain.oauth.introspect(token) }
        #expect(error?.code == .protocolViolation && error?.message.contains("verifiedBy") == true)
    }

    @Test("Accepts another name of the resource server")
    func audience() async throws {
        let fixture = EndpointFixture(try response(["aud": "https://rs.example/resource"]))
        var verifier = verifier(fixture)
        verifier.audience = "https://rs.example/resource"
        let found = try await fixture.oauth.introspect(token, verifiedBy: verifier)
        #expect(found.isActive)
    }

    @Test("Errors don't repeat what was sent")
    func secrecy() async throws {
        let echo: JSONObject = ["active": .string(EndpointFixture.token)]
        for changes in [["token_introspection": JSONValue.object(echo)], ["iss": .string(EndpointFixture.secret)]] {
            let step = try response(changes)
            let error = try #require(await failure { try await introspect(step) })
            for text in EndpointFixture.texts(of: error) {
                #expect(!text.contains(EndpointFixture.token) && !text.contains(EndpointFixture.secret))
            }
        }
    }

    @Test(
        "A cache verifies responses, and the response itself isn't an access token",
        .shows("E22", "RFC 9701 §4 to §8", "RFC 8725bis §3.12")
    )
    func resourceServer() async throws {
        let members: JSONObject = ["active": true, "sub": "ada", "aud": .string(GuardedAPI.audience)]
        let signed = try response(["token_introspection": .object(members)])
        let fixture = EndpointFixture(signed, .json(#"{"active":true}"#))
        let cache = CachedTokenIntrospection(
            fixture.oauth,
            verifiedBy: verifier(fixture),
            lifetime: .zero,
            timeSource: fixture.time.timeSource
        )
        let verifier = AccessTokenVerifier(cache, issuer: "https://id.example").at(fixture.time)
        let request = ProtectedRequest(
            method: .get,
            url: GuardedAPI.url,
            headers: ["Authorization": "Bearer \(EndpointFixture.token)"]
        )
        #expect(try await verifier.verify(request).subject == "ada")
        // The second response isn't signed.
        await #expect(throws: AccessRefusal(.undecided, "")) { try await verifier.verify(request) }

        // RFC 9701 §8.1: a response with the claims of an access token, presented as one.
        var api = try GuardedAPI()
        api.verifier.policy.type = .absentOrJWT
        let confused = try api.token(type: "token-introspection+jwt")
        let refusal = await #expect(throws: AccessRefusal(.invalidToken, "")) { try await api.verify(bearer: confused) }
        #expect((refusal?.cause as? TokenError)?.code == .typeMismatch)
    }

    private func verifier(_ fixture: EndpointFixture) -> SignedResponseVerifier {
        var verifier = SignedResponseVerifier(keys: .key(key.verificationKey))
        verifier.currentDate = fixture.time.timeSource.date
        return verifier
    }

    private func claims(changing changes: [String: JSONValue?]) -> JSONObject {
        var claims: JSONObject = [
            "iss": "https://id.example", "aud": "api", "iat": 1_000_000_000,
            "token_introspection": ["active": true, "sub": "ada", "scope": "read write"],
        ]
        for (name, value) in changes { claims[name] = value }
        return claims
    }

    private func response(
        _ changes: [String: JSONValue?] = [:],
        type: String = "token-introspection+jwt",
        key: SigningKey? = nil
    ) throws -> MockTransport.Step {
        let token = try JWTGenerator(
            header: ["typ": .string(type)],
            payload: claims(changing: changes),
            signingService: key ?? self.key
        ).token()
        return .text(token, headers: ["Content-Type": "\(Self.mediaType); charset=utf-8"])
    }
}

/// A JWT without a signature.
enum UnsecuredTokenText {
    static func make(_ claims: JSONObject, type: String) throws -> String {
        let header: JSONObject = ["alg": "none", "typ": .string(type)]
        return [header, claims].map { Base64URLText.encode($0.serializedData()) }.joined(separator: ".") + "."
    }
}
