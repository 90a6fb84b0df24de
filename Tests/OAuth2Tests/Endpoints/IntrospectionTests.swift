import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Introspection and revocation", .limitedConcurrency)
struct IntrospectionTests {
    private let token = Secret(EndpointFixture.token)

    @Test("Reads the example of RFC 7662 §2.2", .shows("O12", "RFC 7662 §2"))
    func example() async throws {
        let text = """
            {"active": true, "client_id": "l238j323ds-23ij4", "username": "jdoe", "scope": "read write dolphin",
             "sub": "Z5O3upPC88QrAjx00dis", "aud": "https://protected.example.net/resource",
             "iss": "https://server.example.com/", "exp": 1419356238, "iat": 1419350238,
             "extension_field": "twenty-seven"}
            """
        let found = try await EndpointFixture(.json(text)).oauth.introspect(token)
        #expect(found.isActive)
        #expect((found.clientID, found.userName) == ("l238j323ds-23ij4", "jdoe"))
        #expect((found.subject, found.issuer) == ("Z5O3upPC88QrAjx00dis", "https://server.example.com/"))
        #expect(found.scope == ["read", "write", "dolphin"])
        #expect(found.audience == ["https://protected.example.net/resource"])
        #expect(found.expiration == Date(timeIntervalSince1970: 1_419_356_238))
        #expect(found.issuedAt == Date(timeIntervalSince1970: 1_419_350_238))
        #expect(found.claims["extension_field"] == "twenty-seven")
        #expect(found.notBefore == nil && found.jwtID == nil && found.tokenType == nil && found.confirmation == nil)
    }

    @Test("Posts forms with the token, the hint and the client's authentication", .shows("O12", "RFC 7009 §2"))
    func request() async throws {
        let answer = MockTransport.Step.json(#"{"active":false}"#)
        let fixture = EndpointFixture(answer, answer, .status(200), .text("ok"))
        for kind in [nil, TokenType.refreshToken] {
            _ = try await fixture.oauth.introspect(token, kind: kind)
        }
        for kind in [nil, TokenType.refreshToken] { try await fixture.oauth.revoke(token, kind: kind) }
        let requests = fixture.transport.requests
        #expect(requests.map(\.url.path) == ["/introspect", "/introspect", "/revoke", "/revoke"])
        #expect(requests.allSatisfy { $0.method == .post && $0.headers["Authorization"]?.hasPrefix("Basic ") == true })
        #expect(requests[0].headers["Accept"] == "application/json")
        let form = "token=\(EndpointFixture.token)"
        let hinted = "\(form)&token_type_hint=refresh_token"
        #expect(fixture.forms == [form, hinted, form, hinted])
    }

    @Test("Ignores the other members for an inactive token", .shows("G10", "RFC 7662 §2"))
    func inactive() async throws {
        let found = try await EndpointFixture(.json(#"{"active":false,"sub":"ada","scope":7}"#)).oauth.introspect(token)
        #expect(!found.isActive)
        #expect(found.subject == nil && found.scope.isEmpty && found.claims == ["active": false])
    }

    @Test("Reads several audiences, a confirmation and fractional times")
    func more() async throws {
        let text = #"{"active":true,"aud":["a","b"],"cnf":{"jkt":"x"},"nbf":1.5,"token_type":"DPoP","exp":null}"#
        let found = try await EndpointFixture(.json(text)).oauth.introspect(token)
        #expect((found.audience, found.confirmation, found.tokenType) == (["a", "b"], ["jkt": "x"], "DPoP"))
        #expect((found.notBefore, found.expiration) == (Date(timeIntervalSince1970: 1.5), nil))
    }

    @Test(
        "Rejects a member of the wrong type",
        arguments: [
            "{}", #"{"active":"true"}"#, #"{"active":1}"#, #"{"active":null}"#, #"{"active":true,"active":false}"#,
            #"{"active":true,"scope":["a"]}"#, #"{"active":true,"exp":"soon"}"#, #"{"active":true,"exp":1e999}"#,
            #"{"active":true,"aud":[7]}"#, #"{"active":true,"aud":{}}"#, #"{"active":true,"sub":7}"#,
            #"{"active":true,"cnf":"x"}"#, #"{"active":true,"client_id":[]}"#,
        ]
    )
    func wrongTypes(json: String) async {
        let fixture = EndpointFixture(.json(json))
        #expect(await failureCode { try await fixture.oauth.introspect(token) } == .protocolViolation)
    }

    @Test("Retries a temporary failure with a new assertion")
    func repetition() async throws {
        let key = try SigningKey.generate(.es256)
        let fixture = EndpointFixture(
            .status(503),
            .json(#"{"active":false}"#),
            attempts: 2,
            clientAuthentication: .privateKeyJWT(clientID: "api", signingService: try ES256SigningService(key: key))
        )
        _ = try await fixture.oauth.introspect(token)
        #expect(Set(fixture.forms).count == 2)
    }

    @Test("Corrects a wrong clock once")
    func clock() async throws {
        let key = try SigningKey.generate(.es256)
        let late: HTTPHeaders = ["Date": "Sun, 09 Sep 2001 02:46:40 GMT"]
        let refusal = MockTransport.Step.json(#"{"error":"invalid_client"}"#, status: 401, headers: late)
        let fixture = EndpointFixture(
            refusal,
            .json(#"{"active":false}"#, headers: late),
            clientAuthentication: .privateKeyJWT(clientID: "api", signingService: try ES256SigningService(key: key))
        )
        _ = try await fixture.oauth.introspect(token)
        let times = try fixture.forms.map { form in
            let assertion = FormURLEncoded.decode(form)?.first { $0.name == "client_assertion" }?.value
            return try UnverifiedToken(try #require(assertion)).unverifiedClaims["iat"]?.number?.integer
        }
        #expect(times == [1_000_000_000, 1_000_003_600])
    }

    @Test("Reports cancellation to the caller")
    func cancellation() async throws {
        let gate = ResponseGate()
        let fixture = EndpointFixture(.json(#"{"active":true}"#).gated(by: gate))
        let call = Task { try await fixture.oauth.introspect(token) }
        try await gate.waitForWaiters(count: 1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    // MARK: Revocation

    @Test("Reports an unsupported kind of token", .shows("RFC 7009 §2"))
    func unsupportedKind() async throws {
        let error = await failure { try await EndpointFixture(.error("unsupported_token_type")).oauth.revoke(token) }
        #expect((error?.code, error?.serverCode) == (.requestRejected, "unsupported_token_type"))
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
    func revocationStatuses(status: Int) async throws {
        let error = await failure { try await EndpointFixture(.status(status)).oauth.revoke(token) }
        #expect((error?.code, error?.status) == (.protocolViolation, status))
    }
}
