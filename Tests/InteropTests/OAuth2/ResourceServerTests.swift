import Foundation
import FoundationNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: resources", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct ResourceServerTests {
    @Test("Recognizes the error responses of a resource server", arguments: OAuth2Peer.allCases)
    func challenges(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("401 and 403 responses of resources", peer) {
            let request = URLRequest(url: try resource(of: peer))
            let source = try await source(of: peer, scope: peer == .django ? "write" : "openid read")
            _ = try await client(source).makeRequest(request)
            // The resource rejects an unknown token, and the client retries with another.
            let unknown = AccessToken(value: Secret("unknown-token"), requested: .now)
            let changing = ClosureTokenSource { need in
                need.isUnwanted(unknown.value) ? try await source.token(for: need) : unknown
            }
            _ = try await client(changing).makeRequest(request)
            let refused = try await refusal(of: StaticTokenSource(unknown), at: peer)
            #expect(refused.errorCode == 401)
            guard peer == .django || peer == .authlib else {
                #expect(refused.headers["WWW-Authenticate"] == nil)
                return .differs("its only resource, UserInfo, sends 401 without a challenge")
            }
            #expect(refused.challenge("Bearer")?.parameters["error"] == "invalid_token")

            // A token that expires early.
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
            return .differs("sends `insufficient_scope` only in the body of a 403, without a challenge")
        }
    }

    @Test("Finds the authorization server in a resource's metadata", arguments: OAuth2Peer.allCases)
    func metadata(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Protected resource metadata (RFC 9728)", peer) {
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
            // Follow the challenge to the document, the server, and a valid token.
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
            // A token with too little scope gets the same metadata URL.
            let narrow = try await refusal(of: self.source(of: peer, scope: "openid"), at: peer)
            #expect(narrow.cause?.demand?.resourceMetadata == url)
            return .passed
        }
    }

    /// Returns the protected resource: an API on the library, or the server's UserInfo.
    private func resource(of peer: OAuth2Peer) throws -> URL {
        let text =
            switch peer {
            case .django, .authlib: "\(try peer.base)/api"
            case .glewlwyd, .idpyoidc: "\(try peer.issuer)/userinfo"
            }
        return try #require(URL(string: text))
    }

    /// Returns a source of the user's tokens.
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
    /// Returns the challenge of a scheme.
    fileprivate func challenge(_ scheme: String) -> AuthenticationChallenge? {
        AuthenticationChallenge.parse(headers["WWW-Authenticate"] ?? "")
            .first { $0.scheme.lowercased() == scheme.lowercased() }
    }

    /// The authenticator's error for the rejection.
    fileprivate var cause: OAuth2Error? {
        guard case .custom(let error)? = retry?.reason else { return nil }
        return error as? OAuth2Error
    }
}
