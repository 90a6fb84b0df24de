import Foundation
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: refresh tokens", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct RefreshServerTests {
    @Test("Rotates refresh tokens, and the server rejects an old one", arguments: OAuth2Peer.allCases)
    func refresh(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Refresh token rotation", peer) {
            let first = try await peer.refreshToken(scope: peer == .idpyoidc ? "openid" : "read")
            let store = InMemoryTokenStore()
            let authenticator = OAuth2Authenticator(
                server: try await peer.server(),
                clientAuthentication: peer.authentication(peer.web),
                grant: RefreshTokenGrant(refreshToken: first),
                resources: .everyHTTPSOrigin,
                store: store,
                client: peer.client
            )
            _ = try await authenticator.accessToken()
            // A source without the store has only the first token, which is already used.
            let late = try await peer.source(RefreshTokenGrant(refreshToken: first), peer.authentication(peer.web))
            let error = await #expect(throws: OAuth2Error.self) { try await late.token() }
            switch peer {
            case .glewlwyd:
                #expect(error?.code == .protocolViolation)
                #expect(error?.status == 400)
                return .differs("responds to a used token with 400 and an empty body instead of `invalid_grant`")
            case .idpyoidc:
                #expect(error?.serverCode == "invalid_request")
                return .differs("responds to a used token with `invalid_request` instead of `invalid_grant`")
            case .django, .authlib:
                #expect(error?.code == .reauthenticationRequired)
                return .passed
            }
        }
    }

    @Test("Reuse of a refresh token revokes its successors", arguments: OAuth2Peer.allCases)
    func reuse(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Refresh token reuse detection", peer) {
            let oauth = try await peer.oauth()
            let first = try await peer.refreshToken(scope: peer == .idpyoidc ? "openid" : "read")
            let second = try #require(await oauth.tokens(for: RefreshTokenGrant(refreshToken: first)).refreshToken)
            let third = try #require(await oauth.tokens(for: RefreshTokenGrant(refreshToken: second)).refreshToken)
            await #expect(throws: OAuth2Error.self) {
                try await oauth.tokens(for: RefreshTokenGrant(refreshToken: first))
            }
            let latest = await Task { try await oauth.tokens(for: RefreshTokenGrant(refreshToken: third)) }.result
            switch peer {
            case .glewlwyd, .django:
                #expect(throws: OAuth2Error.self) { try latest.get() }
                return .passed
            case .authlib, .idpyoidc:
                _ = try latest.get()
                return .lacks
            }
        }
    }

    @Test("A client can repeat a refresh for a while if it lost the response", arguments: OAuth2Peer.allCases)
    func grace(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Grace period for lost refresh responses", peer) {
            let scope = peer == .idpyoidc ? "openid" : "read"
            guard peer == .django else {
                let oauth = try await peer.oauth()
                let first = RefreshTokenGrant(refreshToken: try await peer.refreshToken(scope: scope))
                _ = try await oauth.tokens(for: first)
                await #expect(throws: OAuth2Error.self) { try await oauth.tokens(for: first) }
                return .lacks
            }
            let base = try Interop.required("INTEROP_DJANGO_GRACE")
            var options = AuthorizationServerDiscovery.Options()
            options.documents = [.oauth2]
            let oauth = OAuth2Client(
                server: try await AuthorizationServerDiscovery(issuer: base, client: peer.client, options: options)
                    .server(),
                clientAuthentication: peer.authentication(peer.web),
                client: peer.client,
                timing: .init(timeout: .seconds(120))
            )
            let form = ["client_id": peer.web, "scope": scope]
            let answer = try await peer.post("/test/refresh-token", form, base: base)
            let first = RefreshTokenGrant(refreshToken: Secret(try #require(answer["refresh_token"]?.string)))
            _ = try await oauth.tokens(for: first)
            let again = try await oauth.tokens(for: first)
            #expect(try await oauth.introspect(again.accessToken.value).isActive)
            // The grace period ends when the client uses the new refresh token.
            let next = RefreshTokenGrant(refreshToken: try #require(again.refreshToken))
            let latest = RefreshTokenGrant(refreshToken: try #require(await oauth.tokens(for: next).refreshToken))
            for dead in [first, latest] {
                let error = await #expect(throws: OAuth2Error.self) { try await oauth.tokens(for: dead) }
                #expect(error?.code == .reauthenticationRequired)
            }
            return .passed
        }
    }
}
