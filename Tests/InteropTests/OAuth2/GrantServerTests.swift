import Foundation
import FoundationNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: grants", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct GrantServerTests {
    @Test("Authenticates with a secret in the body", arguments: OAuth2Peer.allCases)
    func secretPost(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("`client_secret_post`", peer) {
            let id = peer == .django ? peer.service : "client_secret_post"
            let authentication = ClientSecretPost.clientSecretPost(clientID: id, secret: peer.secret)
            _ = try await peer.source(peer.grant(clientID: id), authentication).token()
            let wrong = ClientSecretPost.clientSecretPost(clientID: id, secret: Secret("wrong"))
            await #expect(throws: OAuth2Error.self) { try await peer.source(peer.grant(clientID: id), wrong).token() }
            return .passed
        }
    }

    @Test("Authenticates with an assertion signed with the secret", arguments: OAuth2Peer.allCases)
    func secretJWT(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("`client_secret_jwt`", peer) {
            let id = "client_secret_jwt"
            let methods = try await peer.server().values(of: "token_endpoint_auth_methods_supported")
            guard methods?.contains(id) == true else {
                let assertion = try JWTClientAuthentication.clientSecretJWT(clientID: peer.service, secret: peer.secret)
                #expect(try await peer.refusal(of: peer.grant(), assertion).code == .invalidClient)
                return .lacks
            }
            let byURL = try JWTClientAuthentication.clientSecretJWT(
                clientID: id,
                secret: peer.secret,
                audience: .tokenEndpoint
            )
            _ = try await peer.source(peer.grant(clientID: id), byURL).token()
            let byIssuer = try JWTClientAuthentication.clientSecretJWT(clientID: id, secret: peer.secret)
            if peer == .glewlwyd || peer == .idpyoidc {
                await #expect(throws: OAuth2Error.self) {
                    try await peer.source(peer.grant(clientID: id), byIssuer).token()
                }
                return .differs("requires the token endpoint's URL as the audience, not the issuer")
            }
            _ = try await peer.source(peer.grant(clientID: id), byIssuer).token()
            return .passed
        }
    }

    @Test("Gets a token with an assertion about a user", arguments: OAuth2Peer.allCases)
    func jwtBearer(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("JWT bearer", peer) {
            let type = "urn:ietf:params:oauth:grant-type:jwt-bearer"
            let grant = JWTBearerGrant(
                issuer: peer.web,
                subject: "ada",
                audience: try peer.issuer,
                signingService: try ES256SigningService(key: OAuth2Peer.clientKey(), keyID: "client-1"),
                scope: "read"
            )
            guard try await peer.server().values(of: "grant_types_supported")?.contains(type) == true else {
                #expect(try await peer.isRefusalOfGrant(peer.refusal(of: grant)))
                return .lacks
            }
            let token = try await peer.source(grant, peer.authentication(peer.web)).token()
            #expect(try await peer.oauth().introspect(token.value).subject == "ada")
            return .passed
        }
    }

    @Test("Exchanges one token for another", arguments: OAuth2Peer.allCases)
    func exchange(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Token exchange", peer) {
            let type = "urn:ietf:params:oauth:grant-type:token-exchange"
            let server = try await peer.server()
            guard server.values(of: "grant_types_supported")?.contains(type) == true else {
                #expect(try await !peer.mentions(type))
                let subject = StaticTokenSource(AccessToken(value: Secret("a-token"), requested: .now))
                let refusal = try await peer.refusal(of: TokenExchangeGrant(subject: subject, identifier: "ada"))
                #expect(peer.isRefusalOfGrant(refusal))
                return .lacks
            }
            let refresh = RefreshTokenGrant(refreshToken: try await peer.refreshToken(scope: "openid profile"))
            let user = CachedTokenSource(try await peer.source(refresh, peer.authentication(peer.web)))
            let grant = TokenExchangeGrant(subject: user, identifier: "ada", scope: "profile")
            let token = try await peer.source(grant, peer.authentication(peer.web)).token()
            #expect(try await token.value != user.token().value)
            let found = try await peer.oauth().introspect(token.value)
            #expect(found.isActive)
            #expect(found.scope == ["profile"])
            return .passed
        }
    }
}
