import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("client_secret_post, client_secret_jwt, none and mutual TLS", .limitedConcurrency)
struct OtherAuthenticationTests {
    private let secret = String(repeating: "s3cret ", count: 5)

    @Test("none sends only the client's identifier")
    func publicClient() async throws {
        #expect(try await form(.none(clientID: "a")) == ["client_id": "a"])
    }

    @Test("none sends nothing to a server that knows the client by its grant")
    func anonymousClient() async throws {
        #expect(try await form(.none(clientID: "a", sendsClientID: false)).isEmpty)
        let transport = MockTransport(.json(#"{"access_token":"t","token_type":"Bearer","issued_token_type":"urn:x"}"#))
        let client = OAuth2Client(
            server: OAuth2Fixture.server,
            clientAuthentication: .none(clientID: "a", sendsClientID: false),
            client: NetworkClient(transport: transport)
        )
        let subject = StaticTokenSource(AccessToken(value: Secret("subject"), requested: .now))
        _ = try await client.tokens(
            for: TokenExchangeGrant(subject: subject, subjectTokenType: .jwt, identifier: "job")
        )
        let request = try #require(transport.requests.first)
        #expect(
            FormURLEncoded.decode(String(decoding: request.body, as: UTF8.self))?.map(\.name) == [
                "grant_type", "subject_token", "subject_token_type",
            ]
        )
        #expect(request.headers["Authorization"] == nil)
    }

    @Test("client_secret_post sends the identifier and the secret in the form")
    func post() async throws {
        let form = try await form(.clientSecretPost(clientID: "a", secret: Secret("b+c")))
        #expect(form == ["client_id": "a", "client_secret": "b+c"])
    }

    @Test(
        "client_secret_jwt signs with the secret's bytes and never sends it",
        arguments: ["HS256", "HS384", "HS512"]
    )
    func secretJWT(name: String) async throws {
        let algorithm = try #require(JWSAlgorithm(rawValue: name))
        let secret = String(repeating: "é", count: 32)
        let authentication = try JWTClientAuthentication.clientSecretJWT(
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
                try JWTClientAuthentication.clientSecretJWT(clientID: "a", secret: Secret(secret), algorithm: algorithm)
            }
        }
    }

    @Test("Mutual TLS sends no secret, and uses the server's endpoint aliases")
    func mutualTLS() async throws {
        for authentication in [
            MutualTLSAuthentication.tlsClientAuth(clientID: "a")
        ] {
            #expect(try await form(authentication) == ["client_id": "a"])
        }
        var server = OAuth2Fixture.server
        server.deviceAuthorizationEndpoint = URL(string: "https://as.example/device")
        server.mutualTLSAliases = [
            "token_endpoint": try #require(URL(string: "https://mtls.as.example/token")),
            "device_authorization_endpoint": try #require(URL(string: "https://mtls.as.example/device")),
        ]
        let bound = MutualTLSAuthentication(.clientSecretPost(clientID: "a", secret: Secret("b")))
        let all: [any ClientAuthentication] = [
            MutualTLSAuthentication.tlsClientAuth(clientID: "a"), bound, PublicClient.none(clientID: "a"),
        ]
        var hosts: [[String?]] = []
        for authentication in all {
            let transport = MockTransport(
                .json(#"{"access_token":"t","token_type":"Bearer"}"#),
                .json(
                    #"{"device_code":"d","user_code":"u","verification_uri":"https://a.example","expires_in":9}"#
                )
            )
            let client = OAuth2Client(
                server: server,
                clientAuthentication: authentication,
                client: NetworkClient(transport: transport)
            )
            _ = try await client.tokens(for: ClientCredentialsGrant())
            _ = try await client.authorizeDevice()
            hosts.append(transport.requests.map(\.url.host))
        }
        #expect(
            hosts == [
                ["mtls.as.example", "mtls.as.example"], ["mtls.as.example", "mtls.as.example"],
                ["as.example", "as.example"],
            ]
        )
        #expect(try await form(bound) == ["client_id": "a", "client_secret": "b"])
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
        let error = await #expect(throws: OAuth2Error.self) { try await client.tokens(for: ClientCredentialsGrant()) }
        #expect(error?.code == .assertionFailed)
        #expect(error?.message.contains("clientIdentity") == true)
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
