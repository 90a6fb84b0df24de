import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Introspection", .limitedConcurrency)
struct IntrospectionTests {
    private let token = Secret(EndpointFixture.token)

    @Test("Reads the example of RFC 7662 §2.2")
    func example() async throws {
        let fixture = EndpointFixture(
            .json(
                """
                {"active": true, "client_id": "l238j323ds-23ij4", "username": "jdoe", "scope": "read write dolphin",
                 "sub": "Z5O3upPC88QrAjx00dis", "aud": "https://protected.example.net/resource",
                 "iss": "https://server.example.com/", "exp": 1419356238, "iat": 1419350238,
                 "extension_field": "twenty-seven"}
                """
            )
        )
        let found = try await fixture.oauth.introspect(token)
        #expect(found.isActive)
        #expect(found.clientID == "l238j323ds-23ij4")
        #expect(found.userName == "jdoe")
        #expect(found.scope == ["read", "write", "dolphin"])
        #expect(found.subject == "Z5O3upPC88QrAjx00dis")
        #expect(found.audience == ["https://protected.example.net/resource"])
        #expect(found.issuer == "https://server.example.com/")
        #expect(found.expiration == Date(timeIntervalSince1970: 1_419_356_238))
        #expect(found.issuedAt == Date(timeIntervalSince1970: 1_419_350_238))
        #expect(found.claims["extension_field"] == "twenty-seven")
        #expect(found.notBefore == nil && found.jwtID == nil && found.tokenType == nil && found.confirmation == nil)
    }

    @Test("Posts a form with the token, the hint and the client's authentication")
    func request() async throws {
        let fixture = EndpointFixture(.json(#"{"active":false}"#), .json(#"{"active":false}"#))
        _ = try await fixture.oauth.introspect(token)
        _ = try await fixture.oauth.introspect(token, kind: .refreshToken)
        let request = try #require(fixture.transport.requests.first)
        #expect(request.method == .post)
        #expect(request.url.absoluteString == "https://id.example/introspect")
        #expect(request.headers["Authorization"]?.hasPrefix("Basic ") == true)
        #expect(request.headers["Accept"] == "application/json")
        #expect(
            fixture.forms == [
                "token=\(EndpointFixture.token)", "token=\(EndpointFixture.token)&token_type_hint=refresh_token",
            ]
        )
    }

    @Test("Ignores the other members for an inactive token")
    func inactive() async throws {
        let found = try await EndpointFixture(.json(#"{"active":false,"sub":"ada","scope":7}"#)).oauth.introspect(token)
        #expect(!found.isActive)
        #expect(found.subject == nil && found.scope.isEmpty && found.claims == ["active": false])
    }

    @Test("Reads several audiences, a confirmation and fractional times")
    func more() async throws {
        let text = #"{"active":true,"aud":["a","b"],"cnf":{"jkt":"x"},"nbf":1.5,"token_type":"DPoP","exp":null}"#
        let found = try await EndpointFixture(.json(text)).oauth.introspect(token)
        #expect(found.audience == ["a", "b"])
        #expect(found.confirmation == ["jkt": "x"])
        #expect(found.notBefore == Date(timeIntervalSince1970: 1.5))
        #expect(found.tokenType == "DPoP")
        #expect(found.expiration == nil)
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
        #expect(await failureCode { _ = try await fixture.oauth.introspect(token) } == .protocolViolation)
    }

    @Test("Each invalid response has its error code, without anything that was sent", arguments: badAnswers)
    func badAnswer(name: String, step: MockTransport.Step, code: OAuth2Error.Code) async throws {
        let fixture = EndpointFixture(step)
        let error = try #require(await #expect(throws: OAuth2Error.self) { try await fixture.oauth.introspect(token) })
        #expect(error.code == code)
        for text in EndpointFixture.texts(of: error) {
            #expect(!text.contains(EndpointFixture.token) && !text.contains(EndpointFixture.secret))
        }
        #expect(fixture.transport.requests.count == 1)
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

    @Test("Sends no request to a missing or insecure endpoint")
    func noEndpoint() async {
        let missing = EndpointFixture { $0.introspectionEndpoint = nil }
        #expect(await failureCode { _ = try await missing.oauth.introspect(token) } == .endpointMissing)
        let insecure = EndpointFixture { $0.introspectionEndpoint = URL(string: "http://id.example/introspect") }
        #expect(await failureCode { _ = try await insecure.oauth.introspect(token) } == .insecureTransport)
        #expect(insecure.transport.requests.isEmpty)
    }

    @Test("A client with a certificate uses the alias")
    func alias() async throws {
        let fixture = EndpointFixture(.json(#"{"active":false}"#)) { server in
            server.mutualTLSAliases["introspection_endpoint"] = URL(string: "https://mtls.example/introspect")
            server = server.usingMutualTLSAliases()
        }
        _ = try await fixture.oauth.introspect(token)
        #expect(fixture.transport.requests.map(\.url.host) == ["mtls.example"])
    }

    @Test("Reports cancellation to the caller")
    func cancellation() async throws {
        let gate = ResponseGate()
        let fixture = EndpointFixture(.json(#"{"active":true}"#).gated(by: gate))
        let call = Task { try await fixture.oauth.introspect(token) }
        try await gate.waitForWaiters(count: 1)
        call.cancel()
        let error = await #expect(throws: NetworkError.self) { try await call.value }
        #expect(error?.code == .cancelled)
    }
}
