import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@Suite("Client secrets, none and mutual TLS", .limitedConcurrency)
struct OtherAuthenticationTests {
    private let secret = String(repeating: "s3cret ", count: 5)

    @Test("Each method sends what the server needs, in the form", .shows("O7", "RFC 6749 §2.3.1 (post, none)"))
    func forms() async throws {
        let post = StandardClientAuthentication.clientSecretPost(clientID: "a", secret: Secret("b+c"))
        let both = ["client_id": "a", "client_secret": "b+c"]
        #expect(try await form(.none(clientID: "a")) == ["client_id": "a"])
        #expect(try await form(.none(clientID: "a", sendsClientID: false)).isEmpty)
        #expect(try await form(post) == both)
        #expect(try await form(.tlsClientAuth(clientID: "a")) == ["client_id": "a"])
        #expect(try await form(StandardClientAuthentication.mutualTLS(post)) == both)
    }

    @Test("none sends nothing to a server that knows the client by its grant", .shows("O42"))
    func anonymousClient() async throws {
        let fixture = EndpointFixture(
            .exchanged("t"),
            clientAuthentication: .none(clientID: "a", sendsClientID: false)
        )
        let subject = StaticTokenSource(AccessToken(value: Secret("subject"), requested: .now))
        let exchange = TokenExchangeGrant(subject: subject, subjectTokenType: .jwt, identifier: "job")
        _ = try await fixture.oauth.tokens(for: exchange)
        #expect(Set(fixture.transport.forms[0].keys) == ["grant_type", "subject_token", "subject_token_type"])
        #expect(fixture.transport.requests[0].headers["Authorization"] == nil)
    }

    @Test(
        "client_secret_basic form-encodes the identifier and the secret, as RFC 6749 §2.3.1, §4.1.3 and B show",
        .shows("G5", "O6", "RFC 6749 §2.3.1 (basic)", "RFC 6749 B")
    )
    func basic() async throws {
        let vectors = try Vector.object("rfc6749-form-encoding")
        let every = try #require(vectors["appendix_b"] as? [String: Any])
        let value = try #require(every["value_utf8"] as? String)
        let encoded = try #require(every["form_encoded"] as? String)
        var rows = [
            (
                "1PpG/Q 1", "z/tZ9VwFZqApmIQ+ZH1I5pLk/uB4ud:X2/8bL+wfFTt1rFw=",
                "Basic MVBwRyUyRlErMTp6JTJGdFo5VndGWnFBcG1JUSUyQlpIMUk1cExrJTJGdUI0dWQlM0FYMiUyRjhiTCUyQndmRlR0MXJGdyUzRA=="
            ), (value, value, "Basic \(Data("\(encoded):\(encoded)".utf8).base64EncodedString())"),
        ]
        for example in ["basic_auth", "basic_auth_2"] {
            let vector = try #require(vectors[example] as? [String: String])
            rows.append(
                (try #require(vector["client_id"]), try #require(vector["client_secret"]), vector["header"] ?? "")
            )
        }
        for (id, secret, header) in rows {
            var request = TokenRequest(server: OAuth2Fixture.server, form: [("grant_type", "client_credentials")])
            let basic = StandardClientAuthentication.clientSecretBasic(clientID: id, secret: Secret(secret))
            try await basic.authenticate(&request, at: Self.date)
            #expect(request.headers == ["Authorization": header], "\(id)")
            #expect(request.form.map(\.name) == ["grant_type"])
        }
    }

    @Test("client_secret_basic sends raw values to servers that don't decode them, but no identifier with a colon")
    func rawBasic() async throws {
        var request = TokenRequest(server: OAuth2Fixture.server, form: [])
        let raw = StandardClientAuthentication.clientSecretBasic(
            clientID: "a b",
            secret: Secret("c:d+/é"),
            encoding: .raw
        )
        try await raw.authenticate(&request, at: Self.date)
        #expect(request.headers["Authorization"] == "Basic \(Data("a b:c:d+/é".utf8).base64EncodedString())")
        let colon = StandardClientAuthentication.clientSecretBasic(clientID: "a:b", secret: Secret("c"), encoding: .raw)
        await #expect(throws: OAuth2Error(.assertionFailed, "")) { try await form(colon) }
    }

    @Test(
        "The error of a rejected client names the other encoding only if it makes a difference",
        arguments: [
            ("a", "b c", StandardClientAuthentication.Encoding.form, "raw"), ("a/b", "c", .form, "raw"),
            ("a", "b+c", .raw, "form"),
            ("a", "b", .form, nil), ("a", "b", .raw, nil), ("a:b", "c d", .form, nil),
        ] as [(String, String, StandardClientAuthentication.Encoding, String?)]
    )
    func otherEncoding(
        id: String,
        secret: String,
        encoding: StandardClientAuthentication.Encoding,
        other: String?
    ) async throws {
        let basic = StandardClientAuthentication.clientSecretBasic(
            clientID: id,
            secret: Secret(secret),
            encoding: encoding
        )
        for authentication in [basic, StandardClientAuthentication.mutualTLS(basic)] as [any ClientAuthentication] {
            let fixture = OAuth2Fixture(steps: [.error("invalid_client"), .error("invalid_scope")])
            let authenticator = fixture.authenticator(clientAuthentication: authentication)
            let error = try #require(await failure { try await authenticator.text() })
            #expect(error.code == .invalidClient)
            #expect(error.message.contains("`encoding: .") == (other != nil))
            if let other {
                let setting = "`encoding: .\(other)` (jwt token --basic-encoding \(other))"
                #expect(error.message.contains(setting))
            }
            if secret.utf8.count > 1 { #expect(!error.message.contains(secret)) }
            fixture.time.advance(by: .seconds(60))
            let unrelated = try #require(await failure { try await authenticator.text() })
            #expect(unrelated.code == .requestRejected && !unrelated.message.contains("Encoding"))
        }
    }

    @Test("Introspection names the other encoding, too")
    func otherEncodingOfIntrospection() async throws {
        let transport = MockTransport { _ in .init(status: 401, body: Data(#"{"error":"invalid_client"}"#.utf8)) }
        var server = OAuth2Fixture.server
        server.introspectionEndpoint = URL(string: "https://as.example/introspect")
        let client = OAuth2Client(
            server: server,
            clientAuthentication: .clientSecretBasic(clientID: "a", secret: Secret("b c")),
            client: NetworkClient(transport: transport),
            timing: OAuth2Timing(attempts: 1)
        )
        let error = try #require(await failure { try await client.introspect(Secret("t")) })
        #expect(error.code == .invalidClient)
        #expect(error.message.contains("`encoding: .raw`"))
    }

    @Test(
        "client_secret_jwt signs with the secret's bytes and never sends it",
        .shows("O7"),
        arguments: ["HS256", "HS384", "HS512"]
    )
    func secretJWT(name: String) async throws {
        let algorithm = try #require(JWSAlgorithm(rawValue: name))
        let secret = String(repeating: "é", count: 32)
        let authentication = try StandardClientAuthentication.clientSecretJWT(
            clientID: "a",
            secret: Secret(secret),
            algorithm: algorithm
        )
        #expect(authentication.usesAssertion)
        let form = try await form(authentication)
        #expect(Set(form.keys) == ["client_id", "client_assertion_type", "client_assertion"])
        let key = try SigningKey(secret: secret.utf8, algorithm: algorithm).verificationKey
        var policy = ValidationPolicy(issuer: "a", subject: "a", currentDate: { Self.date })
        policy.audience = .only("https://as.example")
        policy.type = "client-authentication+jwt"
        let token = try JWTVerifier(key: key, policy: policy).verify(try #require(form["client_assertion"]))
        #expect(token.claims["exp"] == 1_700_000_060)
        #expect(token.claims["jti"] != nil)
        #expect(token.header["typ"] == "client-authentication+jwt")
        let again = try await self.form(authentication)["client_assertion"]
        #expect(again != form["client_assertion"])
    }

    @Test("The initializer rejects a secret that is too short, and an algorithm without a secret")
    func shortSecrets() {
        for (secret, algorithm) in [("short", JWSAlgorithm.hs256), (self.secret, .hs512), (self.secret, .es256)] {
            #expect(throws: TokenError.self) {
                try StandardClientAuthentication.clientSecretJWT(
                    clientID: "a",
                    secret: Secret(secret),
                    algorithm: algorithm
                )
            }
        }
    }

    @Test("Mutual TLS uses the server's endpoint aliases", .shows("RFC 8705 §2, §5", "FAPI 2.0 §5.3.3.1 (7)"))
    func mutualTLS() async throws {
        let aliases = [
            "token_endpoint": try #require(URL(string: "https://mtls.example/token")),
            "device_authorization_endpoint": try #require(URL(string: "https://mtls.example/device")),
        ]
        let rows: [(any ClientAuthentication, String)] = [
            (StandardClientAuthentication.tlsClientAuth(clientID: "a"), "mtls.example"),
            (
                StandardClientAuthentication.mutualTLS(.clientSecretPost(clientID: "a", secret: Secret("b"))),
                "mtls.example"
            ),
            (StandardClientAuthentication.none(clientID: "a"), "id.example"),
        ]
        for (authentication, host) in rows {
            let device = #"{"device_code":"d","user_code":"u","verification_uri":"https://a.example","expires_in":9}"#
            let fixture = EndpointFixture(.tokens("t"), .json(device), clientAuthentication: authentication) {
                $0.mutualTLSAliases = aliases
            }
            _ = try await fixture.oauth.tokens(for: ClientCredentialsGrant())
            _ = try await fixture.oauth.authorizeDevice()
            #expect(fixture.transport.requests.map(\.url.host) == [host, host])
        }
    }

    @Test("Fails before sending a request if the client has no certificate")
    func noCertificate() async throws {
        let client = OAuth2Client(
            server: AuthorizationServer(
                issuer: "https://127.0.0.1:1",
                tokenEndpoint: try #require(URL(string: "https://127.0.0.1:1/token"))
            ),
            clientAuthentication: .tlsClientAuth(clientID: "a")
        )
        let error = await failure { try await client.tokens(for: ClientCredentialsGrant()) }
        #expect((error?.code, error?.message.contains("clientIdentity")) == (.assertionFailed, true))
    }

    // MARK: Helpers

    private static let date = Date(timeIntervalSince1970: 1_700_000_000.9)

    private func form(_ authentication: some ClientAuthentication) async throws -> [String: String] {
        var request = TokenRequest(server: OAuth2Fixture.server, form: [])
        try await authentication.authenticate(&request, at: Self.date)
        #expect(request.headers.isEmpty)
        return Dictionary(uniqueKeysWithValues: request.form.map { ($0.name, $0.value) })
    }
}
