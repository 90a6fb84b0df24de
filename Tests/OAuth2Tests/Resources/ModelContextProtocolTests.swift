import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import Synchronization
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

/// A client and a resource in the way of the Model Context Protocol.
@Suite("Model Context Protocol", .limitedConcurrency)
struct ModelContextProtocolTests {
    private final class Rejections: Sendable {
        let count = Mutex(0)
    }

    /// The number of tokens that the resource rejects next.
    private let rejections = Rejections()

    @Test(
        "A client that knows only the URL signs in, calls the resource, and replaces a rejected token",
        .shows("O34", "Model Context Protocol 2026-07-28")
    )
    func client() async throws {
        let mock = try MockAuthorizationServer.start()
        try await withLoopbackServer { host async throws in
            let api = host.url(for: "/mcp")
            try serve(host, at: api, tokensOf: mock)
            // Without a token, the resource says where to get one.
            let error = try await #require(throws: ServerError.self) {
                try await NetworkClient().makeRequest(URLRequest(url: api))
            }
            #expect(error.errorCode == 401)
            let resource = try await ProtectedResource.discover(after: error)
            #expect(resource.identifier == api.absoluteString)
            await #expect(throws: OAuth2Error(.issuerMismatch, "")) {
                try await resource.authorizationServer { $0 == "https://as.example" }
            }
            let server = try await resource.authorizationServer { $0 == mock.metadata.issuer }
            #expect(server.values(of: "code_challenge_methods_supported")?.contains("S256") == true)

            let (authenticator, tokens) = try await signIn(at: server, to: resource, api, of: mock)
            try await authenticator.signIn(with: tokens)
            let network = NetworkClient(interceptors: [authenticator])
            #expect(try await network.makeRequest(URLRequest(url: api)) == Data("tools".utf8))

            // The resource rejects the token once: the client gets another one and goes on.
            rejections.count.withLock { $0 = 1 }
            #expect(try await network.makeRequest(URLRequest(url: api)) == Data("tools".utf8))
            let forms = mock.server.requests(for: "/token")
            #expect(forms.count == 2)
            #expect(forms.allSatisfy { $0.formValue("resource") == api.absoluteString })

            // A call that needs more scope says so.
            let call = URLRequest(url: api.appending(path: "call"))
            let narrow = try await #require(throws: ServerError.self) { try await network.makeRequest(call) }
            #expect(narrow.errorCode == 403)
            guard case .custom(let cause)? = narrow.retry?.reason else { throw narrow }
            #expect((cause as? OAuth2Error)?.demand?.scope == ["tools.call"])
        }
        await mock.stop()
    }

    /// Registers a public client, and returns its authenticator and a user's tokens.
    private func signIn(
        at server: AuthorizationServer,
        to resource: ProtectedResource,
        _ api: URL,
        of mock: MockAuthorizationServer
    ) async throws -> (OAuth2Authenticator, IssuedTokens) {
        let redirectURI = "http://127.0.0.1:4711/callback"
        let registered = try await ClientRegistrar(server: server).register(
            ClientMetadata([
                "redirect_uris": [.string(redirectURI)], "client_name": "Assistant", "application_type": "native",
                "token_endpoint_auth_method": "none", "grant_types": ["authorization_code", "refresh_token"],
            ])
        )
        let oauth = OAuth2Client(server: server, clientAuthentication: .none(clientID: registered.clientID))
        let request = try oauth.authorizationRequest(
            redirectURI: redirectURI,
            scope: resource.scope(within: "tools.read tools.call"),
            resources: [resource.identifier]
        )
        var grant = try request.grant(from: await mock.visit(request.url(at: server)), of: server)
        grant.resources = [resource.identifier]
        let tokens = try await oauth.tokens(for: grant, idToken: .skipIDTokenCheck)
        let authenticator = OAuth2Authenticator(
            client: OAuth2Client(
                server: server,
                clientAuthentication: .none(clientID: registered.clientID)
            ),
            grant: UserGrant(identifier: "ada", resources: [resource.identifier]),
            resources: [api]
        )
        return (authenticator, tokens)
    }

    /// Adds a resource that accepts only tokens for itself.
    private func serve(_ host: LoopbackServer, at api: URL, tokensOf mock: MockAuthorizationServer) throws {
        let resource = try ProtectedResource(
            identifier: api.absoluteString,
            authorizationServers: [mock.metadata.issuer],
            scopes: ["tools.read"]
        )
        var verifier = AccessTokenVerifier(
            issuer: mock.metadata.issuer,
            audience: resource.identifier,
            keys: .discovered(
                by: mock.discovery,
                options: RemoteKeySet.Options(cooldown: .zero, timeout: .seconds(600))
            )
        )
        verifier.resourceMetadata = try resource.metadataURL
        host.on(.get, "/.well-known/oauth-protected-resource/mcp", .json(resource.metadata.serialized()))
        for (path, scope) in [("/mcp", "tools.read"), ("/mcp/call", "tools.call")] {
            let url = host.url(for: path).absoluteString
            host.on(.get, path) { [verifier, rejections] request in
                let isRejected = rejections.count.withLock { count in
                    defer { count = 0 }
                    return count > 0
                }
                if isRejected {
                    let challenge = AuthenticationChallenge.format([.bearer(error: .invalidToken)]) ?? ""
                    return .status(401, headers: ["WWW-Authenticate": challenge])
                }
                let protected = ProtectedRequest(method: .get, url: url, headers: request.headers)
                do throws(AccessRefusal) {
                    _ = try await verifier.verify(protected, requires: AccessRequirement(scope: [scope]))
                } catch {
                    return LoopbackResponse.status(error.status, headers: error.headers)
                }
                return LoopbackResponse.text("tools")
            }
        }
    }
}
