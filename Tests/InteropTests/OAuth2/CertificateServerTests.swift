import Foundation
import FoundationNetworking
import Networking
import OAuth2
import ResourceServer
import Testing
import TokenGeneration

/// Glewlwyd ends TLS itself here, with GnuTLS; the other servers know no client by its certificate.
@Suite("OAuth 2 servers: certificates", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(10)))
struct CertificateServerTests {
    @Test(
        "A client is known by its certificate, whoever has issued it",
        arguments: OAuth2Peer.allCases,
        [("tls_client_auth", "client"), ("self_signed_tls_client_auth", "self-signed")]
    )
    func authentication(peer: OAuth2Peer, method: (name: String, certificate: String)) async throws {
        try await InteropMatrix.record("`\(method.name)`", peer) {
            guard peer == .glewlwyd else { return try await lacking(method.name, peer) }
            let server = try await secureServer()
            #expect(server.values(of: "token_endpoint_auth_methods_supported")?.contains(method.name) == true)
            let authentication = MutualTLSAuthentication.tlsClientAuth(clientID: method.name)
            try await withClient(method.certificate, of: server, authentication) { oauth in
                let tokens = try await oauth.tokens(for: ClientCredentialsGrant(scope: "read"))
                #expect(tokens.accessToken.scope == "read")
            }
            // One of the same authority, and one of another.
            for wrong in ["another", "stranger"] {
                try await withClient(wrong, of: server, authentication) { oauth in
                    let error = await #expect(throws: OAuth2Error.self) {
                        try await oauth.tokens(for: ClientCredentialsGrant(scope: "read"))
                    }
                    #expect(error?.code == .protocolViolation)
                    #expect(error?.status == 403)
                }
            }
            // The certificate is looked at where the aliases are, and there only.
            var plain = server
            plain.mutualTLSAliases = [:]
            try await withClient(method.certificate, of: plain, authentication) { oauth in
                let error = await #expect(throws: OAuth2Error.self) {
                    try await oauth.tokens(for: ClientCredentialsGrant(scope: "read"))
                }
                #expect(error?.status == 403)
            }
            return .differs("refuses wrong certificates with 403 and nothing in the body, instead of `invalid_client`")
        }
    }

    @Test("Clients with certificates ask where the server wants them to", arguments: OAuth2Peer.allCases)
    func aliases(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Endpoints for clients with certificates", peer) {
            guard peer == .glewlwyd else {
                #expect(try await peer.server().mutualTLSAliases.isEmpty)
                #expect(try await !peer.mentions("mtls_endpoint"))
                return .lacks
            }
            let server = try await secureServer()
            #expect(server.mutualTLSAliases["token_endpoint"] != server.tokenEndpoint)
            let authentication = MutualTLSAuthentication.tlsClientAuth(clientID: "tls_client_auth")
            try await withClient("client", of: server, authentication) { oauth in
                #expect(oauth.server.introspectionEndpoint == server.mutualTLSAliases["introspection_endpoint"])
                let token = try await oauth.tokens(for: ClientCredentialsGrant(scope: "read")).accessToken.value
                #expect(try await oauth.introspect(token, kind: .accessToken).isActive)
                try await oauth.revoke(token, kind: .accessToken)
                #expect(try await !oauth.introspect(token, kind: .accessToken).isActive)
                let request = try oauth.authorizationRequest(
                    redirectURI: "https://client.example/callback",
                    scope: "openid"
                )
                #expect(try await oauth.push(request).expiry > .now)
            }
            return .passed
        }
    }

    @Test(
        "A token is good for whoever shows the certificate that it was asked for with",
        arguments: OAuth2Peer.allCases
    )
    func boundTokens(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Tokens that are bound to certificates", peer) {
            let announcement = "tls_client_certificate_bound_access_tokens"
            guard peer == .glewlwyd else {
                #expect(try await peer.server().metadata[announcement] != true)
                #expect(try await !peer.mentions("certificate_bound_access_tokens"))
                return .lacks
            }
            let server = try await secureServer()
            let tls = try TLSPeer.trust()
            for (id, certificate) in [("tls_client_auth", "client"), ("self_signed_tls_client_auth", "self-signed")] {
                let authentication = MutualTLSAuthentication.tlsClientAuth(clientID: id)
                let (token, binding) = try await withClient(certificate, of: server, authentication) { oauth in
                    let token = try await oauth.tokens(for: ClientCredentialsGrant(scope: "read")).accessToken.value
                    return (token, try await oauth.introspect(token).confirmation)
                }
                try await TLSPeer.withClient(tls) { client in
                    let keys = try JWKSet(
                        parsing: await client.makeRequest(URLRequest(url: try #require(server.keySetURL)))
                    )
                    let verifier = AccessTokenVerifier(issuer: server.issuer, audience: "read", keys: keys)
                    let good = try await verifier.verify(request(with: token, showing: certificate))
                    #expect(good.binding == .certificate)
                    #expect(good.clientID == id)
                    #expect(good.claims["cnf"]?.object == binding)
                    for wrong in ["another", nil] {
                        await #expect(throws: AccessRefusal(.invalidToken, "")) {
                            try await verifier.verify(request(with: token, showing: wrong))
                        }
                    }
                }
            }
            #expect(server.metadata[announcement] == nil)
            return .differs("does not say in its metadata that it binds them")
        }
    }

    /// Glewlwyd with TLS, found by its metadata.
    private func secureServer() async throws -> AuthorizationServer {
        let issuer = try Interop.required("INTEROP_GLEWLWYD_TLS") + "/api/oidc"
        var options = AuthorizationServerDiscovery.Options()
        options.documents = [.openID]
        options.timing.timeout = .seconds(120)
        return try await TLSPeer.withClient(TLSPeer.trust()) { client in
            try await AuthorizationServerDiscovery(issuer: issuer, client: client, options: options).server()
        }
    }

    /// Runs a test with a client that shows a certificate.
    private func withClient<Result>(
        _ certificate: String,
        of server: AuthorizationServer,
        _ authentication: any ClientAuthentication,
        perform body: (OAuth2Client) async throws -> Result
    ) async throws -> Result {
        var tls = try TLSPeer.trust()
        tls.clientIdentity = try ClientIdentity(
            certificateChainFile: TLSPeer.file("\(certificate).pem"),
            privateKeyFile: TLSPeer.file("\(certificate)-key.pem")
        )
        return try await TLSPeer.withClient(tls) { client in
            try await body(
                OAuth2Client(
                    server: server,
                    clientAuthentication: authentication,
                    client: client,
                    timing: .init(timeout: .seconds(120), attempts: 1)
                )
            )
        }
    }

    /// A request as a resource sees it.
    private func request(with token: Secret, showing certificate: String?) throws -> ProtectedRequest {
        let headers: HTTPHeaders = ["Authorization": "Bearer \(token.expose { $0 })"]
        let lines = try certificate.map {
            try String(contentsOfFile: TLSPeer.file("\($0).pem"), encoding: .utf8).split(separator: "\n")
        }
        return ProtectedRequest(
            method: .get,
            url: "https://api.example/",
            headers: headers,
            clientCertificateDER: lines.flatMap { Data(base64Encoded: $0.filter { !$0.hasPrefix("-") }.joined()) }
        )
    }

    /// A server that knows no client by its certificate does not say so, and takes a name alone for no proof.
    private func lacking(_ method: String, _ peer: OAuth2Peer) async throws -> InteropMatrix.Outcome {
        #expect(try await peer.server().values(of: "token_endpoint_auth_methods_supported")?.contains(method) == false)
        #expect(try await !peer.mentions("tls_client_auth"))
        let refusal = try await peer.refusal(of: peer.grant(), PublicClient.none(clientID: peer.service))
        #expect(refusal.code == .invalidClient)
        return .lacks
    }
}
