import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import Synchronization
import TestSupport
import Testing
import TokenGeneration

/// The snippets about resources that name their authorization server, and a client and a server in
/// the way of the Model Context Protocol.
@Suite("Snippets: protected resources", .limitedConcurrency)
struct ProtectedResourceSnippets {
    private struct PKCEMissing: Error {}

    private final class Rejections: Sendable {
        let count = Mutex(0)
    }

    /// The number of tokens that the resource rejects next.
    private let rejections = Rejections()

    @Test("Publishes the metadata of a resource")
    func publication() throws {
        let resource = try ProtectedResource(
            identifier: "https://mcp.example/mcp",
            authorizationServers: ["https://as.example"],
            scopes: ["tools.read", "tools.call"]
        )
        var verifier = AccessTokenVerifier(
            discovery: AuthorizationServerDiscovery(issuer: "https://as.example"),
            audience: resource.identifier
        )
        verifier.resourceMetadata = try resource.metadataURL
        let document = resource.metadata.serialized()
        #expect(document.contains(#""resource":"https://mcp.example/mcp""#))
        #expect(
            verifier.resourceMetadata?.absoluteString == "https://mcp.example/.well-known/oauth-protected-resource/mcp"
        )
    }

    @Test("A client that knows only the URL signs in, calls the resource, and survives the end of its token")
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
            await #expect(throws: OAuth2Error(.issuerMismatch, "")) { try await discover(error) }
            let resource = try await ProtectedResource.discover(after: error)
            let server = try await resource.authorizationServer { $0 == mock.metadata.issuer }
            #expect(resource.identifier == api.absoluteString)

            let redirectURI = "http://127.0.0.1:4711/callback"
            let description: JSONObject = [
                "redirect_uris": [.string(redirectURI)], "client_name": "Assistant", "application_type": "native",
                "token_endpoint_auth_method": "none", "grant_types": ["authorization_code", "refresh_token"],
            ]
            let browser = { @Sendable url in try await mock.visit(url) }
            let supported = server.values(of: "code_challenge_methods_supported")
            guard supported?.contains("S256") == true else { throw PKCEMissing() }
            let client = try await ClientRegistrar(server: server)
                .register(ClientMetadata(description))
            let oauth = OAuth2Client(
                server: server,
                clientAuthentication: .none(clientID: client.clientID)
            )
            let request = try oauth.authorizationRequest(
                redirectURI: redirectURI,
                scope: resource.scope(within: "tools.read tools.call"),
                resources: [resource.identifier]
            )
            let redirect = try await browser(try request.url(at: server))
            var grant = try request.grant(from: redirect, of: server)
            grant.resources = [resource.identifier]
            let tokens = try await oauth.tokens(
                for: grant,
                idToken: .skipIDTokenCheck
            )

            let authenticator = OAuth2Authenticator(
                server: server,
                clientAuthentication: .none(clientID: client.clientID),
                grant: UserGrant(identifier: "ada", resources: [resource.identifier]),
                resources: [api]
            )
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

    @Test("A client publishes its metadata")
    func clientDocument() throws {
        var metadata = ClientMetadata(["client_name": "Assistant"])
        metadata.redirectURIs = ["http://127.0.0.1/callback"]
        metadata.grantTypes = ["authorization_code", "refresh_token"]
        let document = try ClientIDMetadataDocument(
            clientID: "https://assistant.example/client.json",
            metadata: metadata
        )
        #expect(document.metadata.tokenEndpointAuthenticationMethod == "none")
    }

    func discover(
        _ error: ServerError
    ) async throws -> (ProtectedResource, AuthorizationServer) {
        let resource = try await ProtectedResource.discover(after: error)
        let server = try await resource.authorizationServer { issuer in
            issuer == "https://as.example"
        }
        return (resource, server)
    }

    /// Adds a resource that accepts only tokens for itself.
    private func serve(_ host: LoopbackServer, at api: URL, tokensOf mock: MockAuthorizationServer) throws {
        let resource = try ProtectedResource(
            identifier: api.absoluteString,
            authorizationServers: [mock.metadata.issuer],
            scopes: ["tools.read"]
        )
        var verifier = AccessTokenVerifier(
            discovery: AuthorizationServerDiscovery(issuer: mock.metadata.issuer),
            audience: resource.identifier,
            options: RemoteKeySet.Options(cooldown: .zero)
        )
        verifier.resourceMetadata = try resource.metadataURL
        let document = resource.metadata.serialized()
        host.on(.get, "/.well-known/oauth-protected-resource/mcp", .json(document))
        for (path, scope) in [("/mcp", "tools.read"), ("/mcp/call", "tools.call")] {
            let url = host.url(for: path).absoluteString
            host.on(.get, path) { [verifier, rejections] request in
                if rejections.count.withLock({ count in
                    defer { count = 0 }
                    return count > 0
                }) {
                    let challenge = AuthenticationChallenge.bearer(error: .invalidToken)
                    return .status(
                        401,
                        headers: ["WWW-Authenticate": AuthenticationChallenge.format([challenge]) ?? ""]
                    )
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
