import Foundation
import FoundationNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: clients and users", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct ClientServerTests {
    @Test("Registers a client, gets tokens, updates and deletes the registration", arguments: OAuth2Peer.allCases)
    func registration(peer: OAuth2Peer) async throws {
        let server = try await peer.server()
        let registrar = ClientRegistrar(server: server, client: peer.client, timing: .init(timeout: .seconds(120)))
        var metadata = ClientMetadata(["client_name": "Interop"])
        metadata.redirectURIs = ["https://client.example/callback"]
        metadata.grantTypes = peer == .idpyoidc ? [] : ["client_credentials"]
        if peer == .idpyoidc { metadata.keys = [try OAuth2Peer.clientKey().verificationKey] }
        metadata.tokenEndpointAuthenticationMethod = "client_secret_basic"
        metadata.scope = ["read"]
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
            let source = try await peer.source(
                ClientCredentialsGrant(scope: "read"),
                ClientSecretBasic.clientSecretBasic(clientID: client.clientID, secret: secret)
            )
            _ = try await source.token()
            return .passed
        }
        try await InteropMatrix.record("Registration management (RFC 7592)", peer) {
            let client = try #require(registered)
            guard client.registrationURL != nil else { return .lacks }
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
            #expect(info.subject == subject)
            if peer == .authlib { #expect(info["name"] == "Ada Lovelace") }
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
            let id = peer == .authlib || peer == .idpyoidc ? "signed_userinfo" : peer.web
            let oauth = OAuth2Client(
                server: server,
                clientAuthentication: peer.authentication(id),
                client: peer.client
            )
            let keys = try JWKSet(
                parsing: await peer.client.makeRequest(URLRequest(url: try #require(server.keySetURL)))
            )
            let client = try await authorized(peer, id)
            let subject = try await subject(of: peer)
            if peer == .django {
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
                return .differs("its `typ` is `token-userinfo+jwt`, which the client rejects")
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
            server: try await peer.server(),
            clientAuthentication: peer.authentication(clientID),
            grant: RefreshTokenGrant(refreshToken: refresh),
            resources: .everyHTTPSOrigin,
            client: peer.client
        )
        return NetworkClient(interceptors: [authenticator], options: .init(timeout: .seconds(120)))
    }

    /// Returns the user's identifier from the raw response.
    private func subject(of peer: OAuth2Peer) async throws -> String {
        let url = try #require(URL(string: try peer.issuer + (peer == .django ? "/userinfo/" : "/userinfo")))
        let answer = try JSONObject(parsing: await authorized(peer, peer.web).makeRequest(URLRequest(url: url)))
        return try #require(answer["sub"]?.string)
    }
}
