import Foundation
import OAuth2
import Testing
import TokenGeneration
import WorkloadIdentity

/// Tests of tokens that another program has written to a file, at servers that support their use.
@Suite("OAuth 2 servers: tokens in files", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
final class PlatformTokenServerTests {
    private let file = FileManager.default.temporaryDirectory.appending(path: "platform-\(UUID().uuidString)")

    deinit { try? FileManager.default.removeItem(at: file) }

    private func write(_ token: String) throws {
        try Data((token + "\n").utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    }

    /// Writes a JWT that the client's key signs, as a platform would.
    private func source(issuer: String, subject: String, audience: String) throws -> FileTokenSource {
        var claims = RegisteredClaims(
            issuer: issuer,
            subject: subject,
            audience: [audience],
            jwtID: UUID().uuidString
        )
        claims.setTimes(lifetime: .seconds(300), issuedAt: Date())
        try write(OAuth2Peer.clientKey().identified(by: "client-1").sign(claims))
        return FileTokenSource(path: file.path, audience: audience)
    }

    @Test("Authenticates the client with an assertion in a file", arguments: [OAuth2Peer.authlib, .idpyoidc])
    func assertion(peer: OAuth2Peer) async throws {
        let server = try await peer.server()
        let client = "private_key_jwt"
        // See TokenServerTests.privateKeyJWT.
        let audience = peer == .idpyoidc ? server.tokenEndpoint.absoluteString : server.issuer
        let authentication = SignedAssertionAuthentication(
            clientID: client,
            assertion: try source(issuer: client, subject: client, audience: audience)
        )
        let token = try await peer.source(peer.grant(clientID: client), authentication).token()
        let isEmpty = token.value.expose { $0.isEmpty }
        #expect(!isEmpty)
    }

    @Test("Sends an assertion in a file as a grant", arguments: [OAuth2Peer.authlib])
    func jwtBearer(peer: OAuth2Peer) async throws {
        let assertion = try source(issuer: peer.web, subject: "ada", audience: try peer.issuer)
        let grant = JWTBearerGrant(assertion: assertion, identifier: "ada", scope: "read")
        let token = try await peer.source(grant, peer.authentication(peer.web)).token()
        #expect(try await peer.oauth().introspect(token.value).subject == "ada")
    }

    @Test("Exchanges a token in a file", arguments: [OAuth2Peer.idpyoidc])
    func exchange(peer: OAuth2Peer) async throws {
        let refresh = RefreshTokenGrant(refreshToken: try await peer.refreshToken(scope: "openid profile"))
        let user = try await peer.source(refresh, peer.authentication(peer.web)).token()
        try write(user.value.expose { $0 })
        let grant = TokenExchangeGrant(
            subject: FileTokenSource(path: file.path, type: .accessToken),
            identifier: "ada",
            scope: "profile"
        )
        let token = try await peer.source(grant, peer.authentication(peer.web)).token()
        #expect(token.value != user.value)
        let found = try await peer.oauth().introspect(token.value)
        #expect(found.scope == ["profile"])
    }
}
