import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

@testable import OAuth2

@Suite("Discovery", .limitedConcurrency)
struct DiscoveryTests {
    private let issuer = "https://id.example"
    private let time = ManualTime()

    @Test(
        "Requests the documents at the specified URLs",
        .shows("RFC 8414 §3, OpenID Connect Discovery §4"),
        arguments: [
            ("https://id.example", "https://id.example/.well-known/openid-configuration", true),
            ("https://id.example/", "https://id.example/.well-known/openid-configuration", true),
            ("https://id.example/a/b", "https://id.example/a/b/.well-known/openid-configuration", true),
            ("https://id.example/a%2Fb/", "https://id.example/a%2Fb/.well-known/openid-configuration", true),
            ("https://id.example", "https://id.example/.well-known/oauth-authorization-server", false),
            ("https://id.example/", "https://id.example/.well-known/oauth-authorization-server", false),
            (
                "https://id.example:8443/a/b", "https://id.example:8443/.well-known/oauth-authorization-server/a/b",
                false
            ),
            ("https://id.example/a/", "https://id.example/.well-known/oauth-authorization-server/a", false),
            ("http://127.0.0.1:1/a", "http://127.0.0.1:1/.well-known/oauth-authorization-server/a", false),
        ]
    )
    func urls(issuer: String, url: String, isOpenID: Bool) throws {
        let document = isOpenID ? WellKnownDocument.openID : .oauth2
        #expect(try document.url(issuer: issuer).absoluteString == url)
    }

    @Test(
        "Rejects an invalid issuer identifier without a request",
        .shows("FAPI 2.0 §5.3.3.1 (10)"),
        arguments: [
            ("", OAuth2Error.Code.invalidIssuer), ("id.example", .invalidIssuer), ("https://", .invalidIssuer),
            ("https://id.example?a=b", .invalidIssuer), ("https://id.example/#f", .invalidIssuer),
            ("https://id.example?", .invalidIssuer), ("https://me:pass@id.example", .invalidIssuer),
            ("http://id.example", .insecureTransport), ("ftp://id.example", .insecureTransport),
            ("http://127.0.0.1.example", .insecureTransport),
        ]
    )
    func badIssuers(issuer: String, code: OAuth2Error.Code) async {
        let transport = MockTransport(time: time.timeSource)
        let error = await failureCode { try await discovery(transport, issuer: issuer).server() }
        #expect(error == code)
        #expect(transport.requests.isEmpty)
    }

    private static let endpointNames = [
        "token_endpoint", "authorization_endpoint", "pushed_authorization_request_endpoint",
        "device_authorization_endpoint", "introspection_endpoint", "revocation_endpoint", "registration_endpoint",
        "userinfo_endpoint",
    ]

    private func endpoints(_ server: AuthorizationServer) -> [String?] {
        [
            server.tokenEndpoint, server.authorizationEndpoint, server.pushedAuthorizationRequestEndpoint,
            server.deviceAuthorizationEndpoint, server.introspectionEndpoint, server.revocationEndpoint,
            server.registrationEndpoint, server.userInfoEndpoint,
        ].map { $0?.absoluteString }
    }

    @Test(
        "Reads all endpoints in a document, and their mutual TLS aliases",
        .shows("RFC 8705 §2, §5", "FAPI 2.0 §5.2.2.1", "FAPI 2.0 §5.3.3.1 (9)")
    )
    func endpoints() async throws {
        var members: JSONObject = [
            "issuer": .string(issuer), "scopes_supported": ["openid", 7, "read"],
            "jwks_uri": "https://id.example/jwks", "authorization_response_iss_parameter_supported": true,
        ]
        for name in Self.endpointNames { members[name] = .string("https://id.example/\(name)") }
        members["mtls_endpoint_aliases"] = [
            "token_endpoint": "https://mtls.example/t", "other": "https://mtls.example/o",
        ]
        let server = try await discovery(MockTransport(.json(members.serialized()), time: time.timeSource)).server()
        #expect(endpoints(server) == Self.endpointNames.map { "https://id.example/\($0)" })
        #expect(server.keySetURL?.absoluteString == "https://id.example/jwks")
        #expect(server.namesItselfInResponses)
        #expect(!server.requiresPushedAuthorizationRequests)
        #expect(server.values(of: "scopes_supported") == ["openid", "read"])
        #expect((server.values(of: "grant_types_supported"), server.metadata) == (nil, members))

        let aliased = server.usingMutualTLSAliases()
        #expect(aliased.tokenEndpoint.absoluteString == "https://mtls.example/t")
        #expect(aliased.introspectionEndpoint == server.introspectionEndpoint)
        #expect(aliased.issuer == issuer)
        var aliases: JSONObject = [:]
        for name in Self.endpointNames { aliases[name] = .string("https://mtls.example/\(name)") }
        members["mtls_endpoint_aliases"] = .object(aliases)
        let all = try AuthorizationServer(metadata: members, issuer: issuer).usingMutualTLSAliases()
        #expect(endpoints(all) == Self.endpointNames.map { "https://mtls.example/\($0)" })
    }

    @Test("Compares issuers byte by byte", .shows("G8"))
    func canonicalEquivalence() {
        let composed = "https://id.example/caf\u{E9}"
        #expect(throws: OAuth2Error(.issuerMismatch, "")) {
            try AuthorizationServer(
                metadata: document(["issuer": .string("https://id.example/cafe\u{301}")]),
                issuer: composed
            )
        }
    }

    @Test(
        "The error names a member of the wrong type, an insecure endpoint and another issuer",
        .shows("G8", "G9", "O10", "RFC 8414 §3, OpenID Connect Discovery §4", "FAPI 2.0 §5.3.3.1 (11)"),
        arguments: [
            ("issuer", nil, OAuth2Error.Code.protocolViolation), ("issuer", 7, .protocolViolation),
            ("issuer", "https://id.example/", .issuerMismatch), ("issuer", "https://ID.example", .issuerMismatch),
            ("issuer", "https://evil.example", .issuerMismatch), ("issuer", "", .issuerMismatch),
            ("issuer", "https://id.example:443", .issuerMismatch),
            ("issuer", "https://id.exampl\u{0435}", .issuerMismatch),
            ("token_endpoint", nil, .protocolViolation), ("token_endpoint", ["https://id.example"], .protocolViolation),
            ("token_endpoint", "/token", .protocolViolation), ("token_endpoint", "", .protocolViolation),
            ("token_endpoint", "https://id.example/#x", .protocolViolation),
            ("token_endpoint", "http://id.example/token", .insecureTransport),
            ("introspection_endpoint", "http://id.example/i", .insecureTransport),
            ("jwks_uri", true, .protocolViolation),
            ("jwks_uri", "file:///etc/passwd", .protocolViolation),
            ("jwks_uri", "ftp://id.example/k", .insecureTransport),
            ("mtls_endpoint_aliases", [], .protocolViolation),
            ("mtls_endpoint_aliases", ["token_endpoint": 7], .protocolViolation),
            ("mtls_endpoint_aliases", ["token_endpoint": "http://a.example"], .insecureTransport),
        ] as [(String, JSONValue?, OAuth2Error.Code)]
    )
    func badMembers(name: String, value: JSONValue?, code: OAuth2Error.Code) async throws {
        var members = document()
        members[name] = value
        let transport = MockTransport(.json(members.serialized()), time: time.timeSource)
        let error = try #require(await failure { try await discovery(transport, attempts: 1).server() })
        #expect(error.code == code)
        #expect(code != .protocolViolation || error.message.contains(value?.object == nil ? name : "token_endpoint"))
        #expect(error.message.hasSuffix("; check the document's URL") == (value == nil))
    }

    /// Different spellings of this machine's names and addresses.
    private static let loopback = [
        "localhost", "LOCALHOST", "localhost.", "a.localhost", "localhost.localdomain", "ip6-localhost", "127.0.0.1",
        "127.9.9.9", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "0", "127.0.0.1.", "[::1]", "[::]",
        "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[::ffff:7f00:1]",
    ]

    @Test("Rejects a local or insecure endpoint of an issuer on the network", .shows("S10"), arguments: loopback)
    func endpointsOfThisMachine(_ host: String) throws {
        let names = AuthorizationServer.endpoints.map(\.name) + ["token_endpoint", "jwks_uri"]
        for url in ["https://\(host)/x", "https://\(host):8443/x", "http://\(host)/x", "http://id.example/x"] {
            for name in names {
                var members = document()
                members[name] = .string(url)
                #expect(throws: OAuth2Error(.insecureTransport, ""), "\(name) \(url)") {
                    try AuthorizationServer(metadata: members, issuer: "https://id.example")
                }
                members = document()
                members["mtls_endpoint_aliases"] = .object([name: .string(url)])
                #expect(throws: OAuth2Error(.insecureTransport, ""), "alias of \(name) \(url)") {
                    try AuthorizationServer(metadata: members, issuer: "https://id.example")
                }
            }
        }
    }

    @Test("Accepts local endpoints of a local issuer, and endpoints on other hosts")
    func endpointsOfTheIssuersMachine() throws {
        for (issuer, url, code) in [
            ("http://127.0.0.1:1", "http://127.0.0.1:1/x", nil), ("http://127.0.0.1:1", "https://id.example/x", nil),
            ("https://localhost", "https://127.0.0.1:1/x", nil),
            ("https://localhost", "http://localhost/x", .insecureTransport),
            ("https://id.example", "https://other.example/x", nil),
            ("https://id.example", "https://128.0.0.1/x", nil), ("https://id.example", "https://[2001:db8::1]/x", nil),
            ("https://id.example", "https://localhost.example/x", nil),
        ] as [(String, String, OAuth2Error.Code?)] {
            var members = document(["issuer": .string(issuer)])
            members["jwks_uri"] = .string(url)
            members["token_endpoint"] = .string(url)
            do {
                _ = try AuthorizationServer(metadata: members, issuer: issuer)
                #expect(code == nil, "\(issuer) \(url)")
            } catch {
                #expect(error.code == code, "\(issuer) \(url)")
            }
        }
    }

    @Test(
        "Each invalid document has its own error",
        .shows("G9", "FAPI 2.0 §5.3.3.1 (10)"),
        arguments: [
            (MockTransport.Step.text("<html>\(Self.marker)</html>"), OAuth2Error.Code.protocolViolation),
            (.json("[]"), .protocolViolation), (.json(#"{"issuer":"https://id.example","#), .protocolViolation),
            (.status(200), .protocolViolation),
            (.status(302, headers: ["Location": "https://evil.example"]), .protocolViolation),
            (.status(500, body: Data(Self.marker.utf8)), .serverTransient), (.status(401), .protocolViolation),
            // The request has no token that the server could reject.
            (.challenge(#"Bearer error="invalid_token""#), .protocolViolation),
            (.json(#"{"error":"invalid_client"}"#, status: 401), .protocolViolation),
            (.failure(NetworkError(.cannotConnect, "no luck")), .serverUnreachable),
            (.failure(NetworkError(.connectionLost, "cut")), .serverUnreachable),
            (.text(String(repeating: Self.marker, count: 100_000)), .protocolViolation),
        ]
    )
    func violations(step: MockTransport.Step, code: OAuth2Error.Code) async throws {
        let transport = MockTransport(step, time: time.timeSource)
        let error = try #require(await failure { try await discovery(transport, attempts: 1).server() })
        #expect(error.code == code)
        #expect(!"\(error)".contains(Self.marker))
        #expect(transport.requests.count == 1)
    }

    @Test(
        "Requests the other document if one is missing, and reports the last status if both are",
        arguments: [400, 403, 404, 405, 410]
    )
    func otherDocument(status: Int) async throws {
        let transport = MockTransport(.status(status), .json(document().serialized()), time: time.timeSource)
        _ = try await discovery(transport).server()
        #expect(
            transport.requests.map(\.url.path) == [
                "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server",
            ]
        )
        let without = MockTransport(.status(404), .status(status), time: time.timeSource)
        let error = await failure { try await discovery(without).server() }
        #expect((error?.code, error?.status) == (.protocolViolation, status))
    }

    @Test("Requests only the custom URL, if one is set")
    func location() async throws {
        let transport = MockTransport(.json(document().serialized()), time: time.timeSource)
        let url = try #require(URL(string: "https://metadata.example/id.json"))
        var options = options()
        options.documents = [.location(url)]
        _ = try await AuthorizationServerDiscovery(issuer: issuer, client: client(transport), options: options).server()
        #expect(transport.requests.map(\.url) == [url])
    }

    private static let marker = "s3cret-of-the-page"

    private func document(_ changes: JSONObject = [:]) -> JSONObject {
        var members: JSONObject = ["issuer": .string(issuer), "token_endpoint": "https://id.example/token"]
        for change in changes { members[change.name] = change.value }
        return members
    }

    private func options(attempts: Int = 2) -> AuthorizationServerDiscovery.Options {
        var options = AuthorizationServerDiscovery.Options()
        options.timing.timeSource = time.timeSource
        options.timing.attempts = attempts
        options.timing.random = { 0 }
        return options
    }

    private func client(_ transport: MockTransport) -> NetworkClient {
        NetworkClient(transport: transport, options: .init(timeSource: time.timeSource))
    }

    private func discovery(
        _ transport: MockTransport,
        issuer: String? = nil,
        attempts: Int = 2
    ) -> AuthorizationServerDiscovery {
        AuthorizationServerDiscovery(
            issuer: issuer ?? self.issuer,
            client: client(transport),
            options: options(attempts: attempts)
        )
    }
}
