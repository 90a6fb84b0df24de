import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

/// Checks every public type for secrets, and everything that is logged or recorded.
@Suite("Secrecy", .limitedConcurrency)
struct SecrecyTests {
    private let secret = "S3cr3t-that-nobody-must-see"

    @Test("No public type shows a secret, and this test covers all of them", .shows("C15", "D16", "Y3"))
    func everyPublicType() async throws {
        let values = try await valuesOfEveryType()
        let declared = try Self.declaredTypes()
        let covered = Set(values.flatMap { Self.names(of: $0) })
        #expect(declared.count >= 30)
        #expect(declared.subtracting(covered).isEmpty, "not covered: \(declared.subtracting(covered).sorted())")
        let requests = values.compactMap { $0 as? TokenRequest }
        let proofs = requests.flatMap { request -> [String] in
            let assertions = request.form.filter { $0.name == "client_assertion" }.map(\.value)
            let credentials = request.headers["Authorization"]?.split(separator: " ").last
            return assertions + (credentials.map { [String($0)] } ?? [])
        }
        #expect(proofs.count == 3)
        #expect(requests.contains { "\($0)".contains("client_id, client_assertion_type, client_assertion") })
        for value in values {
            for shown in Self.texts(of: value) {
                for hidden in [secret, "PRIVATE KEY"] + proofs {
                    #expect(!shown.contains(hidden), "\(type(of: value)) shows a secret")
                }
            }
        }
    }

    @Test(
        "Logs, recordings and events contain no secrets",
        .shows("Y3", "Z9", "RFC 6750 §5.2, §5.3", "FAPI 2.0 §5.3.3.1 (3)")
    )
    func onTheWay() async throws {
        try await withTemporaryDirectory { directory in
            let journal = Journal()
            let fixture = OAuth2Fixture(
                steps: [
                    .boundToken(secret, refresh: "\(secret)-2"), .retryAfter(0), .boundToken("\(secret)-3"),
                    .error("invalid_grant"),
                ],
                answers: [.text("ok"), .refusal, .text("ok", headers: ["DPoP-Nonce": "n1"])]
            )
            let logging = RequestLogger(level: .body, writesCurlCommands: true) { journal.add("\($0)") }
            let endpoint = try ExchangeRecorder(
                fixture.endpoint,
                folder: directory.appending(path: "endpoint"),
                timeSource: fixture.time.timeSource
            )
            let resource = try ExchangeRecorder(
                fixture.resource,
                folder: directory.appending(path: "resource"),
                timeSource: fixture.time.timeSource
            )
            let events = EventJournal()
            let authenticator = OAuth2Authenticator(
                client: OAuth2Client(
                    server: OAuth2Fixture.server,
                    clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret(secret)),
                    dpop: .generated(),
                    client: NetworkClient(
                        transport: endpoint,
                        options: .init(timeSource: fixture.time.timeSource, observers: [events, logging])
                    ),
                    timing: .init(timeSource: fixture.time.timeSource, random: { 0 })
                ),
                grant: RefreshTokenGrant(refreshToken: Secret(secret)),
                resources: .everyHTTPSOrigin
            )
            let client = NetworkClient(
                transport: resource,
                interceptors: [authenticator],
                options: .init(timeSource: fixture.time.timeSource, observers: [logging])
            )
            for _ in 1...2 { _ = try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) }
            fixture.time.advance(by: .seconds(7200))
            let error = await #expect(throws: NetworkError.self) {
                try await client.makeRequest(URLRequest(url: OAuth2Fixture.api))
            }
            var written = journal.entries + Self.texts(of: try #require(error))
            try await authenticator.signOut()
            #expect(events.tokenEvents.last == .signedOut)
            for event in events.all {
                written += Self.texts(of: event) + event.labels.values + event.details.values
            }
            let files = try #require(FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil))
            let names = files.allObjects.compactMap { ($0 as? URL)?.path }.filter { $0.hasSuffix(".har") }
            #expect(names.count == 2)
            for name in names { written.append(try String(contentsOfFile: name, encoding: .utf8)) }
            #expect(written.count > 20)
            #expect(fixture.endpoint.requests.count == 4)
            for text in written { #expect(!text.contains(secret), "\(text.prefix(80))…") }
        }
    }

    // MARK: Values

    private func valuesOfEveryType() async throws -> [Any] {
        let key = try SigningKey.generate(.es256)
        let generator = try DPoPProofGenerator(key: key)
        let token = AccessToken(value: Secret(secret), requested: .now, proofGenerator: generator)
        let record = TokenRecord(
            accessToken: Secret(secret),
            refreshToken: Secret(secret),
            proofKey: Secret(try key.pem())
        )
        let basic = StandardClientAuthentication.clientSecretBasic(clientID: "a", secret: Secret(secret))
        let assertion = StandardClientAuthentication.privateKeyJWT(
            clientID: "a",
            signingService: try ES256SigningService(key: key)
        )
        var request = TokenRequest(server: OAuth2Fixture.server, form: [("refresh_token", secret)])
        try await basic.authenticate(&request, at: Date())
        let fixture = OAuth2Fixture(steps: [.boundToken(secret, refresh: secret)])
        let grant = RefreshTokenGrant(refreshToken: Secret(secret))
        let authenticator = fixture.authenticator(grant: grant, dpop: .generated())
        _ = try await authenticator.accessToken()
        var authentication = authenticator.authentication(
            method: .get,
            url: try #require(URL(string: "https://api.example/?token=\(secret)"))
        )
        _ = try await authentication.credentials()
        let fixed = StaticTokenSource(token)
        let cached = CachedTokenSource(fixed)
        _ = try await cached.token()
        let granted = GrantTokenSource(
            client: OAuth2Client(
                server: OAuth2Fixture.server,
                clientAuthentication: basic
            ),
            grant: grant
        )
        let memory = InMemoryTokenStore()
        _ = memory.compareAndSwap("k", expectedVersion: nil, record: record)
        let directory = FileManager.default.temporaryDirectory.appending(path: "secrecy-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        // The key contains the secret.
        let octets = Data((secret + String(repeating: "k", count: 32)).utf8.prefix(32))
        let files = try FileTokenStore(directory: directory, encryptionKey: Secret(octets.base64EncodedString()))
        let exchange = TokenExchangeGrant(subject: cached, identifier: "ada")
        _ = try await exchange.parameters(at: Date())
        let exchanged = #"{"access_token":"\#(secret)","token_type":"Bearer","expires_in":300}"#
        let provider = TokenExchangeProvider(client: NetworkClient(transport: MockTransport(.json(exchanged)))) {
            [secret] in Secret(secret)
        }
        _ = try await provider.bearerToken(
            exchanging: URLRequest(url: OAuth2Fixture.server.tokenEndpoint),
            scope: "a",
            rejected: nil,
            until: nil
        )
        let oauth = OAuth2Client(server: EndpointFixture.server, clientAuthentication: basic)
        let introspected = try await EndpointFixture(.json(#"{"active":true}"#)).oauth.introspect(Secret(secret))
        let server = EndpointFixture(.json(#"{"sub":"ada"}"#))
        let authorized = NetworkClient(transport: server.transport)
        let userInfo = try await server.oauth.userInfo(subject: "ada", authorized: authorized)
        let keys = RemoteKeySet(url: EndpointFixture.server.tokenEndpoint)
        let signedRequest = try await SignedAuthorizationRequest(
            AuthorizationRequest(clientID: "a", redirectURI: "https://a.example/callback", state: secret),
            for: EndpointFixture.server,
            signingService: ES256SigningService(key: key)
        )
        let error = OAuth2Error(.invalidClient, "refused", cause: ServerError(endpoint: nil, errorCode: 401))
        return [
            Secret(secret), ["key": Secret(secret)], Optional(Secret(secret)) as Any,
            token, record, VersionedTokenRecord(record: record, version: TokenRecordVersion("1")),
            TokenRecordVersion("1"), RefreshAttempt(id: "a"), RefreshTokenRotation.none,

            basic, assertion, authentication,
            request, OAuth2Fixture.server, authenticator, OAuth2Authenticator.Options(),
            authenticator.counters, OAuth2Event.signedOut,
            KeySetEvent.refreshFailed(host: nil, .serverTransient, status: 503),
            error, error.code, grant, try await echoed(),
            ResourceDemand(
                scope: [secret],
                acrValues: [secret],
                resourceMetadata: URL(string: "https://api.example/\(secret)"),
                claims: secret
            ),
            OAuth2Event.demanded(.insufficientScope, ResourceDemand(scope: [secret])),
            ClientCredentialsGrant(scope: "a"), exchange, provider, fixed, cached, granted,
            fixed.fallingBack(to: fixed), fixed.limited(), fixed.persisted(in: memory, key: "k"),
            ClosureTokenSource { _ in token },
            TokenRequirements.replacing(token), DPoPKey.generated(), try DPoPKey.key(key), memory, files,
            MockAuthorizationServer.Client(id: "a", secret: secret), oauth, OAuth2Timing(),
            introspected, WellKnownDocument.openID,
            try ProtectedResource(identifier: "https://api.example", authorizationServers: []),
            ProtectedResource.Matching.pathPrefix,
            ProtectedResourceAuthenticator(
                resource: URL(filePath: "/"),
                client: ClientMetadata(),
                scope: .within("a"),
                user: "a",
                store: memory
            ) { url, _ in url },
            ProtectedResourceAuthenticator.Scope.within("a"),
            UserHint.loginHintToken(Secret(secret)),
            BackchannelAuthentication(
                requestID: Secret(secret),
                expiry: .now,
                notificationToken: Secret(secret)
            ),
            try LogoutRequest(clientID: "a", idToken: Secret(secret), redirectURI: "https://a.example/", state: secret),
            try ClientIDMetadataDocument(
                clientID: "https://app.example/c",
                metadata: ClientMetadata(["redirect_uris": ["https://app.example/r"]])
            ),
            AuthorizationServerDiscovery(issuer: "https://id.example"), AuthorizationServerDiscovery.Options(),
            keys, keys.status, RemoteJWTVerifier(keys: .remote(keys)), IssuerKeys.remote(keys),
            IssuerKeys.key(try VerificationKey(secret: Data((secret + secret).utf8), algorithm: .hs256)),
            AuthenticationChallenge.BearerError.invalidToken,
            IDTokenVerifier(issuer: "https://id.example", clientID: "a", keys: .fixed(JWKSet(keys: []))),
            IDTokenRule.skipIDTokenCheck, ExpectedIDToken.requested(nonce: secret), ResourceRule.everyHTTPSOrigin,
            SignedResponseVerifier(keys: .remote(keys)), ResponseMode.jwt,
            SecuredMessage.idToken,
            TrustedIssuer(issuer: "https://a.example", keys: .remote(keys)),
            PushedAuthorizationRequest(requestURI: "urn:x", clientID: "a", expiry: .now), signedRequest,
            ClientRegistrar(server: EndpointFixture.server), ClientMetadata(["client_name": "a"]), userInfo,
            RegisteredClient(clientID: "a", clientSecret: Secret(secret), registrationAccessToken: Secret(secret)),
        ] + (try await valuesOfAnAPI()) + (try await valuesOfClients()) + (try await valuesOfGrants())
    }

    /// Returns values of the resource server's types.
    private func valuesOfAnAPI() async throws -> [Any] {
        let fixture = EndpointFixture(
            .json(#"{"active":true,"sub":"ada","aud":"https://api.example"}"#),
            .json(#"{"active":false}"#)
        )
        let introspection = CachedTokenIntrospection(fixture.oauth)
        var verifier = AccessTokenVerifier(issuer: "https://id.example", audience: "https://api.example", keys: nil)
        verifier.introspection = introspection
        verifier.nonces = try RotatingDPoPNonces(secret: Secret(secret))
        let good = ProtectedRequest(
            method: .get,
            url: "https://api.example/?token=\(secret)",
            headers: ["Authorization": "Bearer \(secret)", "DPoP": secret]
        )
        var bad = good
        bad.headers["Authorization"] = "Bearer other-\(secret)"
        let token = try await verifier.verify(good)
        let refusal = await #expect(throws: AccessRefusal(.invalidToken, "")) { try await verifier.verify(bad) }
        return [
            introspection, verifier, try RotatingDPoPNonces(secret: Secret(secret)), good, token, token.binding,
            AccessRequirement(scope: ["a"]), try #require(refusal), refusal?.code as Any,
        ]
    }

    /// Returns the error of a server that repeats the secret, which has the server's text.
    private func echoed() async throws -> OAuth2Error {
        let answer = #"{"error":"\#(secret)","error_description":"\#(secret)","error_uri":"\#(secret)"}"#
        let challenge = #"Bearer error="\#(secret)", \#(secret)="a""#
        let fixture = EndpointFixture(.json(answer, status: 401, headers: ["WWW-Authenticate": challenge]))
        let error = try #require(await failure { try await fixture.oauth.introspect(Secret(secret)) })
        #expect(error.serverText?.expose { $0.components(separatedBy: secret).count } == 6)
        return error
    }

    private func valuesOfClients() async throws -> [Any] {
        let post = StandardClientAuthentication.clientSecretPost(clientID: "a", secret: Secret(secret))
        var request = TokenRequest(server: OAuth2Fixture.server, form: [])
        try await post.authenticate(&request, at: Date())
        let jwt = try StandardClientAuthentication.clientSecretJWT(clientID: "a", secret: Secret(secret + secret))
        try await jwt.authenticate(&request, at: Date())
        let assertion = AccessToken(value: Secret(secret), requested: .now)
        let signed = StandardClientAuthentication.signedAssertion(
            clientID: "a",
            assertion: StaticTokenSource(assertion)
        )
        var signedRequest = TokenRequest(server: OAuth2Fixture.server, form: [])
        try await signed.authenticate(&signedRequest, at: Date())
        return [
            post, jwt, request, StandardClientAuthentication.none(clientID: "a"), AssertionAudience.issuer,
            StandardClientAuthentication.Encoding.form,
            StandardClientAuthentication.tlsClientAuth(clientID: "a"), StandardClientAuthentication.mutualTLS(post),
            signed, signedRequest,
            StandardClientAuthentication.AssertionType.jwtBearer,
        ]
    }

    private func valuesOfGrants() async throws -> [Any] {
        let verifier = try CodeVerifier(Secret(secret + secret))
        let receiver = try LoopbackRedirectReceiver()
        let authorization = try AuthorizationRequest(
            clientID: "a",
            redirectURI: receiver.redirectURI,
            state: secret,
            nonce: secret,
            codeVerifier: verifier.value
        )
        let code = AuthorizationCodeGrant(
            code: Secret(secret),
            redirectURI: "urn:a",
            codeVerifier: verifier,
            idToken: .requested(nonce: secret)
        )
        let subject = StaticTokenSource(AccessToken(value: Secret(secret), requested: .now))
        let exchange = TokenExchangeGrant(
            subject: subject,
            subjectTokenType: .accessToken,
            identifier: "ada",
            actor: .init(subject, identifier: "actor")
        )
        _ = try await exchange.parameters(at: Date())
        let fixture = OAuth2Fixture(steps: [
            .json(
                #"{"access_token":"\#(secret)","token_type":"Bearer","refresh_token":"\#(secret)","id_token":"\#(secret)"}"#
            )
        ])
        let client = OAuth2Client(
            server: OAuth2Fixture.server,
            clientAuthentication: .none(clientID: "a"),
            dpop: .generated(),
            client: NetworkClient(transport: fixture.endpoint)
        )
        let plain = OAuth2Client(
            server: OAuth2Fixture.server,
            clientAuthentication: .none(clientID: "a"),
            client: NetworkClient(transport: fixture.endpoint)
        )
        let device = DeviceAuthorization(
            deviceCode: Secret(secret),
            userCode: secret,
            verificationURI: OAuth2Fixture.api,
            expiry: .now
        )
        let hidden = secret
        return [
            verifier, authorization, code, exchange, TokenExchangeGrant.Actor(subject, identifier: "a"), client,
            try await plain.tokens(for: code, idToken: .skipIDTokenCheck), TokenType.jwt,
            AuthorizationDetail(type: "a"), device,
            DeviceAuthorizationProgress.Event.pending, receiver,
            JWTBearerGrant(identifier: "a") { Secret(hidden) }, SAMLBearerGrant(identifier: "a") { Data(hidden.utf8) },
            ExtensionGrant(type: "a", identifier: "a", isRepeatable: true) { [("a", hidden)] },
            UserGrant(identifier: "a"), try await progress(of: device),
        ]
    }

    /// Returns the progress that a waiting device reports.
    private func progress(of device: DeviceAuthorization) async throws -> Any {
        let time = ManualTime(advancesWhenSleeping: true)
        let client = OAuth2Client(
            server: OAuth2Fixture.server,
            clientAuthentication: .none(clientID: "a"),
            client: NetworkClient(transport: MockTransport(.tokens(secret))),
            timing: .init(timeSource: time.timeSource)
        )
        var said: [DeviceAuthorizationProgress] = []
        let later = DeviceAuthorization(
            deviceCode: device.deviceCode,
            userCode: device.userCode,
            verificationURI: device.verificationURI,
            expiry: time.now + .seconds(60)
        )
        _ = try await client.tokens(for: later) { said.append($0) }
        return try #require(said.first)
    }

    /// Returns the names of the public types in the module's sources.
    private static func declaredTypes() throws -> Set<String> {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/OAuth2")
        let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
        var names: Set<String> = []
        for case let file as URL in files.allObjects where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /public (?:final class|struct|enum) (\w+)/) { names.insert(String(match.1)) }
        }
        return names
    }

    /// Returns the name of a value's type, without its module and outer types.
    private static func names(of value: Any) -> [String] {
        String(reflecting: type(of: value)).split(separator: ".").map(String.init)
    }

    private static func texts(of value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return [String(describing: value), String(reflecting: value), dumped, reflection(of: value, depth: 8)]
            + [(value as? any Error)?.localizedDescription].compactMap(\.self)
    }

    private static func reflection(of value: Any, depth: Int) -> String {
        guard depth > 0 else { return "" }
        return Mirror(reflecting: value).children
            .map { "\($0.label ?? "-"): \($0.value) \(reflection(of: $0.value, depth: depth - 1))" }
            .joined(separator: ", ")
    }

    // MARK: Secrets and errors

    @Test("A secret shows its value only in expose(_:)")
    func secretType() {
        #expect("\(Secret(secret))" == "<redacted>")
        #expect(String(reflecting: Secret(secret)) == "<redacted>")
        #expect(Mirror(reflecting: Secret(secret)).children.isEmpty)
        #expect(Secret(secret).expose { $0 } == secret)
        #expect(Secret(secret) == Secret(secret))
        #expect(Secret(secret) != Secret(secret + "!"))
        #expect(Set([Secret("a"), Secret("a"), Secret("b")]).count == 2)
    }

    @Test("Shows none of the secrets that a server repeats", arguments: [400, 401, 500, 200])
    func echoingServer(status: Int) async throws {
        let words = "no use for \(secret), dear s3cret-of-reports, nor for cmVwb3J0czpzM2NyZXQtb2YtcmVwb3J0cw=="
        let fixture = OAuth2Fixture(steps: [
            .json(#"{"error":"invalid_request","error_description":"\#(words)","note":"\#(secret)"}"#, status: status)
        ])
        let authenticator = fixture.authenticator(grant: RefreshTokenGrant(refreshToken: Secret(secret)))
        let error = try #require(await #expect(throws: OAuth2Error.self) { try await authenticator.accessToken() })
        #expect((error.cause as? ServerError)?.response == nil)
        #expect(error.serverText?.expose { $0 } == "error_description: \(words)")
        for shown in EndpointFixture.texts(of: error) {
            for hidden in [secret, "s3cret-of-reports", "cmVwb3J0czpzM2NyZXQtb2YtcmVwb3J0cw=="] {
                #expect(!shown.contains(hidden))
            }
        }
    }

    @Test("The error of a rejected request shows neither token nor body")
    func refusedCall() async throws {
        let fixture = OAuth2Fixture(
            steps: [.tokens(secret), .tokens(secret + "2")],
            answers: [.refusal, .json(#"{"leak":"\#(secret)"}"#, status: 401)]
        )
        let client = fixture.client(fixture.authenticator())
        let error = try #require(
            await #expect(throws: ServerError.self) { try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) }
        )
        #expect("\(error)".contains("freshTokenRejected"))
        for shown in ["\(error)", String(reflecting: error), error.localizedDescription] {
            #expect(!shown.contains(secret))
        }
    }
}
