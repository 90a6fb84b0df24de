import Foundation
import FoundationNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: requests", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct RequestServerTests {
    @Test(
        "Pushes a request, and uses its reference at the authorization endpoint",
        arguments: OAuth2Peer.allCases
    )
    func pushedRequests(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Pushed authorization requests", peer) {
            var server = try await peer.server()
            let request = try AuthorizationRequest(
                clientID: peer.web,
                redirectURI: "https://client.example/callback",
                scope: "openid"
            )
            guard server.pushedAuthorizationRequestEndpoint != nil else {
                #expect(try await !peer.mentions("pushed_authorization_request"))
                server.pushedAuthorizationRequestEndpoint = URL(string: try peer.base + "/par/")
                let oauth = OAuth2Client(server: server, clientAuthentication: peer.authentication(peer.web))
                let error = await #expect(throws: OAuth2Error.self) { try await oauth.push(request) }
                #expect(error?.status == 404)
                return .lacks
            }
            let oauth = try await peer.oauth()
            let pushed = try await oauth.push(request)
            #expect(pushed.expiry > .now)
            let url = try pushed.url(at: server)
            guard peer == .idpyoidc else {
                try await checkRedirect(of: url, peer)
                return .passed
            }
            let more = "&response_type=code&scope=openid&redirect_uri=https%3A%2F%2Fclient.example%2Fcallback"
            try await checkRedirect(of: try #require(URL(string: url.absoluteString + more)), peer)
            return .differs("also requires `response_type` and `redirect_uri` in the URL; responds with 200")
        }
    }

    @Test("The server accepts a signed request, and rejects a forged one", arguments: OAuth2Peer.allCases)
    func signedRequests(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Signed authorization requests", peer) {
            let server = try await peer.server()
            let client = peer == .authlib ? "signed_requests" : peer.web
            let request = try AuthorizationRequest(
                clientID: client,
                redirectURI: "https://client.example/callback",
                scope: "openid"
            )
            let service = try ES256SigningService(key: OAuth2Peer.clientKey(), keyID: "client-1")
            let signed = try SignedAuthorizationRequest(request, for: server, signingService: service)
            let more = peer == .idpyoidc ? "&redirect_uri=https%3A%2F%2Fclient.example%2Fcallback" : ""
            let url = try #require(URL(string: try signed.url(at: server).absoluteString + more))
            if peer == .django {
                // The server ignores the signed request, so all parameters are missing.
                #expect(server.metadata["request_parameter_supported"] != true)
                #expect(try await redirect(of: url, cookie: peer.djangoSession()) == "error=400")
                return .lacks
            }
            try await checkRedirect(of: url, peer)
            let forged = try SignedAuthorizationRequest(
                request,
                for: server,
                signingService: try ES256SigningService(key: .generate(.es256), keyID: "client-1")
            )
            let forgedURL = try #require(URL(string: try forged.url(at: server).absoluteString + more))
            #expect(try await redirect(of: forgedURL).contains("error"))
            return peer == .idpyoidc ? .differs("also requires `redirect_uri` outside the signed request") : .passed
        }
    }

    /// Checks that the server redirects the user to the login page, or back with a code.
    private func checkRedirect(of url: URL, _ peer: OAuth2Peer) async throws {
        let location = try await redirect(of: url)
        if peer == .glewlwyd {
            #expect(location.contains("/login.html?"))
        } else {
            #expect(location.hasPrefix("https://client.example/callback?") && location.contains("code="))
        }
        #expect(!location.contains("error="))
    }

    /// Returns the URL to which the authorization endpoint redirects the user.
    private func redirect(of url: URL, cookie: String? = nil) async throws -> String {
        var request = URLRequest(url: url)
        if let cookie { request.setValue(cookie, forHTTPHeaderField: "Cookie") }
        do {
            _ = try await NetworkClient(options: .init(timeout: .seconds(120), redirects: .never))
                .makeRequest(request)
            Issue.record("the authorization endpoint didn't redirect")
            return ""
        } catch let error as ServerError {
            return error.headers["Location"] ?? "error=\(error.errorCode)"
        }
    }
}
