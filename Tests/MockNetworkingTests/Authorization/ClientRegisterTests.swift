import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("MockAuthorizationServer: clients", .limitedConcurrency, .authorizationPeer)
struct ClientRegisterTests {
    private var peer: AuthorizationPeer { .current }

    @Test("Accepts assertions for only the issuer, with or without a type", .shows("RFC 7523 §3, RFC 10070 §4"))
    func assertions() async throws {
        let issuer = JSONValue.string(peer.server.metadata.issuer)
        for audience in [issuer, .array([issuer])] {
            let answer = try await peer.tokens(assertion: peer.assertion(peer.claims(["aud": audience])))
            #expect(answer.status == 200)
            #expect(peer.server.isActive(answer.accessToken))
        }
        let endpoint = JSONValue.string(peer.server.metadata.tokenEndpoint.absoluteString)
        for audience in [endpoint, .array([issuer, endpoint]), .array([issuer, "https://another.example"])] {
            let answer = try await peer.tokens(assertion: peer.assertion(peer.claims(["aud": audience])))
            #expect(answer.error == "invalid_client")
        }
    }

    @Test("Accepts assertions for the token endpoint if it's configured")
    func olderAssertions() async throws {
        try await AuthorizationPeer.with({ $0.assertionAudience = .issuerOrTokenEndpoint }) { peer in
            let issuer = JSONValue.string(peer.server.metadata.issuer)
            let endpoint = JSONValue.string(peer.server.metadata.tokenEndpoint.absoluteString)
            for audience in [issuer, endpoint, .array([issuer, "https://another.example"])] {
                let answer = try await peer.tokens(assertion: peer.assertion(peer.claims(["aud": audience])))
                #expect(answer.status == 200)
            }
        }
    }

    @Test("Rejects an assertion with any wrong claim", .shows("O25", "RFC 7523 §3, RFC 10070 §4"))
    func wrongAssertions() async throws {
        let now = Int(peer.time.date.timeIntervalSince1970)
        let claims: [(String, JSONObject)] = [
            ("another audience", peer.claims(["aud": "https://another.example"])),
            ("no audience", peer.claims(without: "aud")),
            ("an unregistered issuer", peer.claims(["iss": "stranger"])),
            ("an issuer with a secret", peer.claims(["iss": "secretive", "sub": "secretive"])),
            ("no issuer", peer.claims(without: "iss")),
            ("another subject", peer.claims(["sub": "somebody"])),
            ("no subject", peer.claims(without: "sub")),
            ("no jti", peer.claims(without: "jti")),
            ("no expiry", peer.claims(without: "exp")),
            ("an expiration in the past", peer.claims(["exp": .number(JSONNumber(now - 11))])),
            ("a not-before time in the future", peer.claims(["nbf": .number(JSONNumber(now + 11))])),
            ("an issue time in the future", peer.claims(["iat": .number(JSONNumber(now + 11))])),
        ]
        for (what, claims) in claims {
            let answer = try await peer.tokens(assertion: peer.assertion(claims))
            #expect((answer.status, answer.error) == (401, "invalid_client"), "\(what)")
        }
        #expect(peer.server.issuedTokenCount == 0)
    }

    @Test("Accepts a clock difference of ten seconds")
    func leeway() async throws {
        let now = Int(peer.time.date.timeIntervalSince1970)
        for claims in [
            peer.claims(["exp": .number(JSONNumber(now - 9))]), peer.claims(["iat": .number(JSONNumber(now + 9))]),
        ] {
            let answer = try await peer.tokens(assertion: peer.assertion(claims))
            #expect(answer.status == 200)
        }
    }

    @Test("Rejects an assertion that another key signed")
    func wrongSignature() async throws {
        let strange = try peer.assertion(peer.claims(), key: SigningKey.generate(.es256))
        var parts = try peer.assertion(peer.claims()).split(separator: ".").map(String.init)
        let others = try peer.assertion(peer.claims(["scope": "admin"])).split(separator: ".").map(String.init)
        parts[1] = others[1]
        for assertion in [strange, parts.joined(separator: "."), "not.a.token", "x", "."] {
            let answer = try await peer.tokens(assertion: assertion)
            #expect((answer.status, answer.error) == (401, "invalid_client"))
        }
    }

    @Test("Accepts an assertion only once")
    func replay() async throws {
        let assertion = try peer.assertion(peer.claims())
        #expect(try await peer.tokens(assertion: assertion).status == 200)
        let answer = try await peer.tokens(assertion: assertion)
        #expect(answer.error == "invalid_client")
        #expect(answer.description == "the assertion was already used")
        // The jti counts, not the text.
        let claims = peer.claims()
        #expect(try await peer.tokens(assertion: peer.assertion(claims)).status == 200)
        #expect(try await peer.tokens(assertion: peer.assertion(claims)).error == "invalid_client")
    }

    @Test("Rejects a wrong or missing assertion type")
    func assertionType() async throws {
        let assertion = try peer.assertion(peer.claims())
        for type in ["urn:ietf:params:oauth:client-assertion-type:saml2-bearer", ""] {
            let answer = try await peer.post([
                ("grant_type", "client_credentials"), ("client_assertion", assertion),
                ("client_assertion_type", type),
            ])
            #expect(answer.error == "invalid_client")
        }
    }

    @Test("Requires a form-encoded secret in the header")
    func secret() async throws {
        #expect(try await peer.tokens(("grant_type", "client_credentials")).status == 200)
        let raw = Data("secretive:\(AuthorizationPeer.secret)".utf8).base64EncodedString()
        let answer = try await peer.post(
            [("grant_type", "client_credentials")],
            headers: ["Authorization": "Basic \(raw)"]
        )
        #expect(answer.error == "invalid_client")
    }

    @Test("Rejects a wrong secret, an unknown client and a malformed header with a challenge")
    func wrongSecrets() async throws {
        for headers in [
            peer.basic(secret: "wrong"), peer.basic(secret: ""), peer.basic("stranger"), peer.basic("keyed"),
            ["Authorization": "Basic !"], ["Authorization": "Basic"], ["Authorization": "Bearer x"],
            ["Authorization": "Basic \(Data("no colon".utf8).base64EncodedString())"],
        ] as [HTTPHeaders] {
            let answer = try await peer.post([("grant_type", "client_credentials")], headers: headers)
            #expect((answer.status, answer.error) == (401, "invalid_client"))
            #expect(answer.headers["WWW-Authenticate"]?.hasPrefix("Basic ") == true)
        }
        #expect(peer.server.issuedTokenCount == 0)
    }

    @Test("Rejects a client that doesn't authenticate")
    func noAuthentication() async throws {
        for form in [[("client_id", "secretive")], [("client_id", "free"), ("client_secret", "free")], []] {
            let answer = try await peer.post([("grant_type", "client_credentials")] + form)
            #expect((answer.status, answer.error) == (401, "invalid_client"))
        }
    }

    @Test("Rejects a client that uses two authentication methods")
    func twoAuthentications() async throws {
        let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        let assertion = try peer.assertion(peer.claims())
        for form in [
            [("client_assertion_type", type), ("client_assertion", assertion)], [("client_secret", "x")],
        ] {
            let answer = try await peer.post([("grant_type", "client_credentials")] + form, headers: peer.basic())
            #expect((answer.status, answer.error) == (400, "invalid_request"))
        }
        // The rejection hasn't used up the assertion.
        #expect(try await peer.tokens(assertion: assertion).status == 200)
    }

    @Test("Rejects a client_id that differs from the authenticated client")
    func contradictingClientID() async throws {
        let assertion = try peer.assertion(peer.claims())
        #expect(try await peer.tokens(assertion: assertion, ("client_id", "free")).error == "invalid_client")
        let answer = try await peer.tokens(("grant_type", "client_credentials"), ("client_id", "free"))
        #expect(answer.error == "invalid_client")
    }

    @Test(
        "Rejects metadata that can't be registered",
        arguments: [
            ("[]", "invalid_client_metadata", "the body isn't a JSON object"),
            (#"{"redirect_uris":["/callback"]}"#, "invalid_redirect_uri", "a redirect URI isn't absolute"),
            (
                #"{"token_endpoint_auth_method":"tls_client_auth"}"#, "invalid_client_metadata",
                "the method isn't supported"
            ),
            (
                #"{"token_endpoint_auth_method":"private_key_jwt"}"#, "invalid_client_metadata",
                "jwks doesn't contain a key"
            ),
        ]
    )
    func badMetadata(body: String, error: String, description: String) async throws {
        let answer = try await peer.post(body: body, to: "/register", contentType: "application/json")
        #expect((answer.status, answer.error, answer.description) == (400, error, description))
    }

    @Test("Rejects an update of another client or of the members that only the server sets")
    func badUpdates() async throws {
        let body = #"{"token_endpoint_auth_method":"none"}"#
        let registered = try await peer.post(body: body, to: "/register", contentType: "application/json").body
        let id = try #require(registered["client_id"]?.string)
        let token = try #require(registered["registration_access_token"]?.string)
        let bodies: [JSONObject] = [
            ["client_id": "other"], [:], ["client_id": .string(id), "registration_access_token": .string(token)],
            ["client_id": .string(id), "client_id_issued_at": 0],
            ["client_id": .string(id), "token_endpoint_auth_method": "none"],
        ]
        for (index, body) in bodies.enumerated() {
            let answer = try await peer.post(
                body: body.serialized(),
                to: "/register/\(id)",
                method: .put,
                headers: ["Authorization": "Bearer \(token)"],
                contentType: "application/json"
            )
            let isLast = index == bodies.count - 1
            #expect((answer.status, answer.error) == (isLast ? 200 : 400, isLast ? nil : "invalid_request"))
        }
    }

    @Test("Adds and replaces a client")
    func register() async throws {
        let form = [("grant_type", "client_credentials")]
        let stranger = try await peer.post(form, headers: peer.basic("new"))
        #expect(stranger.status == 401)
        peer.server.register(.init(id: "new", secret: AuthorizationPeer.secret))
        let client = try await peer.post(form, headers: peer.basic("new"))
        #expect(client.status == 200)
        peer.server.register(.init(id: "new", secret: "another"))
        let replaced = try await peer.post(form, headers: peer.basic("new"))
        #expect(replaced.status == 401)
    }
}
