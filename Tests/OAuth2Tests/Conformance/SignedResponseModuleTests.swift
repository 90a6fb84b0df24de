import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// The scenarios of oauth4webapi's conformance modules about signed authorization responses (JARM),
/// under their original names.
@Suite("Conformance modules: signed authorization responses", .limitedConcurrency)
struct SignedResponseModuleTests {
    @Test(
        "fapi1-advanced-final-client-test: signed and pushed request, signed response, client assertion",
        .shows("O11", "RFC 9101", "JARM §2", "fapi1-advanced-final-client-test"),
        arguments: [ResponseMode.jwt, .queryJWT]
    )
    func happyPath(mode: ResponseMode) async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client(try fixture.keyed())
            let request = try client.authorizationRequest(
                redirectURI: ServerFixture.redirectURI,
                scope: "openid read",
                responseMode: mode
            )
            let signed = try await SignedAuthorizationRequest(
                request,
                for: client.server,
                signingService: try ES256SigningService(key: fixture.key)
            )
            let pushed = try await client.push(parameters: signed.parameters)
            let redirect = try await fixture.server.visit(pushed.url(at: client.server), client: fixture.network)
            let names = URLComponents(url: redirect, resolvingAgainstBaseURL: false)?.queryItems?.map(\.name)
            #expect(names == ["response"])
            let grant = try await request.grant(from: redirect, of: client.server, verifiedBy: verifier(fixture))
            let tokens = try await client.tokens(for: grant, idToken: fixture.idToken(client))
            #expect(try fixture.claims(tokens)["sub"] == "ada")
            #expect((tokens.idToken?.registered.subject, tokens.accessToken.scope) == ("ada", "openid read"))
        }
    }

    @Test(
        "Each invalid response has its own error, and its code isn't used",
        .shows(
            "F12",
            "JARM §2",
            "FAPI 2.0 §5.4.1 (1.3)",
            "ensure-jarm-signature-is-not-none",
            "ensure-jarm-with-expired-exp-fails",
            "ensure-jarm-with-invalid-aud-fails",
            "ensure-jarm-with-invalid-iss-fails",
            "ensure-jarm-with-invalid-sig-fails",
            "ensure-jarm-without-aud-fails",
            "ensure-jarm-without-exp-fails",
            "ensure-jarm-without-iss-fails"
        ),
        arguments: [
            ("ensure-jarm-signature-is-not-none", .unsigned, .protocolViolation, .algorithmMismatch),
            ("ensure-jarm-with-expired-exp-fails", .claims(["exp": 1]), .protocolViolation, .expired),
            (
                "ensure-jarm-with-invalid-aud-fails", .claims(["aud": "another"]), .protocolViolation,
                .audienceMismatch
            ),
            (
                "ensure-jarm-with-invalid-iss-fails", .claims(["iss": "https://another.example"]), .issuerMismatch,
                .issuerMismatch
            ),
            ("ensure-jarm-with-invalid-sig-fails", .mixedUpKeys, .protocolViolation, .signatureInvalid),
            ("ensure-jarm-without-aud-fails", .claims(["aud": nil]), .protocolViolation, .missingClaim),
            ("ensure-jarm-without-exp-fails", .claims(["exp": nil]), .protocolViolation, .missingClaim),
            ("ensure-jarm-without-iss-fails", .claims(["iss": nil]), .protocolViolation, .missingClaim),
            ("an unpublished key", .unknownKey, .protocolViolation, .unknownKey),
            ("no algorithm", .withoutAlgorithm, .protocolViolation, .malformedToken),
            ("no state", .claims(["state": nil]), .stateMismatch, nil),
            ("another state", .claims(["state": "another"]), .stateMismatch, nil),
            ("a state that isn't a string", .claims(["state": 7]), .protocolViolation, nil),
            ("no code", .claims(["code": nil]), .protocolViolation, nil),
            ("an empty code", .claims(["code": ""]), .protocolViolation, nil),
            ("a code that isn't a string", .claims(["code": ["c"]]), .protocolViolation, nil),
            ("a token", .claims(["access_token": "a"]), .protocolViolation, nil),
        ]
            as [(
                String, MockAuthorizationServer.IDTokenFault, OAuth2Error.Code, TokenError.Code?
            )]
    )
    func refused(
        module: String,
        fault: MockAuthorizationServer.IDTokenFault,
        code: OAuth2Error.Code,
        cause: TokenError.Code?
    ) async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            fixture.server.misbehave(at: .authorization, .signedToken(fault))
            let error = await #expect(throws: OAuth2Error.self, "\(module)") {
                try await answer(fixture, client)
            }
            #expect(error?.code == code, "\(module)")
            #expect((error?.cause as? TokenError)?.code == cause, "\(module)")
            #expect(fixture.server.tokenRequestCount == 0)
            // The next response is valid.
            _ = try await client.tokens(for: answer(fixture, client))
        }
    }

    @Test("Reads signed error responses")
    func refusals() async throws {
        try await ServerFixture.with { fixture in
            for (decision, code) in [
                (MockAuthorizationServer.Decision.denied, OAuth2Error.Code.authorizationDenied),
                (.error("temporarily_unavailable"), .serverTransient), (.error("login_required"), .requestRejected),
            ] {
                fixture.server.decide { _ in decision }
                let error = await failure { try await answer(fixture, fixture.client()) }
                #expect(error?.code == code)
            }
        }
    }

    @Test(
        "Rejects an unsigned response to a request for a signed one, and requires a verifier",
        .shows("F12", "JARM §2")
    )
    func downgrade() async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            let verifier = verifier(fixture)
            let request = try client.authorizationRequest(redirectURI: ServerFixture.redirectURI, responseMode: .jwt)
            let issuer = try await client.server.issuer
            for plain in [
                "code=c&state=\(request.state)&iss=\(issuer)",
                "error=access_denied&state=\(request.state)", "response=", "",
                "response=a.b.c&response=a.b.c", "response=nonsense", "response=a.b.c.d.e",
            ] {
                let url = try #require(URL(string: "\(ServerFixture.redirectURI)?\(plain)"))
                await #expect(throws: OAuth2Error(.protocolViolation, ""), "\(plain)") {
                    try await request.grant(from: url, of: client.server, verifiedBy: verifier)
                }
                await #expect(throws: OAuth2Error(.protocolViolation, ""), "\(plain)") {
                    try await request.grant(from: url, of: client.server)
                }
            }
            // The additional parameter response_mode has the same effect.
            let other = try client.authorizationRequest(
                redirectURI: ServerFixture.redirectURI,
                additionalParameters: ["response_mode": "query.jwt"]
            )
            #expect(other.responseMode == .queryJWT)
            await #expect(throws: OAuth2Error(.protocolViolation, "")) {
                try await other.grant(fromQuery: "code=c&state=\(other.state)", of: client.server)
            }
            #expect(throws: OAuth2Error(.malformedRequest, "")) {
                try client.authorizationRequest(
                    redirectURI: ServerFixture.redirectURI,
                    responseMode: .jwt,
                    additionalParameters: ["response_mode": "query"]
                )
            }
        }
    }

    @Test("Ignores unsigned parameters, and rejects a response at another redirect URI")
    func outside() async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            let request = try client.authorizationRequest(redirectURI: ServerFixture.redirectURI, responseMode: .jwt)
            let redirect = try await fixture.server.visit(request.url(at: client.server), client: fixture.network)
            let more = try #require(
                URL(string: redirect.absoluteString + "&code=stolen&state=x&iss=https://evil.example")
            )
            let grant = try await request.grant(from: more, of: client.server, verifiedBy: verifier(fixture))
            #expect(try grant.parameters(at: Date())?.first { $0.name == "code" }?.value != "stolen")
            let elsewhere = try #require(
                URL(string: redirect.absoluteString.replacing("reports.example", with: "evil.example"))
            )
            await #expect(throws: OAuth2Error(.protocolViolation, "")) {
                try await request.grant(from: elsewhere, of: client.server, verifiedBy: verifier(fixture))
            }
        }
    }

    @Test("Rejects other JWTs that the server has signed for this client", .shows("F12"))
    func otherTokens() async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            let request = try client.authorizationRequest(redirectURI: ServerFixture.redirectURI, responseMode: .jwt)
            let claims: [String: JSONValue?] = ["code": "c", "state": .string(request.state)]
            let accessToken = try fixture.server.issueAccessToken(
                clientID: "public",
                subject: "ada",
                audience: "public",
                claims: claims
            )
            let error = await #expect(throws: OAuth2Error.self) {
                try await request.grant(
                    fromQuery: "response=\(accessToken)",
                    of: client.server,
                    verifiedBy: verifier(fixture)
                )
            }
            #expect((error?.cause as? TokenError)?.code == .typeMismatch)
            let idToken = try fixture.server.issueIDToken(clientID: "public", subject: "ada")
            await #expect(throws: OAuth2Error(.stateMismatch, "")) {
                try await request.grant(
                    fromQuery: "response=\(idToken)",
                    of: client.server,
                    verifiedBy: verifier(fixture)
                )
            }
        }
    }

    @Test("Expects RS256 by default, or the client's secret with HS256")
    func algorithms() async throws {
        try await ServerFixture.with({ $0.signingAlgorithm = .rs256 }) { fixture in
            let client = fixture.client()
            let verifier = SignedResponseVerifier(keys: .fixed(fixture.server.keys))
            #expect(verifier.algorithms == [.rs256])
            _ = try await client.tokens(for: answer(fixture, client, verifier))
            let secret = Data("a secret of thirty-two characters".utf8)
            let service = try SigningKey(secret: secret, algorithm: .hs256)
            let shared = SignedResponseVerifier(keys: .key(try VerificationKey(secret: secret, algorithm: .hs256)))
            fixture.server.misbehave(at: .authorization, .signedToken(.signed(by: service)))
            _ = try await client.tokens(for: answer(fixture, client, shared))
            let error = await #expect(throws: OAuth2Error.self) { try await answer(fixture, client, shared) }
            #expect((error?.cause as? TokenError)?.code == .algorithmMismatch)
        }
    }

    @Test("Throws the key set's error if the server's keys can't be loaded")
    func keys() async throws {
        try await ServerFixture.with { fixture in
            fixture.server.misbehave(at: .keys, .unavailable())
            await #expect(throws: OAuth2Error(.serverTransient, "")) {
                try await answer(fixture, fixture.client())
            }
        }
    }

    @Test("A loopback receiver accepts only the signed response to its request")
    func receiver() async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            let receiver = try LoopbackRedirectReceiver(patience: .seconds(300))
            let request = try client.authorizationRequest(redirectURI: receiver.redirectURI, responseMode: .jwt)
            async let redirect = receiver.redirect(for: request)
            let other = try client.authorizationRequest(redirectURI: receiver.redirectURI, responseMode: .jwt)
            for (asked, status) in [(other, 400), (request, 200)] {
                let url = try await fixture.server.visit(asked.url(at: client.server), client: fixture.network)
                let answered = try? await fixture.network.response(for: URLRequest(url: url)).status
                #expect((answered == 200) == (status == 200))
            }
            let grant = try await request.grant(
                from: redirect,
                of: client.server,
                verifiedBy: verifier(fixture)
            )
            _ = try await client.tokens(for: grant)
        }
    }

    private func verifier(_ fixture: ServerFixture) -> SignedResponseVerifier {
        let url = fixture.server.metadata.keySetURL
        return SignedResponseVerifier(
            keys: .url(
                url ?? fixture.server.server.baseURL,
                client: fixture.network,
                options: .init(timeout: .seconds(120))
            ),
            algorithms: [.es256]
        )
    }

    private func answer(
        _ fixture: ServerFixture,
        _ client: OAuth2Client,
        _ verifier: SignedResponseVerifier? = nil
    ) async throws -> AuthorizationCodeGrant {
        let request = try client.authorizationRequest(redirectURI: ServerFixture.redirectURI, responseMode: .jwt)
        let redirect = try await fixture.server.visit(request.url(at: client.server), client: fixture.network)
        return try await request.grant(
            from: redirect,
            of: client.server,
            verifiedBy: verifier ?? self.verifier(fixture)
        )
    }
}
