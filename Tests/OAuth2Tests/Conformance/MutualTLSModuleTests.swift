import Foundation
import MockNetworking
import Networking
import OAuth2
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@Suite("Mutual TLS against a server", .limitedConcurrency)
struct MutualTLSModuleTests {
    private let authority: MockCertificateAuthority
    private let known: MockCertificate

    init() throws {
        authority = try MockCertificateAuthority()
        known = try authority.issueClientCertificate(name: "reports")
    }

    /// Runs a test with a server that requests client certificates.
    private func withServer(
        clients: [MockAuthorizationServer.Client],
        _ body: (MockAuthorizationServer) async throws -> Void
    ) async throws {
        var tls = LoopbackServer.TLS(certificate: try authority.issueServerCertificate())
        tls.clientAuthentication = .requested(issuedBy: authority)
        var configuration = MockAuthorizationServer.Configuration()
        configuration.mutualTLS = tls
        try await withAuthorizationServer(configuration, clients: clients, body)
    }

    /// Runs an operation of a client with a certificate.
    private func withClient<Value>(
        of server: MockAuthorizationServer,
        _ authentication: any ClientAuthentication,
        _ certificate: MockCertificate?,
        _ body: (OAuth2Client) async throws -> Value
    ) async throws -> Value {
        var tls = TLSConfiguration(trustRoots: try .pem(authority.certificatePEM))
        tls.clientIdentity = try certificate.map {
            try ClientIdentity(certificateChain: $0.chainPEM, privateKey: $0.privateKeyPEM)
        }
        let transport = try CurlTransport(configuration: .init(proxy: .none, tls: tls))
        let client = OAuth2Client(
            server: server.metadata,
            clientAuthentication: authentication,
            client: NetworkClient(transport: transport),
            timing: .init(timeout: .seconds(120), attempts: 1)
        )
        let result: Result<Value, any Error>
        do { result = .success(try await body(client)) } catch { result = .failure(error) }
        await transport.close()
        return try result.get()
    }

    private func claims(_ tokens: IssuedTokens) throws -> JSONObject {
        try tokens.accessToken.value.expose { try UnverifiedToken($0).unverifiedClaims }
    }

    @Test("Pushes requests and gets tokens at the server's aliases")
    func pushed() async throws {
        let registered = MockAuthorizationServer.Client(
            id: "reports",
            authentication: .tlsClientAuth(subject: known.subject),
            redirectURIs: [ServerFixture.redirectURI]
        )
        try await withServer(clients: [registered]) { server in
            let authentication = StandardClientAuthentication.tlsClientAuth(clientID: "reports")
            let tokens = try await withClient(of: server, authentication, known) { client in
                let request = try client.authorizationRequest(redirectURI: ServerFixture.redirectURI, scope: "read")
                let redirect = try await server.visit(try await client.push(request).url(at: client.server))
                return try await client.tokens(for: request.grant(from: redirect, of: client.server))
            }
            #expect(try claims(tokens)["cnf"]?.object?["x5t#S256"]?.string?.count == 43)
            // Only the browser used the port without client certificates.
            #expect(server.server.requests(for: "/par").isEmpty)
            #expect(server.server.requests(for: "/token").isEmpty)
        }
    }

    @Test(
        "tls_client_auth and self_signed_tls_client_auth bind tokens to the certificate",
        .shows("O7", "RFC 8705 §2, §5", "FAPI 2.0 §5.3.3.1 (1)", "FAPI 2.0 §5.3.3.1 (2)", "FAPI 2.0 §5.3.3.1 (7)")
    )
    func certificates() async throws {
        let other = try authority.issueClientCertificate(name: "another")
        let key = try SigningKey.generate(.es256)
        let clients: [MockAuthorizationServer.Client] = [
            .init(id: "subject", authentication: .tlsClientAuth(subject: known.subject)),
            .init(id: "pinned", authentication: .selfSignedTLSClientAuth(certificateDER: known.certificateDER)),
            .init(id: "keyed", key: key.verificationKey),
        ]
        try await withServer(clients: clients) { server in
            #expect(server.metadata.mutualTLSAliases["token_endpoint"]?.scheme == "https")
            func tokens(
                _ authentication: any ClientAuthentication,
                _ certificate: MockCertificate?
            ) async throws -> IssuedTokens {
                try await withClient(of: server, authentication, certificate) { client in
                    try await client.tokens(for: ClientCredentialsGrant())
                }
            }
            let service = try ES256SigningService(key: key)
            var thumbprints: Set<String> = []
            let good: [any ClientAuthentication] = [
                StandardClientAuthentication.tlsClientAuth(clientID: "subject"),
                StandardClientAuthentication.tlsClientAuth(clientID: "pinned"),
                StandardClientAuthentication.mutualTLS(
                    StandardClientAuthentication.privateKeyJWT(clientID: "keyed", signingService: service)
                ),
            ]
            for authentication in good {
                let claims = try claims(try await tokens(authentication, known))
                #expect(claims["client_id"]?.string == authentication.clientID)
                thumbprints.insert(claims["cnf"]?.object?["x5t#S256"]?.string ?? "")
            }
            #expect(thumbprints.map(\.count) == [43])
            // The port without client certificates received no request.
            #expect(server.server.requests(for: "/token").isEmpty)
            #expect(server.tokenRequestCount == 3)
            for authentication in good.prefix(2) {
                #expect(await failureCode { try await tokens(authentication, other) } == .invalidClient)
                // Without a certificate, the client sends no request.
                #expect(await failureCode { try await tokens(authentication, nil) } == .assertionFailed)
            }
            #expect(server.tokenRequestCount == 5)
        }
    }
}
