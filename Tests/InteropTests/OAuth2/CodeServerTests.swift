import Foundation
import FoundationNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: codes", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct CodeServerTests {
    @Test("Gets tokens with a code and PKCE, and checks the response", arguments: OAuth2Peer.allCases)
    func code(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Authorization code with PKCE", peer) {
            let server = try await peer.server()
            let oauth = try await peer.oauth()
            let scope = peer == .idpyoidc ? "openid" : "openid read"
            let request = try oauth.authorizationRequest(
                redirectURI: "https://client.example/callback",
                scope: scope
            )
            let url = try request.url(at: server)
            let redirect = try await answer(to: url, of: peer)
            let grant = try request.grant(from: redirect, of: server)
            // The servers sign ID tokens with different algorithms, which this test isn't about.
            let tokens = try await oauth.tokens(for: grant, idToken: .skipIDTokenCheck)
            #expect(try await oauth.introspect(tokens.accessToken.value).isActive)
            // A stolen code, redeemed with another code verifier.
            let other = try oauth.authorizationRequest(
                redirectURI: "https://client.example/callback",
                scope: scope
            )
            let stolen = try await answer(to: other.url(at: server), of: peer)
            #expect(throws: OAuth2Error(.stateMismatch, "")) { try request.grant(from: stolen, of: server) }
            let swapped = try AuthorizationRequest(
                clientID: peer.web,
                redirectURI: "https://client.example/callback",
                scope: scope,
                state: other.state
            )
            let forged = try swapped.grant(from: stolen, of: server)
            await #expect(throws: OAuth2Error.self) { try await oauth.tokens(for: forged, idToken: .skipIDTokenCheck) }
            return .passed
        }
    }

    @Test("A public client requires the code verifier", arguments: OAuth2Peer.allCases)
    func publicClient(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("`none`", peer) {
            var configuration = try await peer.server()
            if peer == .idpyoidc {
                configuration.tokenEndpoint = try #require(URL(string: try peer.base + "/public-token"))
            }
            let server = configuration
            func tokens(_ clientID: String, isForged: Bool = false) async throws -> IssuedTokens {
                let oauth = OAuth2Client(
                    server: server,
                    clientAuthentication: .none(clientID: clientID),
                    client: peer.client,
                    timing: .init(timeout: .seconds(120))
                )
                let request = try AuthorizationRequest(
                    clientID: clientID,
                    redirectURI: "https://client.example/callback",
                    scope: peer == .glewlwyd ? "openid read" : "openid"
                )
                let back = try await answer(to: request.url(at: server), of: peer, clientID: clientID)
                let other = try AuthorizationRequest(
                    clientID: clientID,
                    redirectURI: "https://client.example/callback",
                    state: request.state
                )
                let grant = try (isForged ? other : request).grant(from: back, of: server)
                return try await oauth.tokens(for: grant, idToken: .skipIDTokenCheck)
            }
            #expect(try await tokens("none").accessToken.type.lowercased() == "bearer")
            await #expect(throws: OAuth2Error.self) { try await tokens("none", isForged: true) }
            // A client with a secret must authenticate with it.
            if peer == .idpyoidc {
                _ = try await tokens(peer.web)
                return .differs("an endpoint that accepts such clients doesn't require any client's secret")
            }
            await #expect(throws: OAuth2Error.self) { try await tokens(peer.web) }
            return .passed
        }
    }

    /// Returns the URL to which the authorization endpoint redirects the signed-in user `ada`.
    private func answer(to url: URL, of peer: OAuth2Peer, clientID: String? = nil) async throws -> URL {
        let client = NetworkClient(options: .init(timeout: .seconds(120), redirects: .never))
        var request = URLRequest(url: url)
        switch peer {
        case .authlib, .idpyoidc: break
        case .django: request.setValue(try await peer.djangoSession(), forHTTPHeaderField: "Cookie")
        case .glewlwyd:
            let cookie = try await peer.glewlwydSession(clientID: clientID)
            request = URLRequest(url: try #require(URL(string: url.absoluteString + "&g_continue")))
            request.setValue(cookie, forHTTPHeaderField: "Cookie")
        }
        let back = try await #require(throws: ServerError.self, "the authorization endpoint didn't redirect") {
            try await client.makeRequest(request)
        }
        let location = try #require(back.headers["Location"], "the status was \(back.errorCode)")
        return try #require(URL(string: location))
    }
}
