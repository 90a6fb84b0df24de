import Foundation
import FoundationNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: endpoints", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct EndpointServerTests {
    @Test("Introspects a token", arguments: OAuth2Peer.allCases)
    func introspection(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Introspection", peer) {
            let oauth = try await peer.oauth()
            let token = try await userToken(of: peer)
            let found = try await oauth.introspect(token, kind: .accessToken)
            #expect(found.isActive)
            #expect(found.clientID == peer.web)
            #expect(found.scope.contains(peer == .idpyoidc ? "openid" : "read"))
            #expect(found.expiration.map { $0 > Date() } == true)
            #expect(try await !oauth.introspect(Secret("nobody's")).isActive)
            let stranger = try await peer.oauth(
                ClientSecretBasic.clientSecretBasic(clientID: peer.web, secret: Secret("wrong"))
            )
            await #expect(throws: OAuth2Error.self) { try await stranger.introspect(token) }
            return .passed
        }
    }

    @Test("Revokes a token", arguments: OAuth2Peer.allCases)
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

    private func userToken(of peer: OAuth2Peer) async throws -> Secret {
        let scope = peer == .idpyoidc ? "openid" : "read"
        let grant = RefreshTokenGrant(refreshToken: try await peer.refreshToken(scope: scope))
        return try await peer.source(grant, peer.authentication(peer.web)).token().value
    }
}
