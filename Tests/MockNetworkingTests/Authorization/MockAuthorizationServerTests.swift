import Foundation
import MockNetworking
import Networking
import OAuth2
import OpenSSLCrypto
import TestSupport
import Testing
import TokenGeneration

@Suite("MockAuthorizationServer: tokens", .limitedConcurrency, .authorizationPeer)
struct MockAuthorizationServerTests {
    private var peer: AuthorizationPeer { .current }

    // MARK: Requests

    @Test("Rejects a request with a missing or unknown grant")
    func grants() async throws {
        let unknown = try await peer.tokens(("grant_type", "password"))
        #expect((unknown.status, unknown.error) == (400, "unsupported_grant_type"))
        for answer in [try await peer.tokens(), try await peer.tokens(("grant_type", ""))] {
            #expect((answer.status, answer.error) == (400, "invalid_request"))
            #expect(answer.description == "the parameter grant_type is missing")
        }
        let noToken = try await peer.tokens(("grant_type", "refresh_token"))
        #expect(noToken.error == "invalid_request")
    }

    @Test("Rejects every repeated parameter")
    func repeatedParameters() async throws {
        for name in ["grant_type", "scope", "anything"] {
            let answer = try await peer.tokens(
                ("grant_type", "client_credentials"),
                (name, "client_credentials"),
                (name, "client_credentials")
            )
            #expect((answer.status, answer.error) == (400, "invalid_request"))
            #expect(answer.description == "a parameter is repeated")
        }
    }

    @Test("Rejects a body that isn't a form, and accepts a form with a charset")
    func notAForm() async throws {
        for type in ["application/json", "text/plain", "multipart/form-data; boundary=x"] {
            let answer = try await peer.post(
                body: "grant_type=client_credentials",
                headers: peer.basic(),
                contentType: type
            )
            #expect((answer.status, answer.error) == (400, "invalid_request"))
        }
        let answer = try await peer.post(
            body: "grant_type=client_credentials",
            headers: peer.basic(),
            contentType: "application/X-WWW-form-urlencoded; charset=UTF-8"
        )
        #expect(answer.status == 200)
    }

    @Test("Grants the requested scope if the client may request it")
    func scopes() async throws {
        let granted = try await peer.tokens(("grant_type", "client_credentials"), ("scope", "read write"))
        #expect(granted.body["scope"] == "read write")
        let refused = try await peer.tokens(("grant_type", "client_credentials"), ("scope", "read admin"))
        #expect((refused.status, refused.error) == (400, "invalid_scope"))
        let any = try await peer.post(
            [("grant_type", "client_credentials"), ("scope", "admin")],
            headers: peer.basic("free", secret: "free")
        )
        #expect(any.body["scope"] == "admin")
    }

    // MARK: Access tokens

    @Test("Responds with a token response that must not be stored")
    func response() async throws {
        let answer = try await peer.tokens(("grant_type", "client_credentials"))
        #expect(answer.status == 200)
        #expect(answer.headers["Cache-Control"] == "no-store")
        #expect(answer.body["token_type"] == "Bearer")
        #expect(answer.body["expires_in"] == 300)
        #expect(answer.refreshToken == nil)
        #expect(answer.body["scope"] == nil)
    }

    @Test("Issues an access token with an audience that the published keys verify")
    func keySet() async throws {
        let answer = try await peer.tokens(("grant_type", "client_credentials"), ("scope", "read"))
        let published = try await peer.get(peer.server.server.url(for: "/jwks"))
        let keys = try JWKSet(parsing: published.body)
        #expect(keys.serialized() == peer.server.keys.serialized())
        #expect(!keys.serialized().contains("\"d\""))
        let date = peer.time.date
        let policy = ValidationPolicy(
            issuer: .exactly(peer.server.metadata.issuer),
            audience: .contains(peer.server.metadata.issuer),
            subject: "secretive",
            type: "at+jwt",
            currentDate: { date }
        )
        let token = try JWTVerifier(keys: keys, policy: policy).verify(answer.accessToken)
        #expect(token.claims["client_id"] == "secretive")
        #expect(token.claims["scope"] == "read")
        #expect(token.claims["exp"] == 1_000_000_300)
    }

    @Test("Issues a token with the longest lifetime")
    func longestLifetime() async throws {
        try await AuthorizationPeer.with({ $0.tokenLifetime = .seconds(Int64.max) }) { peer in
            let answer = try await peer.tokens(("grant_type", "client_credentials"))
            #expect(answer.status == 200)
        }
    }

    @Test("A token that is bound to a key and a certificate names both")
    func bindings() throws {
        let certificate = try MockCertificateAuthority().issueClientCertificate().certificateDER
        let token = try peer.server.issueAccessToken(
            clientID: "app",
            subject: "ada",
            keyThumbprint: "thumbprint",
            certificateDER: certificate
        )
        let hash = Base64URL.encode(try Certificate(der: Array(certificate)).fingerprint(.sha256))
        let confirmation = try UnverifiedToken(token).unverifiedClaims["cnf"]?.object
        #expect(confirmation == ["jkt": "thumbprint", "x5t#S256": .string(hash)])
    }

    @Test("An access token is active until it expires or is revoked")
    func activity() async throws {
        let token = try await peer.tokens(("grant_type", "client_credentials")).accessToken
        #expect(peer.server.isActive(token))
        #expect(!peer.server.isActive(token + "x"))
        peer.time.advance(by: .seconds(299))
        #expect(peer.server.isActive(token))
        peer.time.advance(by: .seconds(1))
        #expect(!peer.server.isActive(token))
        let other = try await peer.tokens(("grant_type", "client_credentials")).accessToken
        peer.server.revokeAccessTokens()
        #expect(!peer.server.isActive(other))
        #expect(peer.server.issuedTokenCount == 2)
        #expect(peer.server.tokenRequestCount == 2)
    }

    @Test("A protected route accepts requests with an active token, and challenges others")
    func protecting() async throws {
        let url = peer.server.server.url(for: "/reports")
        peer.server.server.on(.get, "/reports", peer.server.protecting { _ in .text("ok") })
        let none = try await peer.get(url)
        #expect((none.status, none.headers["WWW-Authenticate"]) == (401, #"Bearer realm="mock""#))
        let basic = try await peer.get(url, headers: peer.basic())
        #expect((basic.status, basic.headers["WWW-Authenticate"]) == (401, #"Bearer realm="mock""#))
        let wrong = try await peer.get(url, headers: ["Authorization": "Bearer x"])
        let challenge = try #require(wrong.headers["WWW-Authenticate"].map(AuthenticationChallenge.parse)?.first)
        #expect(wrong.status == 401)
        #expect(challenge.parameters["error"] == "invalid_token")
        let token = try await peer.tokens(("grant_type", "client_credentials")).accessToken
        for scheme in ["Bearer", "bearer"] {
            let right = try await peer.get(url, headers: ["Authorization": "\(scheme) \(token)"])
            #expect((right.status, right.body) == (200, Data("ok".utf8)))
        }
    }

    @Test("A protected route accepts a token only with the certificate that it's bound to", .shows("RFC 8705 §2, §5"))
    func protectingBound() async throws {
        let authority = try MockCertificateAuthority()
        var tls = LoopbackServer.TLS(certificate: try authority.issueServerCertificate())
        tls.clientAuthentication = .requested(issuedBy: authority)
        var configuration = LoopbackServer.Configuration()
        configuration.tls = tls
        let certificates = try (0..<2).map { _ in try authority.issueClientCertificate() }
        let token = try peer.server.issueAccessToken(
            clientID: "app",
            subject: "ada",
            certificateDER: certificates[0].certificateDER
        )
        try await withLoopbackServer(configuration: configuration) { server in
            server.on(.get, "/", peer.server.protecting { _ in .text("ok") })
            for (certificate, status) in [(certificates[0], 200), (certificates[1], 401), (nil, 401)] {
                var tls = TLSConfiguration(trustRoots: try .pem(authority.certificatePEM))
                tls.clientIdentity = try certificate.map {
                    try ClientIdentity(certificateChain: $0.chainPEM, privateKey: $0.privateKeyPEM)
                }
                let transport = try CurlTransport(configuration: .init(proxy: .none, tls: tls))
                let request = HTTPRequest(url: server.url(for: "/"), headers: ["Authorization": "Bearer \(token)"])
                let response = try await transport.send(request, limits: .init(deadline: .now + .seconds(120)))
                #expect(response.status == status)
                let challenge = response.headers["WWW-Authenticate"].map(AuthenticationChallenge.parse)?.first
                #expect(challenge?.parameters["error"] == (status == 401 ? "invalid_token" : nil))
                await transport.close()
            }
        }
    }

    // MARK: Other endpoints

    @Test("Revocation ignores unknown tokens and other clients' tokens, and requires a known client")
    func revocationOfOthers() async throws {
        let token = try await peer.tokens(("grant_type", "client_credentials")).accessToken
        let free = peer.basic("free", secret: "free")
        #expect(try await peer.post([("token", "unknown")], to: "/revoke", headers: free).status == 200)
        #expect(try await peer.post([("token", token)], to: "/revoke", headers: free).status == 200)
        #expect(peer.server.isActive(token))
        #expect(try await peer.post([("token", token)], to: "/revoke").error == "invalid_client")
        #expect(try await peer.post([], to: "/revoke", headers: free).error == "invalid_request")
        #expect(peer.server.isActive(token))
    }

    @Test("The metadata document lists all endpoints")
    func metadata() async throws {
        let url = peer.server.server.url(for: "/.well-known/oauth-authorization-server")
        let response = try await peer.get(url)
        let document = try JSONObject(parsing: response.body)
        #expect(response.headers["Content-Type"] == "application/json")
        #expect(document["issuer"]?.string == peer.server.metadata.issuer)
        #expect(document["token_endpoint"]?.string == peer.server.metadata.tokenEndpoint.absoluteString)
        let jwks = try #require(document["jwks_uri"]?.string.flatMap { URL(string: $0) })
        #expect(try await peer.get(jwks).status == 200)
        #expect(document["revocation_endpoint"]?.string == peer.server.server.url(for: "/revoke").absoluteString)
        for name in ["authorization_endpoint", "device_authorization_endpoint", "introspection_endpoint"] {
            #expect(document[name]?.string?.hasPrefix(peer.server.metadata.issuer) == true)
        }
        #expect(document["mtls_endpoint_aliases"] == nil)
        #expect(
            document["token_endpoint_auth_methods_supported"] == [
                "none", "client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt",
                "tls_client_auth", "self_signed_tls_client_auth",
            ]
        )
    }

    @Test("Prepared responses replace the next ones in order, and are counted")
    func preparedAnswers() async throws {
        peer.server.misbehave(.response(.json("{}", status: 503)), .response(.json(#"{"error":"slow_down"}"#)))
        let first = try await peer.tokens(("grant_type", "client_credentials"))
        #expect(first.status == 503)
        let second = try await peer.tokens(("grant_type", "client_credentials"))
        #expect(second.error == "slow_down")
        let third = try await peer.tokens(("grant_type", "client_credentials"))
        #expect(third.status == 200)
        #expect(peer.server.tokenRequestCount == 3)
        #expect(peer.server.issuedTokenCount == 1)
    }

    @Test("A change of members has no effect on a response without JSON")
    func changedMembers() async throws {
        peer.server.misbehave(at: .revocation, .members(["error": "invalid_request"]))
        let answer = try await peer.post([("token", "unknown")], to: "/revoke", headers: peer.basic())
        #expect((answer.status, answer.error) == (200, nil))
    }

    @Test("Fails to respond with encrypted claims for a client without a key")
    func noEncryptionKey() async throws {
        var client = MockAuthorizationServer.Client(id: "keyless", authentication: .none)
        client.metadata.members["userinfo_encrypted_response_alg"] = "ECDH-ES+A256KW"
        client.metadata.members["userinfo_encrypted_response_enc"] = "A256GCM"
        peer.server.register(client)
        let token = try peer.server.issueAccessToken(clientID: "keyless", subject: "ada")
        let url = peer.server.server.url(for: "/userinfo")
        #expect(try await peer.get(url, headers: ["Authorization": "Bearer \(token)"]).status == 500)
        #expect(peer.server.server.handlerErrors.map { ($0 as? TokenError)?.code } == [.unknownKey])
    }

    // MARK: Other grants

    @Test("Rejects an assertion of an issuer that isn't trusted, and a custom grant that fails")
    func otherGrants() async throws {
        struct Failure: Error {}
        let stranger = try peer.assertion(peer.claims(["iss": "https://stranger.example"]))
        let type = "urn:ietf:params:oauth:grant-type:jwt-bearer"
        let untrusted = try await peer.tokens(("grant_type", type), ("assertion", stranger))
        #expect((untrusted.status, untrusted.error) == (400, "invalid_grant"))
        #expect(untrusted.description == "the assertion's issuer isn't trusted")
        peer.server.onGrant("urn:example:grant") { _ in throw Failure() }
        let failed = try await peer.tokens(("grant_type", "urn:example:grant"))
        #expect((failed.status, failed.error) == (500, "server_error"))
        #expect(peer.server.issuedTokenCount == 0)
    }

    @Test("Exchanges an active token for one with the requested scope", .shows("RFC 8693 §2"))
    func tokenExchange() async throws {
        let subject = try await peer.tokens(("grant_type", "client_credentials"), ("scope", "read")).accessToken
        let exchange = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"), ("scope", "reports"),
            ("subject_token", subject),
        ]
        let type = ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token")
        let answer = try await peer.post(exchange + [type])
        #expect(answer.status == 200)
        #expect(answer.body["issued_token_type"] == "urn:ietf:params:oauth:token-type:access_token")
        #expect(answer.body["scope"] == "reports")
        #expect(peer.server.isActive(answer.accessToken))
        #expect(answer.accessToken != subject)
        let otherType = ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt")
        #expect(try await peer.post(exchange + [otherType]).error == "invalid_request")
        #expect(try await peer.post(exchange).error == "invalid_request")
        let actorType = ("actor_token_type", "urn:ietf:params:oauth:token-type:access_token")
        let actorless = try await peer.post(exchange + [type, actorType])
        #expect((actorless.status, actorless.error) == (400, "invalid_request"))
        #expect(actorless.description == "actor_token_type requires an actor_token")
        let refreshType = "urn:ietf:params:oauth:token-type:refresh_token"
        let refresh = try await peer.post(exchange + [type, ("requested_token_type", refreshType)])
        #expect((refresh.body["issued_token_type"]?.string, refresh.body["token_type"]) == (refreshType, "N_A"))
        let refreshed = try await peer.tokens(("grant_type", "refresh_token"), ("refresh_token", refresh.accessToken))
        #expect((refreshed.status, refreshed.body["scope"]) == (200, "reports"))
        peer.server.revokeAccessTokens()
        #expect(try await peer.post(exchange + [type]).error == "invalid_request")
    }
}

@Suite("MockAuthorizationServer: refresh tokens", .limitedConcurrency, .authorizationPeer)
struct RefreshTokenRotationTests {
    private var peer: AuthorizationPeer { .current }

    @Test("Each use of a refresh token replaces it and keeps the scope")
    func rotation() async throws {
        var token = peer.server.issueRefreshToken(clientID: "secretive", subject: "ada", scope: "read")
            .expose { $0 }
        var seen: Set = [token]
        for _ in 1...3 {
            let answer = try await refresh(token)
            #expect(answer.status == 200)
            #expect(answer.body["scope"] == "read")
            token = try #require(answer.refreshToken)
            #expect(seen.insert(token).inserted)
            #expect(try UnverifiedToken(answer.accessToken).unverifiedClaims["sub"] == "ada")
        }
    }

    @Test("Using a replaced refresh token revokes its token chain, and nothing else", .shows("RFC 9700 §2.2.2, §4.14"))
    func reuse() async throws {
        let first = peer.server.issueRefreshToken(clientID: "secretive", subject: "ada").expose { $0 }
        let others = peer.server.issueRefreshToken(clientID: "secretive", subject: "bob").expose { $0 }
        let answer = try await refresh(first)
        let other = try await refresh(others)
        let reuse = try await refresh(first)
        #expect((reuse.status, reuse.error) == (400, "invalid_grant"))
        #expect(!peer.server.isActive(answer.accessToken))
        #expect(try await refresh(try #require(answer.refreshToken)).error == "invalid_grant")
        #expect(peer.server.isActive(other.accessToken))
        #expect(try await refresh(try #require(other.refreshToken)).status == 200)
    }

    @Test("Accepts a refresh token repeatedly without rotation")
    func noRotation() async throws {
        try await AuthorizationPeer.with(rotates: false) { peer in
            let token = peer.server.issueRefreshToken(clientID: "secretive", subject: "ada").expose { $0 }
            for _ in 1...3 {
                let answer = try await refresh(token, at: peer)
                #expect(answer.status == 200)
                #expect(answer.refreshToken == nil)
            }
        }
    }

    @Test("Rejects another client's refresh token, which stays valid for its own client")
    func anothersToken() async throws {
        let token = peer.server.issueRefreshToken(clientID: "free", subject: "ada").expose { $0 }
        #expect(try await refresh(token).error == "invalid_grant")
        #expect(try await refresh("unknown").error == "invalid_grant")
        let answer = try await peer.post(
            [("grant_type", "refresh_token"), ("refresh_token", token)],
            headers: peer.basic("free", secret: "free")
        )
        #expect(answer.status == 200)
    }

    @Test("A refresh can narrow the scope of the access token, but not widen it")
    func refreshScope() async throws {
        let token = peer.server.issueRefreshToken(clientID: "secretive", subject: "ada", scope: "read write")
            .expose { $0 }
        let wide = try await refresh(token, scope: "read admin")
        #expect((wide.status, wide.error) == (400, "invalid_scope"))
        let narrow = try await refresh(token, scope: "read")
        #expect(narrow.body["scope"] == "read")
        let next = try await refresh(try #require(narrow.refreshToken))
        #expect(next.body["scope"] == "read write")
    }

    @Test("Narrows the scope for a replaced refresh token, too, as long as it's accepted")
    func scopeInGrace() async throws {
        try await AuthorizationPeer.with({ $0.refreshTokenGrace = .seconds(10) }) { peer in
            let token = peer.server.issueRefreshToken(clientID: "secretive", subject: "ada", scope: "read write")
                .expose { $0 }
            let first = try await refresh(token, at: peer)
            let again = try await refresh(token, at: peer, scope: "read")
            #expect(again.refreshToken == first.refreshToken)
            #expect(again.body["scope"] == "read")
            #expect(try await refresh(token, at: peer, scope: "admin").error == "invalid_scope")
        }
    }

    @Test("Revokes all refresh tokens and the access tokens derived from them")
    func revokeRefreshTokens() async throws {
        let token = peer.server.issueRefreshToken(clientID: "secretive", subject: "ada").expose { $0 }
        let answer = try await refresh(token)
        let client = try await peer.tokens(("grant_type", "client_credentials"))
        peer.server.revokeRefreshTokens()
        #expect(!peer.server.isActive(answer.accessToken))
        #expect(peer.server.isActive(client.accessToken))
        #expect(try await refresh(try #require(answer.refreshToken)).error == "invalid_grant")
    }

    @Test("Revoking a token deactivates it and its refresh token")
    func revocation() async throws {
        let token = peer.server.issueRefreshToken(clientID: "secretive", subject: "ada").expose { $0 }
        let answer = try await refresh(token)
        let access = try await peer.post([("token", answer.accessToken)], to: "/revoke", headers: peer.basic())
        #expect(access.status == 200)
        #expect(!peer.server.isActive(answer.accessToken))
        let again = try await refresh(try #require(answer.refreshToken))
        #expect(again.status == 200)
        let successor = try #require(again.refreshToken)
        #expect(try await peer.post([("token", successor)], to: "/revoke", headers: peer.basic()).status == 200)
        #expect(!peer.server.isActive(again.accessToken))
        #expect(try await refresh(successor).error == "invalid_grant")
    }

    private func refresh(
        _ token: String,
        at other: AuthorizationPeer? = nil,
        scope: String? = nil
    ) async throws -> AuthorizationPeer.Answer {
        let form = [("grant_type", "refresh_token"), ("refresh_token", token)] + (scope.map { [("scope", $0)] } ?? [])
        return try await (other ?? peer).post(form, headers: peer.basic())
    }
}
