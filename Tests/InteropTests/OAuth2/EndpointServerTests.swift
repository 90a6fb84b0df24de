import Foundation
import FoundationNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: endpoints", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(10)))
struct EndpointServerTests {
    @Test("A token is what the server says", arguments: OAuth2Peer.allCases)
    func introspection(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Introspection", peer) {
            let oauth = try await peer.oauth()
            let token = try await userToken(of: peer)
            let found = try await oauth.introspect(token, kind: .accessToken)
            #expect(found.isActive)
            #expect(found.clientID == peer.web)
            // Glewlwyd leaves it out now and then, when it is asked many things at once.
            if peer != .glewlwyd || !found.scope.isEmpty {
                #expect(found.scope.contains(peer == .idpyoidc ? "openid" : "read"))
            }
            #expect(found.expiration.map { $0 > Date() } == true)
            #expect(try await !oauth.introspect(Secret("nobody's")).isActive)
            let stranger = try await peer.oauth(ClientSecretBasic(clientID: peer.web, secret: Secret("wrong")))
            await #expect(throws: OAuth2Error.self) { try await stranger.introspect(token) }
            return .passed
        }
    }

    @Test("A token that is given back is no longer good", arguments: OAuth2Peer.allCases)
    func revocation(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Revocation", peer) {
            let oauth = try await peer.oauth()
            let token = try await userToken(of: peer)
            try await oauth.revoke(token, kind: .accessToken)
            #expect(try await !oauth.introspect(token).isActive)
            let refresh = try await peer.refreshToken(scope: peer == .idpyoidc ? "openid" : "read")
            try await oauth.revoke(refresh, kind: .refreshToken)
            let source = try await peer.source(RefreshTokenGrant(refreshToken: refresh), peer.authentication(peer.web))
            await #expect(throws: OAuth2Error.self) { try await source.token() }
            return .passed
        }
    }

    @Test("A resource's challenges are understood", arguments: OAuth2Peer.allCases)
    func challenges(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("401 and 403 of a resource", peer) {
            if peer == .glewlwyd || peer == .idpyoidc { return .lacks }
            let authenticator = OAuth2Authenticator(
                server: try await peer.server(),
                clientAuthentication: peer.authentication(peer.web),
                grant: RefreshTokenGrant(
                    refreshToken: try await peer.refreshToken(scope: peer == .django ? "write" : "read")
                ),
                client: peer.client
            )
            let client = NetworkClient(interceptors: [authenticator], options: .init(timeout: .seconds(120)))
            let request = URLRequest(url: try #require(URL(string: try peer.base + "/api")))
            _ = try await client.makeRequest(request)
            // The token ends before its time; the next call gets another by itself.
            let first = try await authenticator.accessToken().value
            _ = try await peer.post("/test/expire", ["token": first.expose { $0 }])
            _ = try await client.makeRequest(request)
            #expect(try await authenticator.accessToken().value != first)

            let narrow = OAuth2Authenticator(
                server: try await peer.server(),
                clientAuthentication: peer.authentication(peer.web),
                grant: RefreshTokenGrant(refreshToken: try await peer.refreshToken(scope: "openid")),
                client: peer.client
            )
            let narrowClient = NetworkClient(interceptors: [narrow], options: .init(timeout: .seconds(120)))
            let error = await #expect(throws: ServerError.self) { try await narrowClient.makeRequest(request) }
            #expect(error?.errorCode == 403)
            let isUnderstood = error.map { "\($0)" }?.contains("insufficientScope") == true
            guard peer == .authlib else {
                #expect(isUnderstood)
                return .passed
            }
            #expect(error?.headers["WWW-Authenticate"] == nil)
            #expect(!isUnderstood)
            return .differs("says `insufficient_scope` in the body only: its 403 has no challenge")
        }
    }

    private func userToken(of peer: OAuth2Peer) async throws -> Secret {
        let scope = peer == .idpyoidc ? "openid" : "read"
        let grant = RefreshTokenGrant(refreshToken: try await peer.refreshToken(scope: scope))
        return try await peer.source(grant, peer.authentication(peer.web)).token().value
    }
}
