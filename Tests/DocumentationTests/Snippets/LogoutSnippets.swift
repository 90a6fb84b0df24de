import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// The snippets about logging out.
@Suite("Snippets: logout", .limitedConcurrency)
struct LogoutSnippets {
    @Test("Sends the user to the provider")
    func request() throws {
        var server = AuthorizationServer(
            issuer: "https://id.example",
            tokenEndpoint: URL(string: "https://id.example/token")!
        )
        server.endSessionEndpoint = URL(string: "https://id.example/logout")
        #expect(try logout(Secret("t"), at: server).query?.contains("id_token_hint=t") == true)
    }

    @Test("Rejects a logout token of another provider")
    func backChannel() async throws {
        let mock = try MockAuthorizationServer.start()
        let token = try mock.issueLogoutToken(clientID: "shop", subject: "ada")
        let keys = RemoteKeySet(url: try #require(mock.metadata.keySetURL))
        await #expect(throws: TokenError(.issuerMismatch, "")) {
            try await sessionToEnd(token, keys: keys, used: InMemoryReplayCache())
        }
        await mock.stop()
    }

    func logout(_ idToken: Secret, at server: AuthorizationServer) throws -> URL {
        let request = try LogoutRequest(
            clientID: "shop",
            idToken: idToken,
            redirectURI: "https://shop.example/signed-out"
        )
        // Keep request.state in a cookie, to check the redirect.
        return try request.url(at: server)
    }

    func sessionToEnd(
        _ logoutToken: String,
        keys: RemoteKeySet,
        used: any ReplayCache
    ) async throws -> (user: String?, session: String?) {
        let verifier = RemoteJWTVerifier(
            keys: keys,
            policy: .logoutToken(issuer: "https://id.example", clientID: "shop")
        )
        let token = try await verifier.verify(logoutToken, onceIn: used)
        return (token.registered.subject, token.claims["sid"]?.string)
    }
}
