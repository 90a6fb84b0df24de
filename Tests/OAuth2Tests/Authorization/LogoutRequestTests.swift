import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("LogoutRequest", .limitedConcurrency)
struct LogoutRequestTests {
    private static let redirectURI = "https://shop.example/signed-out"

    private var server: AuthorizationServer {
        var server = EndpointFixture.server
        server.endSessionEndpoint = URL(string: "https://id.example/logout?tenant=1")
        return server
    }

    @Test(
        "Builds the URL of the end session endpoint with all parameters",
        .shows("OpenID Connect RP-Initiated Logout 1.0 §2, §3")
    )
    func url() throws {
        let request = try LogoutRequest(
            clientID: "shop",
            idToken: Secret("eyJ.a.b"),
            redirectURI: Self.redirectURI,
            logoutHint: "ada@example.com",
            uiLocales: ["de", "en"],
            state: "s&1"
        )
        #expect(
            try request.url(at: server).absoluteString == "https://id.example/logout?tenant=1&id_token_hint=eyJ.a.b"
                + "&logout_hint=ada%40example.com&client_id=shop"
                + "&post_logout_redirect_uri=https%3A%2F%2Fshop.example%2Fsigned-out&state=s%261&ui_locales=de+en"
        )
        let short = try LogoutRequest(clientID: "shop")
        #expect(try short.url(at: server).absoluteString == "https://id.example/logout?tenant=1&client_id=shop")
        #expect(short.state == nil)
    }

    @Test("Each request has its own state, and shows neither it nor the ID token")
    func secrecy() throws {
        let requests = try (1...2).map { _ in
            try LogoutRequest(clientID: "shop", idToken: Secret("S3cret"), redirectURI: Self.redirectURI)
        }
        #expect(requests[0].state != requests[1].state)
        #expect(requests.allSatisfy { ($0.state?.utf8.count ?? 0) >= 43 })
        var dumped = ""
        dump(requests[0], to: &dumped)
        for text in [String(describing: requests[0]), String(reflecting: requests[0]), dumped] {
            #expect(!text.contains("S3cret") && !text.contains(requests[0].state ?? ""))
        }
    }

    @Test("The metadata name the endpoint, which must be safe for an ID token")
    func endpoint() throws {
        let request = try LogoutRequest(clientID: "shop")
        let code = { (server: AuthorizationServer) in
            #expect(throws: OAuth2Error.self) { try request.url(at: server) }?.code
        }
        #expect(code(EndpointFixture.server) == .endpointMissing)
        var insecure = server
        insecure.endSessionEndpoint = URL(string: "http://id.example/logout")
        #expect(code(insecure) == .insecureTransport)
        let metadata: JSONObject = [
            "issuer": "https://id.example", "token_endpoint": "https://id.example/token",
            "end_session_endpoint": "https://id.example/end",
        ]
        let discovered = try AuthorizationServer(metadata: metadata, issuer: "https://id.example")
        #expect(discovered.endSessionEndpoint?.absoluteString == "https://id.example/end")
    }

    @Test("Accepts only the redirect of this request", .shows("G17", "OpenID Connect RP-Initiated Logout 1.0 §2, §3"))
    func redirect() async throws {
        let request = try LogoutRequest(clientID: "shop", redirectURI: Self.redirectURI, state: "right")
        let mismatches = [
            "", "?", "?state=", "?state=wrong", "?state=right&state=right", "?State=right", "#state=right",
        ]
        let rows: [(String, LogoutRequest, OAuth2Error.Code?)] =
            [
                ("\(Self.redirectURI)?state=right", request, nil),
                ("\(Self.redirectURI)?a=b&state=right#c", request, nil),
                ("https://shop.example/other?state=right", request, .protocolViolation),
                ("https://evil.example/signed-out?state=right", request, .protocolViolation),
                ("\(Self.redirectURI)?state=right", try LogoutRequest(clientID: "shop"), .protocolViolation),
                ("\(Self.redirectURI)?state=right&a=%FF", request, .protocolViolation),
            ] + mismatches.map { (Self.redirectURI + $0, request, .stateMismatch) }
        for (text, request, code) in rows {
            let url = try #require(URL(string: text))
            #expect(await failureCode { try request.check(url) } == code, "\(text)")
        }
    }

    @Test(
        "Rejects unusable redirect URIs and states",
        arguments: [("/relative", nil), ("https://shop.example/#a", nil), (Self.redirectURI, ""), (nil, "s")]
            as [(String?, String?)]
    )
    func malformed(redirectURI: String?, state: String?) {
        #expect(throws: OAuth2Error(.malformedRequest, "")) {
            try LogoutRequest(clientID: "shop", redirectURI: redirectURI, state: state)
        }
    }

    @Test("The mock server redirects to registered URIs of the client that the ID token names", .shows("O46"))
    func mockServer() async throws {
        var client = MockAuthorizationServer.Client(id: "shop", authentication: .none)
        client.logoutRedirectURIs = [Self.redirectURI]
        let other = MockAuthorizationServer.Client(id: "other", authentication: .none)
        let mock = try MockAuthorizationServer.start(clients: [client, other])
        let past: [String: JSONValue?] = ["iat": 1_000, "exp": 1_300]
        for claims in [[:], past] {
            let idToken = Secret(try mock.issueIDToken(clientID: "shop", subject: "ada", claims: claims))
            let request = try LogoutRequest(clientID: "shop", idToken: idToken, redirectURI: Self.redirectURI)
            try request.check(try await mock.visit(try request.url(at: mock.metadata)))
        }
        let idToken = try mock.issueIDToken(clientID: "other", subject: "ada")
        let forged = try SigningKey.generate(.es256).sign(RegisteredClaims(issuer: mock.metadata.issuer))
        for (hint, uri) in [
            (nil, "https://shop.example/other"), (idToken, Self.redirectURI), (forged, Self.redirectURI),
        ] {
            let request = try LogoutRequest(clientID: "shop", idToken: hint.map { Secret($0) }, redirectURI: uri)
            let error = await #expect(throws: ServerError.self) {
                try await mock.visit(try request.url(at: mock.metadata))
            }
            #expect(error?.errorCode == 400)
        }
        await mock.stop()
    }

    @Test("Verifies the mock server's logout tokens with its published keys, once", .shows("O46"))
    func backChannel() async throws {
        let mock = try MockAuthorizationServer.start()
        let verifier = RemoteJWTVerifier(
            keys: .url(try #require(mock.metadata.keySetURL)),
            policy: .logoutToken(issuer: mock.metadata.issuer, clientID: "shop")
        )
        let cache = InMemoryReplayCache()
        let text = try mock.issueLogoutToken(clientID: "shop", subject: "ada", sessionID: "s1")
        let token = try await verifier.verify(text, onceIn: cache)
        #expect((token.registered.subject, token.claims["sid"]) == ("ada", "s1"))
        await #expect(throws: TokenError(.replayed, "")) { try await verifier.verify(text, onceIn: cache) }
        let idToken = try mock.issueIDToken(clientID: "shop", subject: "ada", nonce: "n")
        await #expect(throws: TokenError.self) { try await verifier.verify(idToken, onceIn: cache) }
        await mock.stop()
    }
}
