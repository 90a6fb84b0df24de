import Foundation
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import Synchronization
import TestIssuers
import Testing
import TokenGeneration

/// A resource at `/mcp` that accepts the tokens of a mock server, and a user's browser.
final class ResourceFixture: Sendable {
    let mock: MockAuthorizationServer
    let host: LoopbackServer
    let visits = Mutex<[URL]>([])
    let registrations = Mutex<[String: RegisteredClient]>([:])
    /// The number of valid tokens that the resource rejects next.
    private let tokensToReject = Mutex(0)

    init(_ mock: MockAuthorizationServer, supports scopes: [String] = ["tools.read"]) throws {
        self.mock = mock
        host = try LoopbackServer.start()
        let resource = try ProtectedResource(
            identifier: host.url(for: "/mcp").absoluteString,
            authorizationServers: [mock.metadata.issuer],
            scopes: scopes
        )
        host.on(.get, "/.well-known/oauth-protected-resource/mcp", .json(resource.metadata.serialized()))
        var verifier = AccessTokenVerifier(
            issuer: mock.metadata.issuer,
            audience: resource.identifier,
            keys: .discovered(by: mock.discovery, options: .patient)
        )
        verifier.resourceMetadata = try resource.metadataURL
        for (path, scope) in [("/mcp", "tools.read"), ("/mcp/call", "tools.call"), ("/mcp/never", "tools.never")] {
            let url = host.url(for: path).absoluteString
            host.on(.get, path) { [verifier, weak self] request in
                let protected = ProtectedRequest(method: .get, url: url, headers: request.headers)
                do throws(AccessRefusal) {
                    let requirement = AccessRequirement(scope: [scope])
                    let token = try await verifier.verify(protected, requires: requirement)
                    guard self?.rejectsToken() == true else { return .text(token.subject ?? "") }
                    throw AccessRefusal(.invalidToken, "", challenges: [.bearer(error: .invalidToken)])
                } catch {
                    return .status(error.status, headers: error.headers)
                }
            }
        }
    }

    private func rejectsToken() -> Bool {
        tokensToReject.withLock { count in
            defer { count = max(count - 1, 0) }
            return count > 0
        }
    }

    func rejectNextToken() { tokensToReject.withLock { $0 = 1 } }

    func authenticator(
        scope: ProtectedResourceAuthenticator.Scope = .within("tools.read tools.call"),
        store: any TokenStore = InMemoryTokenStore(),
        change: (inout ProtectedResourceAuthenticator.Options) -> Void = { _ in },
        browser: (@Sendable (URL, AuthorizationRequest) async throws -> URL)? = nil
    ) -> ProtectedResourceAuthenticator {
        var metadata = ClientMetadata(["client_name": "Assistant"])
        metadata.redirectURIs = ["http://127.0.0.1:4711/callback"]
        var options = ProtectedResourceAuthenticator.Options()
        options.registration = { issuer in self.registrations.withLock { $0[issuer] } }
        options.registered = { client, issuer in self.registrations.withLock { $0[issuer] = client } }
        change(&options)
        return ProtectedResourceAuthenticator(
            resource: host.url(for: "/mcp"),
            client: metadata,
            scope: scope,
            user: "ada",
            store: store,
            options: options,
            browser: browser ?? { url, _ in
                self.visits.withLock { $0.append(url) }
                return try await self.mock.visit(url)
            }
        )
    }

    func get(_ path: String, _ client: NetworkClient) async throws -> String {
        String(decoding: try await client.response(for: host.url(for: path)).body, as: UTF8.self)
    }

    /// The scope of each sign-in.
    var scopes: [String] {
        visits.withLock { urls in
            urls.map { url in
                URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems?
                    .first { $0.name == "scope" }?.value?.replacingOccurrences(of: "+", with: " ") ?? ""
            }
        }
    }

    func requests(for path: String) -> Int { mock.server.requests(for: path).count }
}

func withResource(
    _ configuration: MockAuthorizationServer.Configuration = .init(),
    supports scopes: [String] = ["tools.read"],
    _ body: (ResourceFixture) async throws -> Void
) async throws {
    let mock = try MockAuthorizationServer.start(configuration: configuration)
    let fixture = try ResourceFixture(mock, supports: scopes)
    try await body(fixture)
    await fixture.host.stop()
    await mock.stop()
}

/// Returns the reason why an authenticator ended an operation.
func refusalReason(_ body: () async throws -> Void) async throws -> OAuth2Error {
    let error = try await #require(throws: ServerError.self) { try await body() }
    guard case .custom(let reason as OAuth2Error)? = error.retry?.reason else { throw error }
    return reason
}
