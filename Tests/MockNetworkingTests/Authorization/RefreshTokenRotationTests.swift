import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("MockAuthorizationServer: refresh tokens", .limitedConcurrency)
struct RefreshTokenRotationTests {
    @Test("Each use of a refresh token replaces it and keeps the scope")
    func rotation() async throws {
        try await AuthorizationPeer.with { peer in
            var token = peer.server.issueRefreshToken(clientID: "secretive", subject: "ada", scope: "read")
                .expose { $0 }
            var seen: Set = [token]
            for _ in 1...3 {
                let answer = try await refresh(token, peer)
                #expect(answer.status == 200)
                #expect(answer.body["scope"] == "read")
                token = try #require(answer.refreshToken)
                #expect(seen.insert(token).inserted)
                #expect(try UnverifiedToken(answer.accessToken).unverifiedClaims["sub"] == "ada")
            }
        }
    }

    @Test("Using a replaced refresh token revokes its token chain, and nothing else")
    func reuse() async throws {
        try await AuthorizationPeer.with { peer in
            let first = peer.server.issueRefreshToken(clientID: "secretive", subject: "ada").expose { $0 }
            let others = peer.server.issueRefreshToken(clientID: "secretive", subject: "bob").expose { $0 }
            let answer = try await refresh(first, peer)
            let other = try await refresh(others, peer)
            let reuse = try await refresh(first, peer)
            #expect((reuse.status, reuse.error) == (400, "invalid_grant"))
            #expect(!peer.server.isActive(answer.accessToken))
            #expect(try await refresh(try #require(answer.refreshToken), peer).error == "invalid_grant")
            #expect(peer.server.isActive(other.accessToken))
            #expect(try await refresh(try #require(other.refreshToken), peer).status == 200)
        }
    }

    @Test("Accepts a refresh token repeatedly without rotation")
    func noRotation() async throws {
        try await AuthorizationPeer.with(rotates: false) { peer in
            let token = peer.server.issueRefreshToken(clientID: "secretive", subject: "ada").expose { $0 }
            for _ in 1...3 {
                let answer = try await refresh(token, peer)
                #expect(answer.status == 200)
                #expect(answer.refreshToken == nil)
            }
        }
    }

    @Test("Rejects another client's refresh token, which stays valid for its own client")
    func anothersToken() async throws {
        try await AuthorizationPeer.with { peer in
            let token = peer.server.issueRefreshToken(clientID: "free", subject: "ada").expose { $0 }
            #expect(try await refresh(token, peer).error == "invalid_grant")
            #expect(try await refresh("unknown", peer).error == "invalid_grant")
            let answer = try await peer.post(
                [("grant_type", "refresh_token"), ("refresh_token", token)],
                headers: peer.basic("free", secret: "free")
            )
            #expect(answer.status == 200)
        }
    }

    @Test("A refresh can narrow the scope of the access token, but not widen it")
    func refreshScope() async throws {
        try await AuthorizationPeer.with { peer in
            let token = peer.server.issueRefreshToken(clientID: "secretive", subject: "ada", scope: "read write")
                .expose { $0 }
            let wide = try await refresh(token, peer, scope: "read admin")
            #expect((wide.status, wide.error) == (400, "invalid_scope"))
            let narrow = try await refresh(token, peer, scope: "read")
            #expect(narrow.body["scope"] == "read")
            let next = try await refresh(try #require(narrow.refreshToken), peer)
            #expect(next.body["scope"] == "read write")
        }
    }

    @Test("Revokes all refresh tokens and the access tokens derived from them")
    func revokeRefreshTokens() async throws {
        try await AuthorizationPeer.with { peer in
            let token = peer.server.issueRefreshToken(clientID: "secretive", subject: "ada").expose { $0 }
            let answer = try await refresh(token, peer)
            let client = try await peer.tokens(("grant_type", "client_credentials"))
            peer.server.revokeRefreshTokens()
            #expect(!peer.server.isActive(answer.accessToken))
            #expect(peer.server.isActive(client.accessToken))
            #expect(try await refresh(try #require(answer.refreshToken), peer).error == "invalid_grant")
        }
    }

    @Test("Revoking a token deactivates it and its refresh token")
    func revocation() async throws {
        try await AuthorizationPeer.with { peer in
            let token = peer.server.issueRefreshToken(clientID: "secretive", subject: "ada").expose { $0 }
            let answer = try await refresh(token, peer)
            let access = try await peer.post([("token", answer.accessToken)], to: "/revoke", headers: peer.basic())
            #expect(access.status == 200)
            #expect(!peer.server.isActive(answer.accessToken))
            let again = try await refresh(try #require(answer.refreshToken), peer)
            #expect(again.status == 200)
            let successor = try #require(again.refreshToken)
            #expect(try await peer.post([("token", successor)], to: "/revoke", headers: peer.basic()).status == 200)
            #expect(!peer.server.isActive(again.accessToken))
            #expect(try await refresh(successor, peer).error == "invalid_grant")
        }
    }

    private func refresh(
        _ token: String,
        _ peer: AuthorizationPeer,
        scope: String? = nil
    ) async throws -> AuthorizationPeer.Answer {
        let form = [("grant_type", "refresh_token"), ("refresh_token", token)] + (scope.map { [("scope", $0)] } ?? [])
        return try await peer.post(form, headers: peer.basic())
    }
}
