import Foundation
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Authorization requests", .computing)
struct AuthorizationRequestTests {
    static let server = {
        var server = OAuth2Fixture.server
        server.authorizationEndpoint = URL(string: "https://as.example/authorize")
        return server
    }()

    @Test("Computes the challenge of RFC 7636 Appendix B", .shows("RFC 7636", "FAPI 2.0 §5.3.3.2 (3)"))
    func challenge() throws {
        let verifier = try CodeVerifier(Secret("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))
        #expect(try verifier.challenge() == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    @Test(
        "Requires 43 to 128 unreserved characters in a code verifier",
        arguments: [(42, false), (43, true), (128, true), (129, false)]
    )
    func verifierLength(count: Int, isWellFormed: Bool) {
        let text = String(repeating: "a", count: count)
        #expect(((try? CodeVerifier(Secret(text))) != nil) == isWellFormed)
        #expect(throws: OAuth2Error(.malformedRequest, "")) { try CodeVerifier(Secret("+" + text.dropFirst())) }
    }

    @Test(
        "Generates a new verifier, state and nonce of 256 bits for each request",
        .shows("RFC 7636", "FAPI 2.0 §5.3.3.2 (4)", "FAPI 2.0 §5.3.3.2 (7)", "FAPI 2.0 §5.4.1 (4)")
    )
    func randomness() throws {
        let requests = try (1...50).map { _ in try request(scope: "openid") }
        #expect(Set(requests.map(\.state)).count == 50)
        #expect(Set(requests.compactMap(\.nonce)).count == 50)
        #expect(Set(requests.map(\.codeVerifier)).count == 50)
        for request in requests {
            #expect((request.state.count, request.nonce?.count) == (43, 43))
            #expect(request.codeVerifier.expose { $0.count } == 43)
            #expect(request.state != request.nonce)
        }
    }

    @Test("Has no direct URL for a server that requires pushed requests")
    func pushedOnly() async throws {
        let metadata: JSONObject = [
            "issuer": "https://as.example", "token_endpoint": "https://as.example/token",
            "authorization_endpoint": "https://as.example/authorize", "require_pushed_authorization_requests": true,
        ]
        let server = try AuthorizationServer(metadata: metadata, issuer: "https://as.example")
        let request = try request(scope: "openid")
        #expect(throws: OAuth2Error(.malformedRequest, "")) { try request.url(at: server) }
        let signer = try ES256SigningService(key: .generate(.es256))
        let signed = try await SignedAuthorizationRequest(request, for: server, signingService: signer)
        #expect(throws: OAuth2Error(.malformedRequest, "")) { try signed.url(at: server) }
        #expect(throws: Never.self) { try request.url(at: Self.server) }
    }

    @Test("Has no URL at an endpoint with a fragment, which RFC 6749 forbids")
    func fragment() throws {
        var server = Self.server
        server.authorizationEndpoint = URL(string: "https://as.example/authorize#top")
        let error = #expect(throws: OAuth2Error.self) { try request(scope: "openid").url(at: server) }
        #expect(error?.code == .malformedRequest)
        #expect(error?.message == "the URL of the authorization endpoint can't have parameters")
    }

    @Test("The URL has all parameters, encoded, without the verifier")
    func url() throws {
        let verifier = try CodeVerifier()
        let request = try AuthorizationRequest(
            clientID: "reports & co",
            redirectURI: "https://reports.example/callback?a=b",
            scope: "openid read",
            resources: ["https://api.example/a", "urn:b"],
            authorizationDetails: [AuthorizationDetail(type: "payment", members: ["amount": 1])],
            dpopKeyThumbprint: "jkt",
            additionalParameters: ["prompt": "login", "acr_values": "a b"],
            state: "s+1",
            nonce: "n",
            codeVerifier: verifier.value
        )
        let url = try request.url(at: Self.server).absoluteString
        let challenge = try verifier.challenge()
        #expect(
            url
                == "https://as.example/authorize?response_type=code&client_id=reports+%26+co"
                + "&redirect_uri=https%3A%2F%2Freports.example%2Fcallback%3Fa%3Db&state=s%2B1"
                + "&code_challenge=\(challenge)&code_challenge_method=S256&nonce=n&scope=openid+read"
                + "&resource=https%3A%2F%2Fapi.example%2Fa&resource=urn%3Ab"
                + "&authorization_details=%5B%7B%22amount%22%3A1%2C%22type%22%3A%22payment%22%7D%5D"
                + "&dpop_jkt=jkt&acr_values=a+b&prompt=login"
        )
        #expect(!url.contains(verifier.value.expose { $0 }))
    }

    @Test(
        "Keeps the endpoint's query",
        .shows("RFC 9396"),
        arguments: [
            "https://as.example/a": "https://as.example/a?response_type=code&",
            "https://as.example/a?": "https://as.example/a?response_type=code&",
            "https://as.example/a?tenant=1": "https://as.example/a?tenant=1&response_type=code&",
        ]
    )
    func query(endpoint: String, beginning: String) throws {
        var server = OAuth2Fixture.server
        server.authorizationEndpoint = URL(string: endpoint)
        #expect(try request().url(at: server).absoluteString.hasPrefix(beginning))
    }

    @Test("Sends no nonce without openid, and no scope if none is requested")
    func plain() throws {
        let names = try request().parameters.map(\.name)
        #expect(
            names == [
                "response_type", "client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method",
            ]
        )
    }

    @Test("Rejects a server with a missing or insecure endpoint", .shows("FAPI 2.0 §5.2.1 (TLS)"))
    func endpoints() throws {
        #expect(throws: OAuth2Error(.endpointMissing, "")) { try request().url(at: OAuth2Fixture.server) }
        var server = OAuth2Fixture.server
        server.authorizationEndpoint = URL(string: "http://as.example/authorize")
        #expect(throws: OAuth2Error(.insecureTransport, "")) { try request().url(at: server) }
        server.authorizationEndpoint = URL(string: "http://127.0.0.1:8080/authorize")
        #expect(throws: Never.self) { try request().url(at: server) }
    }

    @Test("Rejects malformed parameters when the request is created")
    func malformed() {
        let requests: [() throws -> AuthorizationRequest] = [
            { try AuthorizationRequest(clientID: "a", redirectURI: "/callback") },
            { try AuthorizationRequest(clientID: "a", redirectURI: "https://a.example/#b") },
            { try request(scope: "two  spaces") },
            { try request(scope: "") },
            { try request(scope: "a\nb") },
            { try request(resources: ["/relative"]) },
            { try request(resources: ["https://a.example/#fragment"]) },
            { try request(additional: ["state": "mine"]) },
            { try request(additional: ["scope": "more"]) },
            { try request(additional: ["request_uri": "urn:x"]) },
            { try AuthorizationRequest(clientID: "a", redirectURI: "https://a.example/", state: "") },
        ]
        for request in requests { #expect(throws: OAuth2Error(.malformedRequest, "")) { try request() } }
    }

    // MARK: Responses

    @Test("Turns a response into a grant for one token request")
    func grant() async throws {
        let request = try request()
        let grant = try request.grant(
            from: answer(to: request, "code=c%2B1&iss=https%3A%2F%2Fas.example"),
            of: Self.server
        )
        let form = try #require(try grant.parameters(at: Date()))
        #expect(form.map(\.name) == ["grant_type", "code", "redirect_uri", "code_verifier"])
        #expect(
            form.map(\.value) == [
                "authorization_code", "c+1", "https://reports.example/callback",
                request.codeVerifier.expose { $0 },
            ]
        )
        #expect(try grant.parameters(at: Date()) == nil)
        #expect(!grant.isRepeatable)
    }

    @Test(
        "Each invalid response has its own error",
        .shows("RFC 6749 §4.1"),
        arguments: [
            ("code=c", OAuth2Error.Code?.none), ("code=c&extra=1&extra=2", nil),
            ("code=c&iss=https%3A%2F%2Fas.example", nil), ("code=c&iss=https%3A%2F%2Fevil.example", .issuerMismatch),
            ("code=c&iss=https%3A%2F%2Fas.example%2F", .issuerMismatch),
            ("error=access_denied", .authorizationDenied), ("error=server_error", .serverTransient),
            ("error=temporarily_unavailable", .serverTransient), ("error=invalid_scope", .requestRejected),
            ("error=login_required", .requestRejected), ("", .protocolViolation), ("code=", .protocolViolation),
            ("code=a&code=b", .protocolViolation), ("code=a&iss=https%3A%2F%2Fas.example&iss=x", .protocolViolation),
            ("code=a&access_token=t", .protocolViolation), ("code=a&id_token=t", .protocolViolation),
            ("code=a&response=t", .protocolViolation), ("code=%FF", .protocolViolation),
            ("code=" + String(repeating: "a", count: 40_000), .protocolViolation),
        ]
    )
    func answers(query: String, code: OAuth2Error.Code?) async throws {
        let request = try request()
        let url = try answer(to: request, query)
        let error = await failure { try request.grant(from: url, of: Self.server) }
        #expect(error?.code == code)
        #expect(error.map { "\($0)".contains(request.state) } != true)
    }

    @Test(
        "Rejects responses to another request or at another redirect URI",
        .shows("FAPI 2.0 §5.3.3.1 (12)"),
        arguments: ["code=c", "error=access_denied"]
    )
    func otherRequests(query: String) async throws {
        let request = try request()
        let place = "https://reports.example/callback"
        let own = "state=\(request.state)"
        let rows: [(String, OAuth2Error.Code)] =
            [
                ("\(place)?\(query)", .stateMismatch), ("\(place)?\(query)&state=", .stateMismatch),
                ("\(place)?\(query)&state=\(try self.request().state)", .stateMismatch),
                ("\(place)?\(query)&\(own)x", .stateMismatch), ("\(place)?\(query)&\(own)&\(own)", .protocolViolation),
            ]
            + [
                "https://reports.example/callback2", "https://reports.example/", "http://reports.example/callback",
                "https://evil.example/callback", "https://reports.example:444/callback",
            ].map { ("\($0)?\(query)&\(own)", .protocolViolation) }
        for (text, code) in rows {
            let url = try #require(URL(string: text))
            #expect(await failureCode { try request.grant(from: url, of: Self.server) } == code, "\(text)")
        }
        let twice = "\(query)&\(own)&\(own)"
        #expect(throws: OAuth2Error(.protocolViolation, "")) { try request.grant(fromQuery: twice, of: Self.server) }
    }

    @Test(
        "Rejects a response, even an error, without iss from a server that always sends it",
        .shows("RFC 9207", "FAPI 2.0 §5.3.3.2 (5)"),
        arguments: ["code=c", "error=access_denied"]
    )
    func missingIssuer(query: String) throws {
        let metadata: JSONObject = [
            "issuer": "https://as.example", "token_endpoint": "https://as.example/token",
            "authorization_response_iss_parameter_supported": true,
        ]
        let server = try AuthorizationServer(metadata: metadata, issuer: "https://as.example")
        let request = try request()
        #expect(throws: OAuth2Error(.issuerMismatch, "")) {
            try request.grant(from: answer(to: request, query), of: server)
        }
    }

    @Test("Compares redirect URIs without their queries, and treats an empty path as a slash")
    func normalisation() throws {
        for redirectURI in ["https://reports.example", "https://reports.example/?tenant=1"] {
            let request = try AuthorizationRequest(clientID: "a", redirectURI: redirectURI)
            let url = try #require(URL(string: "https://reports.example/?tenant=1&code=c&state=\(request.state)"))
            #expect(throws: Never.self) { try request.grant(from: url, of: Self.server) }
        }
    }

    @Test("The error has the server's description in one line, and doesn't show it")
    func words() throws {
        let request = try request()
        let query =
            "error=invalid_scope&error_description=no%0Asuch+\(request.state)&error_uri=https%3A%2F%2Fas.example%2Fhelp"
        let error = #expect(throws: OAuth2Error.self) {
            try request.grant(from: answer(to: request, query), of: Self.server)
        }
        let text = "error_description: no?such \(request.state); error_uri: https://as.example/help"
        #expect((error?.serverCode, error?.serverText) == ("invalid_scope", Secret(text)))
        #expect(
            error?.description == "requestRejected: the authorization endpoint rejected the request [invalid_scope]"
        )
    }

    // MARK: Helpers

    private func request(
        scope: String? = nil,
        resources: [String] = [],
        additional: [String: String] = [:]
    ) throws -> AuthorizationRequest {
        try AuthorizationRequest(
            clientID: "reports",
            redirectURI: "https://reports.example/callback",
            scope: scope,
            resources: resources,
            additionalParameters: additional
        )
    }

    private func answer(to request: AuthorizationRequest, _ query: String) throws -> URL {
        try #require(URL(string: "https://reports.example/callback?\(query)&state=\(request.state)"))
    }
}
