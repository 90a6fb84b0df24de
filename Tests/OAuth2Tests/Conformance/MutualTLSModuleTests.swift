import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Mutual TLS against a server", .limitedConcurrency)
struct MutualTLSModuleTests {
    @Test("Pushes requests and gets tokens at the server's aliases")
    func pushed() async throws {
        let authority = try MockCertificateAuthority()
        let certificate = try authority.issueClientCertificate(name: "reports")
        var serverTLS = LoopbackServer.TLS(certificate: try authority.issueServerCertificate())
        serverTLS.clientAuthentication = .requested(issuedBy: authority)
        var configuration = MockAuthorizationServer.Configuration()
        configuration.mutualTLS = serverTLS
        let server = try MockAuthorizationServer.start(
            configuration: configuration,
            clients: [
                .init(
                    id: "reports",
                    authentication: .tlsClientAuth(subject: certificate.subject),
                    redirectURIs: [ServerFixture.redirectURI]
                )
            ]
        )
        var tls = TLSConfiguration(trustRoots: try .pem(authority.certificatePEM))
        tls.clientIdentity = try ClientIdentity(
            certificateChain: certificate.chainPEM,
            privateKey: certificate.privateKeyPEM
        )
        let transport = try CurlTransport(configuration: .init(proxy: .none, tls: tls))
        let client = OAuth2Client(
            server: server.metadata,
            clientAuthentication: .tlsClientAuth(clientID: "reports"),
            client: NetworkClient(transport: transport),
            timing: .init(timeout: .seconds(120), attempts: 1)
        )
        let request = try client.authorizationRequest(redirectURI: ServerFixture.redirectURI, scope: "read")
        let url = try await client.push(request).url(at: client.server)
        let redirect = try await server.visit(url)
        let tokens = try await client.tokens(for: request.grant(from: redirect, of: client.server))
        let claims = try tokens.accessToken.value.expose { try UnverifiedToken($0).unverifiedClaims }
        #expect(claims["cnf"]?.object?["x5t#S256"]?.string?.count == 43)
        // Only the browser used the port without client certificates.
        #expect(server.server.requests(for: "/par").isEmpty)
        #expect(server.server.requests(for: "/token").isEmpty)
        await transport.close()
        await server.stop()
    }

    @Test("tls_client_auth and self_signed_tls_client_auth bind tokens to the certificate")
    func certificates() async throws {
        let authority = try MockCertificateAuthority()
        let known = try authority.issueClientCertificate(name: "reports")
        let other = try authority.issueClientCertificate(name: "another")
        var tls = LoopbackServer.TLS(certificate: try authority.issueServerCertificate())
        tls.clientAuthentication = .requested(issuedBy: authority)
        var configuration = MockAuthorizationServer.Configuration()
        configuration.mutualTLS = tls
        let key = try SigningKey.generate(.es256)
        let server = try MockAuthorizationServer.start(
            configuration: configuration,
            clients: [
                .init(id: "subject", authentication: .tlsClientAuth(subject: known.subject)),
                .init(id: "pinned", authentication: .selfSignedTLSClientAuth(certificateDER: known.certificateDER)),
                .init(id: "keyed", key: key.verificationKey),
            ]
        )
        func tokens(
            _ authentication: any ClientAuthentication,
            _ certificate: MockCertificate?
        ) async throws -> IssuedTokens {
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
            let result = await Task { try await client.tokens(for: ClientCredentialsGrant()) }.result
            await transport.close()
            return try result.get()
        }
        #expect(server.metadata.mutualTLSAliases["token_endpoint"]?.scheme == "https")
        let service = try ES256SigningService(key: key)
        var thumbprints: Set<String> = []
        let good: [any ClientAuthentication] = [
            MutualTLSAuthentication.tlsClientAuth(clientID: "subject"),
            MutualTLSAuthentication.tlsClientAuth(clientID: "pinned"),
            MutualTLSAuthentication(JWTClientAuthentication.privateKeyJWT(clientID: "keyed", signingService: service)),
        ]
        for authentication in good {
            let tokens = try await tokens(authentication, known)
            let claims = try tokens.accessToken.value.expose { try UnverifiedToken($0).unverifiedClaims }
            #expect(claims["client_id"]?.string == authentication.clientID)
            thumbprints.insert(claims["cnf"]?.object?["x5t#S256"]?.string ?? "")
        }
        #expect(thumbprints.map(\.count) == [43])
        // The port without client certificates received no request.
        #expect(server.server.requests(for: "/token").isEmpty)
        #expect(server.tokenRequestCount == 3)
        for authentication in good.prefix(2) {
            let error = await #expect(throws: OAuth2Error.self) { try await tokens(authentication, other) }
            #expect(error?.code == .invalidClient)
            // Without a certificate, the client sends no request.
            let none = await #expect(throws: OAuth2Error.self) { try await tokens(authentication, nil) }
            #expect(none?.code == .assertionFailed)
        }
        #expect(server.tokenRequestCount == 5)
        await server.stop()
    }
}
