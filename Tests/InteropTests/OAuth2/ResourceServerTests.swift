import Foundation
import FoundationNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: resources", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(10)))
struct ResourceServerTests {
    @Test("A resource's refusals are understood", arguments: OAuth2Peer.allCases)
    func challenges(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("401 and 403 of a resource", peer) {
            let request = URLRequest(url: try resource(of: peer))
            let source = try await source(of: peer, scope: peer == .django ? "write" : "openid read")
            _ = try await client(source).makeRequest(request)
            // One that the resource does not know is refused; the call goes with another by itself.
            let unknown = AccessToken(value: Secret("unknown-token"), requested: .now)
            let changing = ClosureTokenSource { need in
                need.isUnwanted(unknown.value) ? try await source.token(for: need) : unknown
            }
            _ = try await client(changing).makeRequest(request)
            let refused = try await refusal(of: StaticTokenSource(unknown), at: peer)
            #expect(refused.errorCode == 401)
            guard peer == .django || peer == .authlib else {
                #expect(refused.headers["WWW-Authenticate"] == nil)
                return .differs("what it brings, UserInfo, refuses without a challenge")
            }
            #expect(refused.challenge("Bearer")?.parameters["error"] == "invalid_token")

            // A token that ends before its time.
            let renewing = OAuth2Authenticator(source: source, resources: .everyHTTPSOrigin)
            let renewingClient = NetworkClient(interceptors: [renewing], options: .init(timeout: .seconds(120)))
            _ = try await renewingClient.makeRequest(request)
            let first = try await renewing.accessToken().value
            _ = try await peer.post("/test/expire", ["token": first.expose { $0 }])
            _ = try await renewingClient.makeRequest(request)
            #expect(try await renewing.accessToken().value != first)

            let narrow = try await refusal(of: self.source(of: peer, scope: "openid"), at: peer)
            #expect(narrow.errorCode == 403)
            guard peer == .authlib else {
                #expect(narrow.cause?.code == .insufficientScope)
                return .passed
            }
            #expect(narrow.headers["WWW-Authenticate"] == nil)
            #expect(narrow.cause == nil)
            return .differs("says `insufficient_scope` in the body only: its 403 has no challenge")
        }
    }

    @Test("A resource says which server has tokens for it", arguments: OAuth2Peer.allCases)
    func metadata(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Metadata of a resource (RFC 9728)", peer) {
            let request = URLRequest(url: try resource(of: peer))
            let stranger = try await #require(throws: ServerError.self) { try await peer.client.makeRequest(request) }
            #expect(stranger.errorCode == 401)
            let place = stranger.challenge("Bearer")?.parameters["resource_metadata"]
            guard peer == .django else {
                #expect(place == nil)
                let url = try #require(URL(string: try peer.base + "/.well-known/oauth-protected-resource"))
                let missing = await #expect(throws: ServerError.self) {
                    try await peer.client.makeRequest(URLRequest(url: url))
                }
                #expect(missing?.errorCode == 404)
                return .lacks
            }
            // From the challenge to the document, to the server, to a token that is good there.
            let url = try #require(place.flatMap(URL.init(string:)))
            let document = try JSONObject(parsing: await peer.client.makeRequest(URLRequest(url: url)))
            #expect(document["resource"]?.string == request.url?.absoluteString)
            let issuer = try #require(document["authorization_servers"]?.array?.first?.string)
            let server = try await AuthorizationServerDiscovery(issuer: issuer, client: peer.client).server()
            let grant = RefreshTokenGrant(refreshToken: try await peer.refreshToken(scope: "write"))
            let authenticator = OAuth2Authenticator(
                server: server,
                clientAuthentication: peer.authentication(peer.web),
                grant: grant,
                resources: .everyHTTPSOrigin,
                client: peer.client
            )
            let client = NetworkClient(interceptors: [authenticator], options: .init(timeout: .seconds(120)))
            _ = try await client.makeRequest(request)
            // Whoever has a token that is good for too little is told the same.
            let narrow = try await refusal(of: self.source(of: peer, scope: "openid"), at: peer)
            #expect(narrow.cause?.demand?.resourceMetadata == url)
            return .passed
        }
    }

    /// What is protected: an API that was made of the library, or what the server brings itself.
    private func resource(of peer: OAuth2Peer) throws -> URL {
        let text =
            switch peer {
            case .django, .authlib: "\(try peer.base)/api"
            case .glewlwyd, .idpyoidc: "\(try peer.issuer)/userinfo"
            }
        return try #require(URL(string: text))
    }

    /// Tokens of the user.
    private func source(of peer: OAuth2Peer, scope: String) async throws -> CachedTokenSource {
        let grant = RefreshTokenGrant(refreshToken: try await peer.refreshToken(scope: scope))
        return CachedTokenSource(try await peer.source(grant, peer.authentication(peer.web)))
    }

    private func client(_ source: any TokenSource) -> NetworkClient {
        NetworkClient(
            interceptors: [OAuth2Authenticator(source: source, resources: .everyHTTPSOrigin)],
            options: .init(timeout: .seconds(120))
        )
    }

    private func refusal(of source: any TokenSource, at peer: OAuth2Peer) async throws -> ServerError {
        let request = URLRequest(url: try resource(of: peer))
        return try await #require(throws: ServerError.self) { try await client(source).makeRequest(request) }
    }
}

extension ServerError {
    /// The challenge of a scheme.
    fileprivate func challenge(_ scheme: String) -> AuthenticationChallenge? {
        AuthenticationChallenge.parse(headers["WWW-Authenticate"] ?? "")
            .first { $0.scheme.lowercased() == scheme.lowercased() }
    }

    /// What the authenticator made of the refusal.
    fileprivate var cause: OAuth2Error? {
        guard case .custom(let error)? = retry?.reason else { return nil }
        return error as? OAuth2Error
    }
}
