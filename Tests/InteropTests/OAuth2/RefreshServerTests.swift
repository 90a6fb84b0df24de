import Foundation
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: refresh tokens", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(10)))
struct RefreshServerTests {
    @Test("Refresh tokens rotate, and an old one is refused", arguments: OAuth2Peer.allCases)
    func refresh(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Refresh with rotation", peer) {
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
            // A source without the store has only the first token, which was used.
            let late = try await peer.source(RefreshTokenGrant(refreshToken: first), peer.authentication(peer.web))
            let error = await #expect(throws: OAuth2Error.self) { try await late.token() }
            switch peer {
            case .glewlwyd:
                #expect(error?.code == .protocolViolation)
                #expect(error?.status == 400)
                return .differs("refuses a used token with 400 and nothing in the body, instead of `invalid_grant`")
            case .idpyoidc:
                #expect(error?.serverCode == "invalid_request")
                return .differs("refuses a used token with `invalid_request` instead of `invalid_grant`")
            case .django, .authlib:
                #expect(error?.code == .reauthenticationRequired)
                return .passed
            }
        }
    }

    @Test("A refresh token that comes again ends what came of it", arguments: OAuth2Peer.allCases)
    func reuse(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Reuse of a refresh token ends its successors", peer) {
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

    @Test("Whoever loses an answer can ask again for a while", arguments: OAuth2Peer.allCases)
    func grace(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Grace for a refresh token whose answer was lost", peer) {
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
            // It was for the answer that was lost: nobody has lost one whose refresh token was used.
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
