import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// The form fields of each grant, and how often they are sent.
@Suite("Grants: forms", .limitedConcurrency)
struct GrantFormTests {
    private let details = [AuthorizationDetail(type: "payment", members: ["amount": 12, "type": "dropped"])]

    @Test("Grants with different access have different identifiers")
    func identifiers() {
        let source = StaticTokenSource(AccessToken(value: Secret("t"), requested: .now))
        let grants: [any Grant] = [
            ClientCredentialsGrant(), ClientCredentialsGrant(scope: "a"), ClientCredentialsGrant(resources: ["urn:a"]),
            ClientCredentialsGrant(authorizationDetails: details),
            JWTBearerGrant(identifier: "a") { Secret("") }, JWTBearerGrant(identifier: "b") { Secret("") },
            JWTBearerGrant(identifier: "a", scope: "b") { Secret("") }, SAMLBearerGrant(identifier: "a") { Data() },
            ExtensionGrant(type: "urn:x", identifier: "a", isRepeatable: true) { [] },
            ExtensionGrant(type: "urn:y", identifier: "a", isRepeatable: true) { [] }, UserGrant(identifier: "a"),
            UserGrant(identifier: "b"), exchange(source), exchange(source, requested: .idToken),
            exchange(source, actor: "x"), exchange(source, actor: "y"), exchange(source, audiences: ["a"]),
        ]
        #expect(Set(grants.map(\.identifier)).count == grants.count)
        #expect(ClientCredentialsGrant(scope: "a").identifier == "client_credentials a")
    }

    @Test("A name with a line break makes no identifier of a grant with other access")
    func lineBreaks() {
        let source = StaticTokenSource(AccessToken(value: Secret("t"), requested: .now))
        let grants: [any Grant] = [
            UserGrant(identifier: "ada", scope: "read"), UserGrant(identifier: "ada\nscope=read"),
            UserGrant(identifier: "ada\r", scope: "read"), UserGrant(identifier: "ada\r\nscope=read"),
            TokenExchangeGrant(subject: source, identifier: "ada", audiences: ["api"]),
            TokenExchangeGrant(subject: source, identifier: "ada\naudience=api"),
        ]
        #expect(Set(grants.map { Secret($0.identifier) }).count == grants.count)
    }

    @Test("Sends each grant's type and parameters", .shows("RFC 7523 §2.1, RFC 7522 §2.1"))
    func forms() async throws {
        let subject = StaticTokenSource(AccessToken(value: Secret("subject"), requested: .now))
        let actor = StaticTokenSource(AccessToken(value: Secret("actor"), requested: .now))
        let type = "urn:ietf:params:oauth:token-type:"
        let exchange = TokenExchangeGrant(
            subject: subject,
            subjectTokenType: .idToken,
            identifier: "ada",
            actor: .init(actor, identifier: "billing", tokenType: .jwt),
            audiences: ["one", "two"],
            resources: ["urn:a", "urn:b"],
            scope: "read",
            authorizationDetails: details,
            requestedTokenType: .refreshToken
        )
        let own = ClientCredentialsGrant(
            scope: "a b",
            resources: ["https://a.example", "https://b.example"],
            authorizationDetails: details
        )
        let pin = ExtensionGrant(type: "urn:example:pin", identifier: "ada", isRepeatable: false, scope: "read") {
            [("pin", "1234")]
        }
        let rows: [(any Grant, [String])] = [
            (
                own,
                [
                    "grant_type=client_credentials", "scope=a b", "resource=https://a.example",
                    "resource=https://b.example", #"authorization_details=[{"amount":12,"type":"payment"}]"#,
                ]
            ),
            (
                exchange,
                [
                    "grant_type=urn:ietf:params:oauth:grant-type:token-exchange", "subject_token=subject",
                    "subject_token_type=\(type)id_token", "actor_token=actor", "actor_token_type=\(type)jwt",
                    "audience=one", "audience=two", "requested_token_type=\(type)refresh_token", "scope=read",
                    "resource=urn:a", "resource=urn:b",
                    #"authorization_details=[{"amount":12,"type":"payment"}]"#,
                ]
            ),
            (
                // Base64url without padding.
                SAMLBearerGrant(identifier: "ada", scope: "read") { Data("<Assertion>?>é</Assertion>".utf8) },
                [
                    "grant_type=urn:ietf:params:oauth:grant-type:saml2-bearer",
                    "assertion=PEFzc2VydGlvbj4_PsOpPC9Bc3NlcnRpb24-", "scope=read",
                ]
            ), (pin, ["grant_type=urn:example:pin", "pin=1234", "scope=read"]),
        ]
        for (grant, expected) in rows {
            let form = try #require(try await grant.parameters(at: Date()))
            #expect(form.map { "\($0.name)=\($0.value)" } == expected)
        }
        #expect(try await exchange.renewedParameters(at: Date()) == nil)
        #expect(!pin.isRepeatable)
    }

    @Test("Sends the server's own parameters of an exchange, and keeps tokens for different ones apart", .shows("O43"))
    func additionalParameters() async throws {
        let subject = StaticTokenSource(AccessToken(value: Secret("subject"), requested: .now))
        func grant(_ parameters: [String: String]) -> TokenExchangeGrant {
            TokenExchangeGrant(subject: subject, identifier: "job", additionalParameters: parameters)
        }
        let own = grant(["service_account_id": "s", "identity_provider_id": "p"])
        let form = try #require(try await own.parameters(at: Date()))
        #expect(form.suffix(2).map { "\($0.name)=\($0.value)" } == ["identity_provider_id=p", "service_account_id=s"])
        let others = [grant([:]), own, grant(["service_account_id": "t", "identity_provider_id": "p"])]
        #expect(Set(others.map(\.identifier)).count == 3)
        let demand = ResourceDemand(scope: ["read"])
        #expect(
            try await own.answering(demand)?.parameters(at: Date())?.contains { $0.name == "service_account_id" }
                == true
        )
    }

    @Test("Retries a rejected exchange once, with new tokens of subject and actor")
    func renewedExchange() async throws {
        let subject = CountingSource("subject")
        let actor = CountingSource("actor")
        let grant = TokenExchangeGrant(
            subject: subject,
            subjectTokenType: .accessToken,
            identifier: "ada",
            actor: .init(actor, identifier: "billing")
        )
        #expect(try await grant.renewedParameters(at: Date()) == nil)
        let first = try #require(try await grant.parameters(at: Date()))
        let second = try #require(try await grant.renewedParameters(at: Date()))
        let values = [first, second].map { form in form.filter { $0.name.hasSuffix("_token") }.map(\.value) }
        #expect(values == [["subject-1", "actor-1"], ["subject-2", "actor-2"]])
    }

    @Test("Signs a new JWT with issuer, subject and audience for each request", .shows("RFC 7523 §2.1, RFC 7522 §2.1"))
    func jwtBearer() async throws {
        let service = try ES256SigningService.generate(keyID: "k")
        let grant = JWTBearerGrant(
            issuer: "service@example",
            subject: "ada",
            audience: "https://as.example/token",
            lifetime: .seconds(300),
            signingService: service,
            claims: ["iss": "somebody else", "https://a.example/role": "x"],
            scope: "read",
            resources: ["urn:a"]
        )
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        let form = try #require(try await grant.parameters(at: date))
        #expect(form.map(\.name) == ["grant_type", "assertion", "scope", "resource"])
        #expect(form[0].value == "urn:ietf:params:oauth:grant-type:jwt-bearer")
        var policy = ValidationPolicy(issuer: "service@example", subject: "ada", currentDate: { date })
        policy.audience = .contains("https://as.example/token")
        let token = try JWTVerifier(key: service.verificationKey, policy: policy).verify(form[1].value)
        #expect((token.claims["iat"], token.claims["exp"]) == (1_700_000_000, 1_700_000_300))
        #expect(token.claims["https://a.example/role"] == "x")
        let renewed = try #require(try await grant.renewedParameters(at: date))
        let other = try UnverifiedToken(renewed[1].value).unverifiedClaims
        #expect(other["jti"] != token.claims["jti"])
    }

    @Test("Rejects an invalid scope, resource or own parameter before sending a request")
    func malformed() async throws {
        let source = CountingSource("subject")
        let own = ["grant_type", "client_id", "client_secret", "client_assertion", "scope", "resource"].map {
            ClientCredentialsGrant(additionalParameters: [$0: "x"])
        }
        let exchanges = ["subject_token", "scope", "client_id", "client_assertion"].map {
            TokenExchangeGrant(subject: source, identifier: "job", additionalParameters: [$0: "x"])
        }
        let grants: [any Grant] =
            [
                ClientCredentialsGrant(scope: "a  b"), ClientCredentialsGrant(scope: "é"),
                ClientCredentialsGrant(resources: ["relative"]), ClientCredentialsGrant(resources: ["urn:a#b"]),
                JWTBearerGrant(identifier: "a", scope: "\"") { Secret("") },
                SAMLBearerGrant(identifier: "a", resources: [""]) { Data() },
                exchange(source, audiences: [], scope: " "),
                ExtensionGrant(type: "urn:x", identifier: "a", isRepeatable: true, scope: "\\") { [] },
            ] + own + exchanges
        for grant in grants {
            let fixture = OAuth2Fixture()
            let code = await failureCode { try await fixture.authenticator(grant: grant).accessToken() }
            #expect(code == .malformedRequest, "\(grant.identifier)")
            #expect(fixture.endpoint.requests.isEmpty)
        }
    }

    @Test(
        "Adds demanded scope and claims without changing the other parameters",
        arguments: [nil, #"{"access_token":{"nbf":{"essential":true,"value":"1604106651"}}}"#]
    )
    func answering(claims: String?) async throws {
        let demand = ResourceDemand(scope: ["write"], claims: claims)
        let source = StaticTokenSource(AccessToken(value: Secret("t"), requested: .now))
        let grants: [any Grant] = [
            ClientCredentialsGrant(
                scope: "read",
                resources: ["urn:a"],
                authorizationDetails: details,
                additionalParameters: ["audience": "https://api.example"]
            ),
            JWTBearerGrant(identifier: "a", scope: "read", resources: ["urn:a"]) { Secret("") },
            SAMLBearerGrant(identifier: "a", scope: "read", resources: ["urn:a"]) { Data() },
            TokenExchangeGrant(
                subject: source,
                subjectTokenType: .accessToken,
                identifier: "a",
                resources: ["urn:a"],
                scope: "read",
                requestedTokenType: .accessToken,
                additionalParameters: ["policy": "1"]
            ),
        ]
        for grant in grants {
            let wider = try #require(grant.details?.answering(demand))
            #expect(wider.identifier != grant.identifier)
            var form = try #require(try await wider.parameters(at: Date()))
            var before = try #require(try await grant.parameters(at: Date()))
            #expect(form.first { $0.name == "claims" }?.value == claims)
            if claims == nil {
                #expect(form.first { $0.name == "scope" }?.value == "read write")
                form.removeAll { $0.name == "scope" }
                before.removeAll { $0.name == "scope" }
                #expect(wider.details?.answering(demand) == nil)
            }
            #expect(form.filter { $0.name != "claims" }.map(\.value) == before.map(\.value), "\(grant.identifier)")
        }
        #expect(UserGrant(identifier: "a").answering(demand) == nil)
    }

    @Test("A client's own grant has additional parameters")
    func ownAdditionalParameters() async throws {
        let grant = ClientCredentialsGrant(scope: "read", additionalParameters: ["audience": "https://api.example"])
        let form = try #require(try grant.parameters(at: Date()))
        #expect(form.map(\.name) == ["grant_type", "scope", "audience"])
        #expect(form.last?.value == "https://api.example")
        #expect(grant.identifier != ClientCredentialsGrant(scope: "read").identifier)
    }

    private func exchange(
        _ source: any TokenSource,
        requested: TokenType? = nil,
        actor: String? = nil,
        audiences: [String] = [],
        scope: String? = nil
    ) -> TokenExchangeGrant {
        TokenExchangeGrant(
            subject: source,
            subjectTokenType: .accessToken,
            identifier: "ada",
            actor: actor.map { .init(source, identifier: $0) },
            audiences: audiences,
            scope: scope,
            requestedTokenType: requested
        )
    }

    // MARK: Single-use codes in requests that may not have been sent

    private func code() throws -> AuthorizationCodeGrant {
        AuthorizationCodeGrant(
            code: Secret("c0de"),
            redirectURI: "urn:a",
            codeVerifier: try CodeVerifier(),
            idToken: .none
        )
    }

    @Test(
        "Uses a code again if it certainly wasn't sent",
        arguments: [NetworkError.Code.cannotConnect, .cannotResolveHost, .rateLimited, .circuitOpen]
    )
    func notSent(_ failure: NetworkError.Code) async throws {
        let fixture = EndpointFixture(.failure(NetworkError(failure, "no luck")), .tokens("a1"), .tokens("a2"))
        let code = try code()
        #expect(await failureCode { try await fixture.oauth.tokens(for: code) } == .serverUnreachable)
        #expect(try await fixture.oauth.tokens(for: code).accessToken.value == Secret("a1"))
        #expect(await failureCode { try await fixture.oauth.tokens(for: code) } == .reauthenticationRequired)
        #expect(fixture.transport.requests.count == 2)
    }

    @Test("Uses a code again if the client couldn't authenticate")
    func noProof() async throws {
        let code = try code()
        let broken = EndpointFixture(clientAuthentication: FailingAuthentication())
        #expect(await failureCode { try await broken.oauth.tokens(for: code) } == .assertionFailed)
        #expect(broken.transport.requests.isEmpty)
        let fixture = EndpointFixture(.tokens("a1"))
        #expect(try await fixture.oauth.tokens(for: code).accessToken.value == Secret("a1"))
    }

    @Test(
        "Doesn't use a code again if it may have been sent",
        arguments: [
            [.failure(NetworkError(.connectionLost, "no luck"))], [.status(503)], [.error("invalid_client")],
            [.error("invalid_grant")], [.text("<html>")], [.failure(NetworkError(.timedOut, "no luck"))],
            [.status(503), .failure(NetworkError(.cannotConnect, "no luck"))],
        ] as [[MockTransport.Step]]
    )
    func sent(_ steps: [MockTransport.Step]) async throws {
        let fixture = EndpointFixture(steps + [.tokens("a1")], attempts: steps.count)
        let code = try code()
        #expect(await failureCode { try await fixture.oauth.tokens(for: code) } != nil)
        #expect(await failureCode { try await fixture.oauth.tokens(for: code) } == .reauthenticationRequired)
        #expect(fixture.transport.requests.count == steps.count)
    }

    private struct FailingAuthentication: ClientAuthentication {
        let clientID = "api"

        func authenticate(_ request: inout TokenRequest, at date: Date) throws(OAuth2Error) {
            throw OAuth2Error(.assertionFailed, "the key is missing")
        }
    }
}

/// A source of numbered tokens.
final class CountingSource: TokenSource {
    private let name: String
    private let count = Journal()

    init(_ name: String) {
        self.name = name
    }

    func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let isFirst = count.entries.isEmpty || requirements.isUnwanted(Secret("\(name)-\(count.entries.count)"))
        if isFirst { count.add("") }
        return AccessToken(value: Secret("\(name)-\(count.entries.count)"), requested: .now)
    }
}
