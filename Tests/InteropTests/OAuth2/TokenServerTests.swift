import Foundation
import FoundationNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: tokens", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct TokenServerTests {
    @Test("Discovers a server", arguments: OAuth2Peer.allCases)
    func discovery(peer: OAuth2Peer) async throws {
        for (name, document) in [("OpenID Connect", WellKnownDocument.openID), ("RFC 8414", .oauth2)] {
            try await InteropMatrix.record("Discovery (\(name))", peer) {
                var options = AuthorizationServerDiscovery.Options()
                options.documents = [document]
                options.timing.timeout = .seconds(120)
                let find = {
                    try await AuthorizationServerDiscovery(issuer: peer.issuer, client: peer.client, options: options)
                        .server()
                }
                if peer == .glewlwyd, document == .oauth2 {
                    let error = await #expect(throws: OAuth2Error.self) { try await find() }
                    #expect(error?.status == 404)
                    return .lacks
                }
                let server = try await find()
                let issuer = try peer.issuer
                #expect(server.issuer == issuer)
                #expect(server.keySetURL != nil)
                if peer == .django, document == .openID {
                    #expect(server.introspectionEndpoint == nil && server.registrationEndpoint == nil)
                    return .differs(
                        "lacks the introspection, revocation and registration endpoints of the other document"
                    )
                }
                #expect(server.introspectionEndpoint != nil && server.revocationEndpoint != nil)
                return .passed
            }
        }
    }

    @Test("Gets a token with client credentials", arguments: OAuth2Peer.allCases)
    func clientCredentials(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Client credentials", peer) {
            if peer == .idpyoidc {
                let grant = ClientCredentialsGrant(scope: "openid")
                let authentication = peer.authentication("service")
                #expect(try await peer.refusal(of: grant, authentication).code == .unsupportedTokenType)
                #expect(try await peer.refusal(of: grant, authentication).status == 500)
                return .differs("returns the token type `access_token`; fails on the client's second request")
            }
            let token = try await peer.source(
                ClientCredentialsGrant(scope: "read"),
                peer.authentication(peer.service)
            ).token()
            #expect(token.type.lowercased() == "bearer")
            #expect(token.scope == "read")
            #expect(token.expiry.map { $0 > .now } == true)
            return .passed
        }
    }

    @Test("Authenticates with an encoded secret in the header", arguments: OAuth2Peer.allCases)
    func secretBasic(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("`client_secret_basic`", peer) {
            _ = try await peer.source(peer.grant(), peer.authentication(peer.service)).token()
            let grant = try await peer.grant()
            let wrong = ClientSecretBasic.clientSecretBasic(clientID: peer.service, secret: Secret("wrong"))
            let error = await #expect(throws: OAuth2Error.self) { try await peer.source(grant, wrong).token() }
            switch peer {
            case .glewlwyd:
                #expect(error?.code == .protocolViolation)
                #expect(error?.status == 403)
                return .differs("doesn't decode the ID and secret; sends 403 and an empty body for wrong ones")
            case .idpyoidc:
                #expect(error?.code == .invalidClient)
                return .differs("doesn't decode the ID and secret")
            case .authlib:
                #expect(error?.code == .invalidClient)
                return .differs("doesn't decode `+` as a space, so it works only for secrets without spaces")
            case .django:
                #expect(error?.code == .invalidClient)
                return .passed
            }
        }
    }

    @Test("Authenticates with a signed assertion", arguments: OAuth2Peer.allCases)
    func privateKeyJWT(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("`private_key_jwt`", peer) {
            let server = try await peer.server()
            let service = try ES256SigningService(key: OAuth2Peer.clientKey(), keyID: "client-1")
            guard server.values(of: "token_endpoint_auth_methods_supported")?.contains("private_key_jwt") == true else {
                let assertion = JWTClientAuthentication.privateKeyJWT(clientID: peer.service, signingService: service)
                #expect(try await peer.refusal(of: peer.grant(), assertion).code == .invalidClient)
                return .lacks
            }
            let byIssuer = JWTClientAuthentication.privateKeyJWT(clientID: "private_key_jwt", signingService: service)
            let byURL = JWTClientAuthentication.privateKeyJWT(
                clientID: "private_key_jwt",
                signingService: service,
                audience: .tokenEndpoint
            )
            let grant = { try await peer.grant(clientID: byURL.clientID) }
            _ = try await peer.source(grant(), byURL).token()
            let other = JWTClientAuthentication.privateKeyJWT(
                clientID: "private_key_jwt",
                signingService: try ES256SigningService(key: .generate(.es256), keyID: "client-1")
            )
            await #expect(throws: OAuth2Error.self) { try await peer.source(grant(), other).token() }
            if peer == .glewlwyd || peer == .idpyoidc {
                await #expect(throws: OAuth2Error.self) { try await peer.source(grant(), byIssuer).token() }
                return .differs("requires the token endpoint's URL as the audience, not the issuer")
            }
            _ = try await peer.source(grant(), byIssuer).token()
            return .passed
        }
    }

    @Test("Verifies JWT access tokens with the published keys", arguments: OAuth2Peer.allCases)
    func accessTokens(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("JWT access tokens (RFC 9068)", peer) {
            let source = try await peer.source(peer.grant(), peer.authentication(peer.service))
            let token = try await source.token().value.expose { $0 }
            if peer == .django {
                #expect(token.split(separator: ".").count == 1)
                return .lacks
            }
            let url = try #require(try await peer.server().keySetURL)
            let keys = try JWKSet(parsing: try await peer.client.makeRequest(URLRequest(url: url)))
            let audience =
                switch peer {
                case .glewlwyd: "read"
                case .idpyoidc: peer.service
                default: "\(try peer.base)/api"
                }
            let policy = ValidationPolicy.accessToken(issuer: try peer.issuer, audience: audience)
            if peer == .idpyoidc {
                #expect(throws: TokenError(.typeMismatch, "")) {
                    try JWTVerifier(keys: keys, policy: policy).verify(token)
                }
                let lenient = ValidationPolicy(issuer: .exactly(try peer.issuer), audience: .contains(audience))
                _ = try JWTVerifier(keys: keys, policy: lenient).verify(token)
                return .differs("`typ` is missing; `aud` is the client")
            }
            let verified = try JWTVerifier(keys: keys, policy: policy).verify(token)
            #expect(verified.registered.subject == peer.service)
            #expect(verified.claims["scope"] == "read")
            return peer == .glewlwyd ? .differs("`aud` is the scope") : .passed
        }
    }
}
