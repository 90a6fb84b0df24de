import Foundation
import FoundationNetworking
import Networking
import OAuth2
import ResourceServer
import TestSupport
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: clients and users", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct ClientServerTests {
    @Test("Registers a client, gets tokens, updates and deletes the registration", arguments: OAuth2Peer.allCases)
    func registration(peer: OAuth2Peer) async throws {
        let server = try await peer.server()
        let registrar = ClientRegistrar(server: server, client: peer.client, timing: .init(timeout: .seconds(120)))
        let scope = peer == .canaille ? "profile" : "read"
        var metadata = ClientMetadata(["client_name": "Interop"])
        metadata.redirectURIs = ["https://client.example/callback"]
        metadata.grantTypes = peer == .idpyoidc ? [] : ["client_credentials"]
        if peer == .idpyoidc { metadata.keys = [try OAuth2Peer.clientKey().verificationKey] }
        metadata.tokenEndpointAuthenticationMethod = "client_secret_basic"
        metadata.scope = [scope]
        let token = peer == .authlib ? Secret("initial-access-token") : nil
        var registered: RegisteredClient?
        try await InteropMatrix.record("Registration (RFC 7591)", peer) {
            let client = try await registrar.register(metadata, initialAccessToken: token)
            registered = client
            #expect(!client.clientID.isEmpty)
            let secret = try #require(client.clientSecret)
            if peer == .idpyoidc {
                var keyless = metadata
                keyless.keys = []
                var service = metadata
                service.grantTypes = ["client_credentials"]
                for wrong in [keyless, service] {
                    await #expect(throws: OAuth2Error.self) { try await registrar.register(wrong) }
                }
                return .differs("fails for clients without keys; doesn't register them for `client_credentials`")
            }
            // The mock registers its own grant types instead.
            let grant: any Grant =
                if peer == .mock {
                    RefreshTokenGrant(
                        refreshToken: try await peer.refreshToken(scope: "openid", clientID: client.clientID)
                    )
                } else {
                    ClientCredentialsGrant(scope: scope)
                }
            let source = try await peer.source(
                grant,
                StandardClientAuthentication.clientSecretBasic(clientID: client.clientID, secret: secret)
            )
            _ = try await source.token()
            return .passed
        }
        try await InteropMatrix.record("Registration management (RFC 7592)", peer) {
            let client = try #require(registered)
            guard client.registrationURL != nil else { return .lacks }
            if peer == .canaille {
                let once = ClientRegistrar(server: server, client: peer.client, timing: .init(attempts: 1))
                let error = await #expect(throws: OAuth2Error.self) { try await once.read(client) }
                #expect(error?.status == 500)
                return .serverRefuses("responds to all requests with 500 under Authlib 1.9.8")
            }
            let read = try await registrar.read(client)
            #expect(read.clientID == client.clientID)
            if peer == .idpyoidc {
                await #expect(throws: OAuth2Error.self) { try await registrar.update(read, to: read.metadata) }
                return .differs("supports only reading a registration")
            }
            var changed = read.metadata
            changed.redirectURIs = ["https://client.example/other"]
            if peer == .glewlwyd {
                #expect(changed.tokenEndpointAuthenticationMethod == nil)
                changed.tokenEndpointAuthenticationMethod = "client_secret_basic"
            }
            let updated = try await registrar.update(read, to: changed)
            #expect(updated.metadata.redirectURIs == ["https://client.example/other"])
            try await registrar.delete(updated)
            await #expect(throws: OAuth2Error.self) { try await registrar.read(updated) }
            return peer == .glewlwyd
                ? .differs("returns `token_endpoint_auth_method` as a list, which it rejects in an update") : .passed
        }
    }

    @Test("Returns the user's claims if the subject is the ID token's", arguments: OAuth2Peer.allCases)
    func userInfo(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("UserInfo", peer) {
            var options = AuthorizationServerDiscovery.Options()
            options.documents = [.openID]
            let server = try await AuthorizationServerDiscovery(
                issuer: peer.issuer,
                client: peer.client,
                options: options
            ).server()
            let oauth = OAuth2Client(
                server: server,
                clientAuthentication: peer.authentication(peer.web),
                client: peer.client
            )
            let subject = try await subject(of: peer)
            let info = try await oauth.userInfo(subject: subject, authorized: authorized(peer, peer.web))
            #expect(info["sub"] == subject)
            if [.authlib, .canaille, .mock].contains(peer) { #expect(info["name"] == "Ada Lovelace") }
            let error = await #expect(throws: OAuth2Error.self) {
                try await oauth.userInfo(subject: "eve", authorized: authorized(peer, peer.web))
            }
            #expect(error?.code == .subjectMismatch)
            return .passed
        }
    }

    @Test("Verifies a signed UserInfo response with the published keys", arguments: OAuth2Peer.allCases)
    func signedUserInfo(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Signed UserInfo", peer) {
            var options = AuthorizationServerDiscovery.Options()
            options.documents = [.openID]
            let server = try await AuthorizationServerDiscovery(
                issuer: peer.issuer,
                client: peer.client,
                options: options
            ).server()
            let id = [.authlib, .idpyoidc, .canaille].contains(peer) ? "signed_userinfo" : peer.web
            let oauth = OAuth2Client(
                server: server,
                clientAuthentication: peer.authentication(id),
                client: peer.client
            )
            let keys = IssuerKeys.url(try #require(server.keySetURL), client: peer.client)
            let client = try await authorized(peer, id)
            let subject = try await subject(of: peer)
            if peer == .django || peer == .mock {
                #expect(server.values(of: "userinfo_signing_alg_values_supported") == nil)
                let error = await #expect(throws: OAuth2Error.self) {
                    try await oauth.userInfo(subject: subject, authorized: client, keys: keys)
                }
                #expect(error?.code == .protocolViolation)
                return .lacks
            }
            if peer == .glewlwyd {
                let error = await #expect(throws: OAuth2Error.self) {
                    try await oauth.userInfo(subject: subject, authorized: client, keys: keys)
                }
                #expect((error?.cause as? TokenError)?.code == .typeMismatch)
                // The server signs only on request.
                _ = try await oauth.userInfo(subject: subject, authorized: client)
                return .libraryRefuses("its `typ` is `token-userinfo+jwt`, which the client rejects")
            }
            let info = try await oauth.userInfo(subject: subject, authorized: client, keys: keys)
            #expect(info["name"] == "Ada Lovelace")
            let error = await #expect(throws: OAuth2Error.self) {
                try await oauth.userInfo(subject: subject, authorized: client)
            }
            #expect(error?.code == .protocolViolation)
            return .passed
        }
    }

    /// Returns a client with a token of the user.
    private func authorized(_ peer: OAuth2Peer, _ clientID: String) async throws -> NetworkClient {
        let scope = peer == .glewlwyd ? "openid" : "openid profile"
        let refresh = try await peer.refreshToken(scope: scope, clientID: clientID)
        let authenticator = OAuth2Authenticator(
            client: OAuth2Client(
                server: try await peer.server(),
                clientAuthentication: peer.authentication(clientID),
                client: peer.client
            ),
            grant: RefreshTokenGrant(refreshToken: refresh),
            resources: .everyHTTPSOrigin
        )
        return NetworkClient(interceptors: [authenticator], options: .init(timeout: .seconds(120)))
    }

    /// Returns the user's identifier from the raw response.
    private func subject(of peer: OAuth2Peer) async throws -> String {
        let path =
            switch peer {
            case .django: "/userinfo/"
            case .canaille: "/oauth/userinfo"
            default: "/userinfo"
            }
        let url = try #require(URL(string: try peer.issuer + path))
        let answer = try JSONObject(parsing: await authorized(peer, peer.web).makeRequest(URLRequest(url: url)))
        return try #require(answer["sub"]?.string)
    }
}

/// Only Glewlwyd authenticates clients by certificate.
///
/// It terminates TLS itself, with GnuTLS.
@Suite("OAuth 2 servers: certificates", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct CertificateServerTests {
    @Test(
        "Authenticates with a certificate, issued by an authority or self-signed",
        .shows("RFC 8705 §2, §5"),
        arguments: OAuth2Peer.allCases,
        [("tls_client_auth", "client"), ("self_signed_tls_client_auth", "self-signed")]
    )
    func authentication(peer: OAuth2Peer, method: (name: String, certificate: String)) async throws {
        try await InteropMatrix.record("`\(method.name)`", peer) {
            guard peer == .glewlwyd else { return try await lacking(method.name, peer) }
            let server = try await secureServer()
            #expect(server.values(of: "token_endpoint_auth_methods_supported")?.contains(method.name) == true)
            let authentication = StandardClientAuthentication.tlsClientAuth(clientID: method.name)
            try await withClient(method.certificate, of: server, authentication) { oauth in
                let tokens = try await oauth.tokens(for: ClientCredentialsGrant(scope: "read"))
                #expect(tokens.accessToken.scope == "read")
            }
            // Certificates of the same authority and of another one.
            for wrong in ["another", "stranger"] {
                try await withClient(wrong, of: server, authentication) { oauth in
                    let error = await #expect(throws: OAuth2Error.self) {
                        try await oauth.tokens(for: ClientCredentialsGrant(scope: "read"))
                    }
                    #expect(error?.code == .protocolViolation)
                    #expect(error?.status == 403)
                }
            }
            // The server checks the certificate only at the aliases.
            var plain = server
            plain.mutualTLSAliases = [:]
            try await withClient(method.certificate, of: plain, authentication) { oauth in
                let error = await #expect(throws: OAuth2Error.self) {
                    try await oauth.tokens(for: ClientCredentialsGrant(scope: "read"))
                }
                #expect(error?.status == 403)
            }
            return .differs("responds to wrong certificates with 403 and an empty body instead of `invalid_client`")
        }
    }

    @Test("Uses the server's mutual TLS endpoint aliases", arguments: OAuth2Peer.allCases)
    func aliases(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Mutual TLS endpoint aliases", peer) {
            guard peer == .glewlwyd else {
                #expect(try await peer.server().mutualTLSAliases.isEmpty)
                #expect(try await !peer.mentions("mtls_endpoint"))
                return .lacks
            }
            let server = try await secureServer()
            #expect(server.mutualTLSAliases["token_endpoint"] != server.tokenEndpoint)
            let authentication = StandardClientAuthentication.tlsClientAuth(clientID: "tls_client_auth")
            try await withClient("client", of: server, authentication) { oauth in
                let used = try await oauth.server
                #expect(used.introspectionEndpoint == server.mutualTLSAliases["introspection_endpoint"])
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
        "Accepts a bound token only with the certificate of the token request",
        arguments: OAuth2Peer.allCases
    )
    func boundTokens(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Certificate-bound tokens", peer) {
            let announcement = "tls_client_certificate_bound_access_tokens"
            guard peer == .glewlwyd else {
                #expect(try await peer.server().metadata[announcement] != true)
                #expect(try await !peer.mentions("certificate_bound_access_tokens"))
                return .lacks
            }
            let server = try await secureServer()
            let tls = try TLSPeer.trust()
            for (id, certificate) in [("tls_client_auth", "client"), ("self_signed_tls_client_auth", "self-signed")] {
                let authentication = StandardClientAuthentication.tlsClientAuth(clientID: id)
                let (token, binding) = try await withClient(certificate, of: server, authentication) { oauth in
                    let token = try await oauth.tokens(for: ClientCredentialsGrant(scope: "read")).accessToken.value
                    return (token, try await oauth.introspect(token).confirmation)
                }
                try await TLSPeer.withClient(tls) { client in
                    let keys = try JWKSet(
                        parsing: await client.makeRequest(URLRequest(url: try #require(server.keySetURL)))
                    )
                    let verifier = AccessTokenVerifier(issuer: server.issuer, audience: "read", keys: .fixed(keys))
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
            return .differs("doesn't announce them in its metadata")
        }
    }

    /// Returns Glewlwyd with TLS, from its metadata.
    private func secureServer() async throws -> AuthorizationServer {
        let issuer = try Interop.required("INTEROP_GLEWLWYD_TLS") + "/api/oidc"
        var options = AuthorizationServerDiscovery.Options()
        options.documents = [.openID]
        options.timing.timeout = .seconds(120)
        return try await TLSPeer.withClient(TLSPeer.trust()) { client in
            try await AuthorizationServerDiscovery(issuer: issuer, client: client, options: options).server()
        }
    }

    /// Runs a test with a client that presents a certificate.
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

    /// Returns a request as a resource server receives it.
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

    /// Checks that a server without certificate authentication doesn't announce it or accept a
    /// client ID alone.
    private func lacking(_ method: String, _ peer: OAuth2Peer) async throws -> InteropMatrix.Outcome {
        let methods = try await peer.server().values(of: "token_endpoint_auth_methods_supported")
        // The mock announces no methods.
        #expect(methods?.contains(method) == (peer == .mock ? nil : false))
        #expect(try await !peer.mentions("tls_client_auth"))
        let refusal = try await peer.refusal(
            of: peer.grant(),
            StandardClientAuthentication.none(clientID: peer.service)
        )
        #expect(refusal.code == .invalidClient)
        return .lacks
    }
}
