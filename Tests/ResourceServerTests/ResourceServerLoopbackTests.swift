import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

/// Tests of verifiers and the mock authorization server over real sockets.
@Suite("Resource server: loopback", .limitedConcurrency)
struct ResourceServerLoopbackTests {
    private static let audience = "https://api.example"

    /// A long timeout for busy machines.
    private static let options = RemoteKeySet.Options(cooldown: .zero, timeout: .seconds(300))

    private func withServer(_ body: (MockAuthorizationServer) async throws -> Void) async throws {
        try await withAuthorizationServer(clients: [.init(id: "shop", secret: "s3cret")], body)
    }

    private func verifier(_ server: MockAuthorizationServer) -> AccessTokenVerifier {
        AccessTokenVerifier(
            issuer: server.metadata.issuer,
            audience: Self.audience,
            keys: .discovered(
                by: server.discovery,
                options: Self.options
            )
        )
    }

    private func request(_ token: String, scheme: String = "Bearer", _ more: HTTPHeaders = [:]) -> ProtectedRequest {
        var headers = more
        headers["Authorization"] = "\(scheme) \(token)"
        return ProtectedRequest(method: .get, url: "https://api.example/orders", headers: headers)
    }

    // MARK: Access tokens

    @Test("Issuer, discovery, keys and token are all that's needed")
    func discovery() async throws {
        try await withServer { server in
            let verifier = verifier(server)
            let token = try server.issueAccessToken(
                clientID: "shop",
                subject: "ada",
                scope: "orders.read",
                audience: Self.audience
            )
            for _ in 1...20 {
                let found = try await verifier.verify(
                    request(token),
                    requires: AccessRequirement(scope: ["orders.read"])
                )
                #expect(found.subject == "ada")
            }
            #expect(server.server.requests(for: "/jwks").count == 1)
            let other = try server.issueAccessToken(clientID: "shop", subject: "ada")
            await #expect(throws: AccessRefusal(.invalidToken, "")) { try await verifier.verify(request(other)) }
        }
    }

    @Test("Supports the rotation and withdrawal of keys")
    func rotation() async throws {
        try await withServer { server in
            let verifier = verifier(server)
            func token() throws -> String {
                try server.issueAccessToken(clientID: "shop", subject: "ada", audience: Self.audience)
            }
            let first = try token()
            _ = try await verifier.verify(request(first))
            try server.rotateKeys()
            _ = try await verifier.verify(request(try token()))
            _ = try await verifier.verify(request(first))
            try server.rotateKeys(withdrawingOld: true)
            _ = try await verifier.verify(request(try token()))
            await #expect(throws: AccessRefusal(.invalidToken, "")) { try await verifier.verify(request(first)) }
            #expect(server.keys.keys.count == 1)
        }
    }

    @Test("Accepts a token that the token endpoint bound to a key, with a proof")
    func dpop() async throws {
        try await withServer { server in
            var verifier = verifier(server)
            verifier.dpop = DPoPVerifier(replayCache: InMemoryReplayCache())
            // Tokens from the mock's token endpoint have the mock itself as their audience.
            verifier.policy.audience = .contains(server.metadata.issuer)
            let key = try DPoPKey.key(.generate(.es256))
            let authenticator = OAuth2Authenticator(
                client: OAuth2Client(
                    server: server.metadata,
                    clientAuthentication: .clientSecretBasic(clientID: "shop", secret: Secret("s3cret")),
                    dpop: key
                ),
                grant: ClientCredentialsGrant(scope: "orders.read"),
                resources: .everyHTTPSOrigin
            )
            let token = try await authenticator.accessToken()
            let text = token.value.expose { $0 }
            let proof = try #require(token.proofGenerator).proof(
                method: "GET",
                url: "https://api.example/orders",
                accessToken: text
            )
            let found = try await verifier.verify(request(text, scheme: "DPoP", ["DPoP": proof]))
            #expect((found.binding, found.scope) == (.key, ["orders.read"]))
        }
    }

    @Test("Accepts a token bound to a certificate, with the certificate")
    func certificate() async throws {
        try await withServer { server in
            let certificate = Data("the DER of a certificate".utf8)
            let token = try server.issueAccessToken(
                clientID: "shop",
                subject: "ada",
                audience: Self.audience,
                certificateDER: certificate
            )
            var request = request(token)
            request.clientCertificateDER = certificate
            #expect(try await verifier(server).verify(request).binding == .certificate)
        }
    }

    @Test("Introspects opaque tokens, and rejects a revoked one at the next introspection")
    func introspection() async throws {
        try await withServer { server in
            let client = OAuth2Client(
                server: server.metadata,
                clientAuthentication: .clientSecretBasic(clientID: "shop", secret: Secret("s3cret"))
            )
            let introspection = CachedTokenIntrospection(client)
            let issuer = server.metadata.issuer
            var verifier = AccessTokenVerifier(issuer: issuer, audience: issuer, keys: nil)
            verifier.introspection = introspection
            let token = try server.issueAccessToken(clientID: "shop", subject: "ada", scope: "orders.read")
            for _ in 1...5 { #expect(try await verifier.verify(request(token)).subject == "ada") }
            #expect(server.server.requests(for: "/introspect").count == 1)
            server.revoke(token)
            #expect(try await verifier.verify(request(token)).subject == "ada")
            introspection.forget(Secret(token))
            await #expect(throws: AccessRefusal(.invalidToken, "")) { try await verifier.verify(request(token)) }
        }
    }

    // MARK: ID tokens

    @Test("Rejects an ID token as an access token, and an access token as an ID token", .shows("F9"))
    func confusion() async throws {
        try await withServer { server in
            let idToken = try server.issueIDToken(clientID: Self.audience, subject: "ada")
            await #expect(throws: AccessRefusal(.invalidToken, "")) {
                try await verifier(server).verify(request(idToken))
            }
            let accessToken = try server.issueAccessToken(clientID: "shop", subject: "ada", audience: "shop")
            let idTokens = IDTokenVerifier(
                issuer: server.metadata.issuer,
                clientID: "shop",
                keys: .fixed(server.keys),
                algorithms: [.es256]
            )
            await #expect(throws: TokenError(.typeMismatch, "")) { try await idTokens.verify(accessToken, nonce: nil) }
        }
    }
}
