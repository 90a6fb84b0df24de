import Foundation
import FoundationNetworking
import Networking
import OAuth2
import TestSupport
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
            let client = peer == .authlib || peer == .canaille ? "signed_requests" : peer.web
            let request = try AuthorizationRequest(
                clientID: client,
                redirectURI: "https://client.example/callback",
                scope: "openid"
            )
            let service = try ES256SigningService(key: OAuth2Peer.clientKey(), keyID: "client-1")
            let signed = try await SignedAuthorizationRequest(request, for: server, signingService: service)
            let more = peer == .idpyoidc ? "&redirect_uri=https%3A%2F%2Fclient.example%2Fcallback" : ""
            let url = try #require(URL(string: try signed.url(at: server).absoluteString + more))
            if peer == .django {
                // The server ignores the signed request, so all parameters are missing.
                #expect(server.metadata["request_parameter_supported"] != true)
                #expect(try await redirect(of: url, cookie: peer.djangoSession()) == "error=400")
                return .lacks
            }
            let cookie = peer == .canaille ? try await peer.canailleSession() : nil
            let forged = try await SignedAuthorizationRequest(
                request,
                for: server,
                signingService: try ES256SigningService(key: .generate(.es256), keyID: "client-1")
            )
            let forgedURL = try #require(URL(string: try forged.url(at: server).absoluteString + more))
            if peer == .mock {
                // The server ignores the signed request and shows its form.
                #expect(server.metadata["request_parameter_supported"] != true)
                _ = try await peer.client.makeRequest(URLRequest(url: forgedURL))
                return .lacks
            }
            try await checkRedirect(of: url, peer, cookie: cookie)
            #expect(try await redirect(of: forgedURL, cookie: cookie).contains("error"))
            return peer == .idpyoidc ? .differs("also requires `redirect_uri` outside the signed request") : .passed
        }
    }

    /// Checks that the server redirects the user to the login page, or back with a code.
    private func checkRedirect(of url: URL, _ peer: OAuth2Peer, cookie: String? = nil) async throws {
        let location = try await redirect(of: url, cookie: cookie)
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

@Suite("OAuth 2 servers: proofs", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct ProofServerTests {
    @Test(
        "requests_oauth2client verifies DPoP proofs with changing nonces of both servers",
        // The servers change their nonces with every request.
        .serialized,
        arguments: [JWSAlgorithm.es256, .es384, .rs256]
    )
    func proofs(algorithm: JWSAlgorithm) async throws {
        let base = try Interop.required("INTEROP_DPOP")
        let authenticator = OAuth2Authenticator(
            client: OAuth2Client(
                server: AuthorizationServer(issuer: base, tokenEndpoint: try #require(URL(string: base + "/token"))),
                clientAuthentication: .clientSecretBasic(clientID: "a", secret: Secret("b")),
                dpop: .generated(algorithm),
                client: NetworkClient(options: .init(timeout: .seconds(120)))
            ),
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin
        )
        let client = NetworkClient(interceptors: [authenticator], options: .init(timeout: .seconds(120)))
        for number in 1...8 {
            let url = try #require(URL(string: "\(base)/api?number=\(number)#there"))
            let answer = try JSONObject(parsing: try await client.makeRequest(URLRequest(url: url)))
            #expect(answer["query"]?.string == "number=\(number)")
        }
        #expect(authenticator.counters.refreshes == 1)
    }

    @Test("requests_oauth2client rejects invalid DPoP proofs")
    func refusals() async throws {
        let base = try Interop.required("INTEROP_DPOP")
        let url = try #require(URL(string: base + "/token"))
        let generator = try DPoPProofGenerator(key: .generate(.es256))
        let wrong = [
            try generator.proof(method: "GET", url: url.absoluteString),
            try generator.proof(method: "POST", url: base + "/other"),
            try generator.proof(method: "POST", url: url.absoluteString, date: Date().addingTimeInterval(-600)),
            try generator.proof(method: "POST", url: url.absoluteString) + "A",
        ]
        for proof in wrong {
            var request = URLRequest(url: url)
            request.httpMethod = "POST"
            request.setValue(proof, forHTTPHeaderField: "DPoP")
            let error = await #expect(throws: ServerError.self) {
                try await NetworkClient(options: .init(timeout: .seconds(120))).makeRequest(request)
            }
            let body = try JSONObject(parsing: try #require(error?.body))
            #expect(body["error"] == "invalid_dpop_proof")
        }
    }

    @Test("Binds tokens to a key", arguments: OAuth2Peer.allCases)
    func boundTokens(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("DPoP", peer) {
            let server = try await peer.server()
            let source = try await peer.source(peer.grant(), peer.authentication(peer.service), dpop: .generated())
            guard server.values(of: "dpop_signing_alg_values_supported")?.contains("ES256") == true else {
                // The server ignores the proof, so the token isn't bound.
                let error = await #expect(throws: OAuth2Error.self) { try await source.token() }
                #expect(error?.code == .unsupportedTokenType)
                guard peer == .idpyoidc else {
                    #expect(try await !peer.mentions("dpop+jwt"))
                    return .lacks
                }
                try await hexadecimalDigests(peer)
                return .libraryRefuses(
                    "doesn't bind tokens, which the client requires; expects `ath` in hexadecimal, so it rejects correct proofs"
                )
            }
            let token = try await source.token()
            #expect(token.type.lowercased() == "dpop")
            let found = try await peer.oauth().introspect(token.value)
            #expect(found.confirmation?["jkt"]?.string == token.proofGenerator?.thumbprint)
            return .passed
        }
    }

    /// Checks that idpyoidc's UserInfo accepts a proof if only the encoding of the token's digest
    /// is changed.
    private func hexadecimalDigests(_ peer: OAuth2Peer) async throws {
        let text = try await peer.source(peer.grant(), peer.authentication(peer.service)).token().value.expose { $0 }
        let url = try #require(URL(string: try peer.base + "/proved-userinfo"))
        let key = try SigningKey.generate(.es256)
        let proof = try DPoPProofGenerator(key: key).proof(method: "GET", url: url.absoluteString, accessToken: text)
        let right = try UnverifiedToken(proof)
        var claims = right.unverifiedClaims
        let ath: String = try #require(claims["ath"]?.string)
        let plain = ath.replacing("-", with: "+").replacing("_", with: "/") + "="
        let digest = try #require(Data(base64Encoded: plain))
        claims["ath"] = .string(digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())
        let wrong = try JWTGenerator(
            header: ["typ": "dpop+jwt", "jwk": try #require(right.unverifiedHeader["jwk"])],
            payload: claims,
            signingService: try ES256SigningService(key: key)
        ).token()
        var request = URLRequest(url: url)
        request.setAuthorization("DPoP \(text)")
        request.setValue(wrong, forHTTPHeaderField: "DPoP")
        _ = try await peer.client.makeRequest(request)
        request.setValue(proof, forHTTPHeaderField: "DPoP")
        let error = await #expect(throws: ServerError.self) { try await peer.client.makeRequest(request) }
        #expect(error?.errorCode == 500)
    }
}

@Suite("OAuth 2 servers: resources", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct ResourceServerTests {
    @Test("Recognizes the error responses of a resource server", arguments: OAuth2Peer.allCases)
    func challenges(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("401 and 403 responses of resources", peer) {
            let request = URLRequest(url: try resource(of: peer))
            let source = try await source(of: peer, scope: peer == .django ? "write" : "openid read")
            _ = try await client(source).makeRequest(request)
            if peer == .mock {
                let unknown = StaticTokenSource(AccessToken(value: Secret("unknown-token"), requested: .now))
                let refused = try await refusal(of: unknown, at: peer)
                #expect(refused.errorCode == 400)
                #expect(refused.headers["WWW-Authenticate"] == nil)
                return .differs("its only resource, UserInfo, responds to unknown tokens with 400 `access_denied`")
            }
            // The resource rejects an unknown token, and the client retries with another.
            let unknown = AccessToken(value: Secret("unknown-token"), requested: .now)
            let changing = ClosureTokenSource { need in
                need.isUnwanted(unknown.value) ? try await source.token(for: need) : unknown
            }
            _ = try await client(changing).makeRequest(request)
            let refused = try await refusal(of: StaticTokenSource(unknown), at: peer)
            #expect(refused.errorCode == 401)
            guard peer == .django || peer == .authlib || peer == .canaille else {
                #expect(refused.headers["WWW-Authenticate"] == nil)
                return .differs("its only resource, UserInfo, sends 401 without a challenge")
            }
            #expect(refused.challenge("Bearer")?.parameters["error"] == "invalid_token")

            // A token that expires early. Canaille's refresh token would expire with it.
            if peer != .canaille {
                let renewing = OAuth2Authenticator(source: source, resources: .everyHTTPSOrigin)
                let renewingClient = NetworkClient(interceptors: [renewing], options: .init(timeout: .seconds(120)))
                _ = try await renewingClient.makeRequest(request)
                let first = try await renewing.accessToken().value
                _ = try await peer.post("/test/expire", ["token": first.expose { $0 }])
                _ = try await renewingClient.makeRequest(request)
                #expect(try await renewing.accessToken().value != first)
            }

            let scope = peer == .canaille ? "read" : "openid"
            let narrow = try await refusal(of: self.source(of: peer, scope: scope), at: peer)
            #expect(narrow.errorCode == 403)
            guard peer == .authlib || peer == .canaille else {
                #expect(narrow.cause?.code == .insufficientScope)
                return .passed
            }
            #expect(narrow.headers["WWW-Authenticate"] == nil)
            #expect(narrow.cause == nil)
            return .differs("sends `insufficient_scope` only in the body of a 403, without a challenge")
        }
    }

    @Test(
        "Finds the authorization server in a resource's metadata",
        .shows("RFC 9728 §5.1"),
        arguments: OAuth2Peer.allCases
    )
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
                client: OAuth2Client(
                    server: server,
                    clientAuthentication: peer.authentication(peer.web),
                    client: peer.client
                ),
                grant: grant,
                resources: .everyHTTPSOrigin
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
            case .glewlwyd, .idpyoidc, .mock: "\(try peer.issuer)/userinfo"
            case .canaille: "\(try peer.issuer)/oauth/userinfo"
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
