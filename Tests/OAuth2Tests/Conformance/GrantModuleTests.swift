import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// Every grant against a strict mock server.
@Suite("Grants against a server", .limitedConcurrency)
struct GrantModuleTests {
    // MARK: Codes

    @Test("A second use of a code fails and revokes the tokens of the first", .shows("G12"))
    func codeReuse() async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            let request = try client.authorizationRequest(redirectURI: ServerFixture.redirectURI)
            let redirect = try await fixture.server.visit(
                try await request.url(at: client.server),
                client: fixture.network
            )
            let tokens = try await client.tokens(for: request.grant(from: redirect, of: client.server))
            #expect(fixture.server.isActive(tokens.accessToken.value.expose { $0 }))
            // A grant uses its code only once, so simulate an attacker with a second grant.
            let grant = try await request.grant(from: redirect, of: client.server)
            await #expect(throws: OAuth2Error(.reauthenticationRequired, "")) { try await client.tokens(for: grant) }
            #expect(!fixture.server.isActive(tokens.accessToken.value.expose { $0 }))
            await #expect(throws: OAuth2Error(.reauthenticationRequired, "")) {
                try await client.tokens(refreshing: try #require(tokens.refreshToken))
            }
            let count = fixture.server.tokenRequestCount
            await #expect(throws: OAuth2Error(.reauthenticationRequired, "")) { try await client.tokens(for: grant) }
            #expect(fixture.server.tokenRequestCount == count)
        }
    }

    @Test(
        "A code requires its verifier, redirect URI and client",
        .shows("G12", "O4", "RFC 7636", "FAPI 2.0 §5.3.3.2 (3)", "FAPI 2.0 §5.3.3.2 (4)")
    )
    func codeBinding() async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            func request() async throws -> (AuthorizationRequest, code: Secret) {
                let request = try client.authorizationRequest(redirectURI: ServerFixture.redirectURI)
                let url = try await fixture.server.visit(
                    try await request.url(at: client.server),
                    client: fixture.network
                )
                let grant = try await request.grant(from: url, of: client.server)
                let code = try #require(try grant.parameters(at: Date())?.first { $0.name == "code" }?.value)
                return (request, Secret(code))
            }
            let (first, one) = try await request()
            let (_, two) = try await request()
            let (third, three) = try await request()
            func grant(_ code: Secret, _ redirectURI: String, _ verifier: CodeVerifier) -> AuthorizationCodeGrant {
                AuthorizationCodeGrant(code: code, redirectURI: redirectURI, codeVerifier: verifier, idToken: .none)
            }
            let wrong: [(AuthorizationCodeGrant, OAuth2Client)] = [
                (grant(one, ServerFixture.redirectURI, try CodeVerifier()), client),
                (grant(two, "http://127.0.0.1/callback", first.verifier), client),
                (grant(three, ServerFixture.redirectURI, third.verifier), fixture.client(try fixture.keyed())),
            ]
            for (grant, client) in wrong {
                let error = await #expect(throws: OAuth2Error.self) { try await client.tokens(for: grant) }
                #expect((error?.serverCode, error?.code) == ("invalid_grant", .reauthenticationRequired))
            }
            #expect(fixture.server.issuedTokenCount == 0)
        }
    }

    @Test("Distinguishes a user's denial from a server's failure to ask")
    func refusals() async throws {
        try await ServerFixture.with { fixture in
            for (decision, code) in [
                (MockAuthorizationServer.Decision.denied, OAuth2Error.Code.authorizationDenied),
                (.error("login_required"), .requestRejected), (.error("temporarily_unavailable"), .serverTransient),
            ] {
                fixture.server.decide { _ in decision }
                let error = await failure { try await fixture.code(fixture.client()) }
                #expect(error?.code == code)
            }
            fixture.server.decide { prompt in
                prompt.scope == "read" && prompt.clientID == "public" && prompt.parameters["prompt"] == nil
                    ? .approved(subject: "grace") : .denied
            }
            let client = fixture.client()
            let tokens = try await client.tokens(for: fixture.code(client, scope: "read"))
            #expect(try fixture.claims(tokens)["sub"] == "grace")
        }
    }

    @Test("Requests, receives and narrows resources and details", .shows("O11", "RFC 9396", "FAPI 2.0 §5.3.3.1 (13)"))
    func access() async throws {
        try await ServerFixture.with({
            $0.resources = ["https://a.example", "https://b.example"]
            $0.authorizationDetailTypes = ["payment"]
        }) { fixture in
            let client = fixture.client(try fixture.keyed())
            let details = [AuthorizationDetail(type: "payment", members: ["amount": 12])]
            let both = ["https://a.example", "https://b.example"]
            var grant = try await fixture.code(client, resources: both, details: details)
            grant.resources = ["https://b.example"]
            let tokens = try await client.tokens(for: grant)
            #expect(try fixture.claims(tokens)["aud"] == "https://b.example")
            #expect(tokens.authorizationDetails == details)
            let refreshed = try await client.tokens(
                refreshing: try #require(tokens.refreshToken),
                resources: ["https://a.example"]
            )
            #expect(try fixture.claims(refreshed)["aud"] == "https://a.example")
            let own = try await client.tokens(
                for: ClientCredentialsGrant(resources: both, authorizationDetails: details)
            )
            #expect(try fixture.claims(own)["aud"] == ["https://a.example", "https://b.example"])
            #expect(own.authorizationDetails == details)
            let wrong: [(ClientCredentialsGrant, String)] = [
                (ClientCredentialsGrant(resources: ["https://c.example"]), "invalid_target"),
                (
                    ClientCredentialsGrant(authorizationDetails: [AuthorizationDetail(type: "account")]),
                    "invalid_authorization_details"
                ),
            ]
            for (grant, serverCode) in wrong {
                let error = await failure { try await client.tokens(for: grant) }
                #expect((error?.code, error?.serverCode) == (.requestRejected, serverCode))
            }
            await #expect(throws: OAuth2Error(.requestRejected, "")) {
                try await fixture.code(client, resources: ["https://c.example"])
            }
        }
    }

    // MARK: Devices

    @Test("A device gets tokens if the user approves, and an error if they deny", .shows("O5", "RFC 8628 §3"))
    func device() async throws {
        let time = ManualTime(advancesWhenSleeping: true)
        let server = try MockAuthorizationServer.start(
            configuration: .init(time: time.timeSource),
            clients: [.init(id: "tv", authentication: .none)]
        )
        let transport = try CurlTransport(configuration: .init(proxy: .none))
        let client = OAuth2Client(
            server: server.metadata,
            clientAuthentication: .none(clientID: "tv"),
            client: NetworkClient(transport: transport),
            timing: .init(timeSource: time.timeSource)
        )
        for isGranted in [true, false] {
            let device = try await client.authorizeDevice(scope: "openid read")
            #expect(device.interval == .seconds(5))
            #expect(device.verificationURIComplete?.query == "user_code=\(device.userCode)")
            #expect(!server.approveDevice(userCode: "WRON-GONE"))
            var count = 0
            let result: Result<IssuedTokens, any Error>
            do {
                result = .success(
                    try await client.tokens(for: device) { _ in
                        count += 1
                        // The user decides before the third request.
                        guard count == 3 else { return }
                        let code = device.userCode
                        _ = isGranted ? server.approveDevice(userCode: code) : server.denyDevice(userCode: code)
                    }
                )
            } catch { result = .failure(error) }
            #expect(count == 3)
            if isGranted {
                let tokens = try result.get()
                #expect(server.isActive(tokens.accessToken.value.expose { $0 }))
                #expect(tokens.unverifiedIDToken != nil)
                #expect(tokens.refreshToken != nil)
                await #expect(throws: OAuth2Error(.reauthenticationRequired, "")) {
                    try await client.tokens(for: device)
                }
            } else {
                #expect(throws: OAuth2Error(.authorizationDenied, "")) { try result.get() }
            }
        }
        await transport.close()
        await server.stop()
    }

    // MARK: Exchange

    @Test("Exchanges a token with an actor, and accepts N_A for other token types")
    func exchange() async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client(try fixture.keyed())
            let user = try await client.tokens(for: fixture.code(client, scope: "read write"))
            let actor = try await client.tokens(for: ClientCredentialsGrant())
            func grant(_ type: TokenType?, scope: String? = nil) -> TokenExchangeGrant {
                TokenExchangeGrant(
                    subject: StaticTokenSource(user.accessToken),
                    subjectTokenType: .accessToken,
                    identifier: "ada",
                    actor: .init(StaticTokenSource(actor.accessToken), identifier: "keyed"),
                    audiences: ["billing"],
                    resources: ["https://a.example"],
                    scope: scope,
                    requestedTokenType: type
                )
            }
            let tokens = try await client.tokens(for: grant(.accessToken, scope: "read"))
            let claims = try fixture.claims(tokens)
            #expect(tokens.issuedTokenType == .accessToken)
            #expect(claims["sub"] == "ada")
            #expect(claims["act"] == ["sub": "keyed"])
            #expect(claims["aud"] == ["https://a.example", "billing"])
            #expect(tokens.accessToken.scope == "read")

            let idToken = try await client.tokens(for: grant(.idToken))
            #expect((idToken.issuedTokenType, idToken.accessToken.type) == (.idToken, "N_A"))
            let authenticator = OAuth2Authenticator(
                source: StaticTokenSource(idToken.accessToken),
                resources: .everyHTTPSOrigin
            )
            let request = URLRequest(url: fixture.server.server.url(for: "/"))
            let error = await #expect(throws: NetworkError.self) {
                try await NetworkClient(interceptors: [authenticator]).makeRequest(request)
            }
            #expect(error?.cause as? OAuth2Error == OAuth2Error(.unsupportedTokenType, ""))

            let unknown = await #expect(throws: OAuth2Error.self) { try await client.tokens(for: grant(.saml2)) }
            #expect(unknown?.serverCode == "invalid_request")
            // Only a token exchange may return the type N_A.
            fixture.server.misbehave(.members(["token_type": "N_A"]))
            await #expect(throws: OAuth2Error(.unsupportedTokenType, "")) {
                try await client.tokens(for: ClientCredentialsGrant())
            }
        }
    }

    // MARK: Assertions and others

    @Test("Each JWT or SAML assertion works once as a grant", .shows("O5", "RFC 7523 §2.1, RFC 7522 §2.1"))
    func assertions() async throws {
        try await ServerFixture.with { fixture in
            let service = try ES256SigningService.generate(keyID: "k")
            fixture.server.acceptAssertions(of: "service@example", key: service.verificationKey)
            let client = fixture.client(try fixture.keyed())
            let issuer = fixture.server.metadata.issuer
            let grant = JWTBearerGrant(
                issuer: "service@example",
                subject: "ada",
                audience: issuer,
                signingService: service,
                scope: "read"
            )
            for _ in 1...2 {
                let tokens = try await client.tokens(for: grant)
                #expect(try fixture.claims(tokens)["sub"] == "ada")
                #expect(tokens.accessToken.scope == "read")
            }
            let elsewhere = JWTBearerGrant(
                issuer: "service@example",
                subject: "grace",
                audience: issuer,
                signingService: Vault(service: service, keyID: "k")
            )
            #expect(try fixture.claims(try await client.tokens(for: elsewhere))["sub"] == "grace")
            let fixed = try #require(try await grant.parameters(at: Date())?[1].value)
            let replayed = JWTBearerGrant(identifier: "ada") { Secret(fixed) }
            _ = try await client.tokens(for: replayed)
            let other = JWTBearerGrant(
                issuer: "service@example",
                audience: "https://another.example",
                signingService: service
            )
            for wrong in [replayed, other] {
                let error = await #expect(throws: OAuth2Error.self) { try await client.tokens(for: wrong) }
                // The user doesn't have to sign in again, because the next assertion may work.
                #expect((error?.code, error?.serverCode) == (.requestRejected, "invalid_grant"))
            }
            let xml = Data("<Assertion>ada</Assertion>".utf8)
            fixture.server.acceptSAMLAssertion(xml, subject: "ada")
            let saml = try await client.tokens(for: SAMLBearerGrant(identifier: "ada") { xml })
            #expect(try fixture.claims(saml)["sub"] == "ada")
            await #expect(throws: OAuth2Error(.requestRejected, "")) {
                try await client.tokens(for: SAMLBearerGrant(identifier: "ada") { xml + Data(" ".utf8) })
            }
        }
    }

    @Test(
        "Corrects a wrong clock for assertions in grants and in client authentication",
        .shows("FAPI 2.0 §5.3.3.1 (note 1)")
    )
    func skewedAssertion() async throws {
        try await ServerFixture.with({ $0.clockOffset = .seconds(-300) }) { fixture in
            let service = try ES256SigningService.generate(keyID: "k")
            fixture.server.acceptAssertions(of: "service@example", key: service.verificationKey)
            let client = fixture.client(.clientSecretPost(clientID: "post", secret: Secret(ServerFixture.secret)))
            let grant = JWTBearerGrant(
                issuer: "service@example",
                audience: fixture.server.metadata.issuer,
                signingService: service
            )
            let tokens = try await client.tokens(for: grant)
            #expect(tokens.accessToken.type == "Bearer")
            #expect(fixture.server.tokenRequestCount == 2)
        }
    }

    @Test("Gets a token with an extension grant", .shows("O5", "RFC 6749 §4.5"))
    func extensionGrant() async throws {
        try await ServerFixture.with { fixture in
            fixture.server.onGrant("urn:example:pin") {
                $0["pin"] == "1234" ? .tokens(subject: "ada") : .error("invalid_grant")
            }
            let client = fixture.client(try fixture.keyed())
            func grant(_ pin: String, type: String = "urn:example:pin") -> ExtensionGrant {
                ExtensionGrant(type: type, identifier: "ada", isRepeatable: false, scope: "read") { [("pin", pin)] }
            }
            let tokens = try await client.tokens(for: grant("1234"))
            #expect(try fixture.claims(tokens)["sub"] == "ada")
            await #expect(throws: OAuth2Error(.reauthenticationRequired, "")) {
                try await client.tokens(for: grant("4321"))
            }
            let error = await #expect(throws: OAuth2Error.self) {
                try await client.tokens(for: grant("1234", type: "urn:example:unknown"))
            }
            #expect(error?.serverCode == "unsupported_grant_type")
        }
    }

    // MARK: Continuation

    @Test(
        "An authenticator continues a user's grant, also in the next process with the same store",
        arguments: [false, true]
    )
    func signIn(isBound: Bool) async throws {
        try await ServerFixture.with { fixture in
            let dpop: DPoPKey? = isBound ? .generated() : nil
            let client = fixture.client(try fixture.keyed(), dpop: dpop)
            let tokens = try await client.tokens(for: fixture.code(client, scope: "read"))
            let api = try LoopbackServer.start { routes in
                routes.on(.get, "/reports", fixture.server.protecting(scope: "read") { _ in .text("a report") })
            }
            let store = InMemoryTokenStore()
            func authenticator() throws -> OAuth2Authenticator {
                OAuth2Authenticator(
                    client: OAuth2Client(
                        server: fixture.server.metadata,
                        clientAuthentication: try fixture.keyed(),
                        dpop: dpop,
                        client: fixture.network
                    ),
                    grant: UserGrant(identifier: "ada"),
                    resources: .everyHTTPSOrigin,
                    store: store
                )
            }
            let first = try authenticator()
            #expect(await failureCode { try await first.accessToken() } == .reauthenticationRequired)
            try await first.signIn(with: tokens)
            let count = fixture.server.tokenRequestCount
            for authenticator in [first, try authenticator()] {
                let request = URLRequest(url: api.url(for: "/reports"))
                let data = try await NetworkClient(interceptors: [authenticator]).makeRequest(request)
                #expect(data == Data("a report".utf8))
            }
            #expect(fixture.server.tokenRequestCount == count)
            fixture.server.revokeAccessTokens()
            let request = URLRequest(url: api.url(for: "/reports"))
            let data = try await NetworkClient(interceptors: [first]).makeRequest(request)
            #expect(data == Data("a report".utf8))
            #expect(fixture.server.tokenRequestCount == count + 1)
            await api.stop()
        }
    }
}
