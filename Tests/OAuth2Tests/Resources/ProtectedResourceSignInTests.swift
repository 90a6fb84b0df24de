import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing
import TokenGeneration

@Suite("ProtectedResourceAuthenticator: clients and sign-outs", .limitedConcurrency, .tags(.concurrency))
struct ProtectedResourceSignInTests {
    @Test("A sign-out in a new process deletes the stored tokens")
    func storedTokens() async throws {
        try await withResource { fixture in
            let store = InMemoryTokenStore()
            _ = try await fixture.get("/mcp", NetworkClient(interceptors: [fixture.authenticator(store: store)]))
            try await fixture.authenticator(store: store).signOut()
            #expect(fixture.visits.withLock { $0.count } == 1)
            _ = try await fixture.get("/mcp", NetworkClient(interceptors: [fixture.authenticator(store: store)]))
            #expect(fixture.visits.withLock { $0.count } == 2)
            // Without a known client, the store can't have tokens.
            try await fixture.authenticator { $0.registration = { _ in nil } }.signOut()
            #expect(fixture.requests(for: "/register") == 1)
        }
    }

    @Test("A sign-out ends a sign-in in progress, also for the requests that wait for it")
    func pendingSignIn() async throws {
        try await withResource { fixture in
            let (visits, visiting) = AsyncStream<Void>.makeStream()
            let (permissions, permitting) = AsyncStream<Void>.makeStream()
            let authenticator = fixture.authenticator(browser: { url, _ in
                visiting.yield()
                for await _ in permissions { break }
                return try await fixture.mock.visit(url)
            })
            let client = NetworkClient(interceptors: [authenticator])
            let waiting = Task { try await fixture.get("/mcp", client) }
            for await _ in visits { break }
            try await authenticator.signOut()
            let error = try await refusalReason { _ = try await waiting.value }
            #expect(error == OAuth2Error(.reauthenticationRequired, ""))
            permitting.yield()
            permitting.yield()
            _ = try await fixture.get("/mcp", client)
            // The code of the first sign-in isn't used.
            #expect(fixture.requests(for: "/token") == 1)
        }
    }

    @Test("A cancelled request stops waiting at once, and the sign-in serves the next one")
    func cancellation() async throws {
        try await withResource { fixture in
            let (visits, visiting) = AsyncStream<Void>.makeStream()
            let (permissions, permitting) = AsyncStream<Void>.makeStream()
            let authenticator = fixture.authenticator(browser: { url, _ in
                visiting.yield()
                for await _ in permissions { break }
                return try await fixture.mock.visit(url)
            })
            let client = NetworkClient(interceptors: [authenticator])
            let waiting = Task { try await fixture.get("/mcp", client) }
            for await _ in visits { break }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            permitting.yield()
            _ = try await fixture.get("/mcp", client)
            #expect(fixture.requests(for: "/token") == 1)
        }
    }

    @Test("After the user refused another sign-in, the next request or the application asks", arguments: [false, true])
    func refusedSignIn(isExplicit: Bool) async throws {
        struct Refusal: Error {}
        try await withResource { fixture in
            let visits = Mutex(0)
            let authenticator = fixture.authenticator(browser: { url, _ in
                let count = visits.withLock { visits in
                    visits += 1
                    return visits
                }
                guard count != 2 else { throw Refusal() }
                return try await fixture.mock.visit(url)
            })
            let client = NetworkClient(interceptors: [authenticator])
            _ = try await fixture.get("/mcp", client)
            fixture.mock.revokeRefreshTokens()
            fixture.rejectNextToken()
            let error = await #expect(throws: NetworkError.self) { try await fixture.get("/mcp", client) }
            #expect(error?.code == .requestNotMade)
            #expect(error?.cause is Refusal)
            if isExplicit {
                try await authenticator.signIn()
                #expect(visits.withLock { $0 } == 3)
            }
            _ = try await fixture.get("/mcp", client)
            #expect(visits.withLock { $0 } == 3)
        }
    }

    @Test("A client with a secret authenticates as it's registered", arguments: [nil, "basic", "post"])
    func secrets(method: String?) async throws {
        try await withResource { fixture in
            let known = MockAuthorizationServer.Client(
                id: "known",
                authentication: method == "post" ? .clientSecretPost("s3cret") : .clientSecretBasic("s3cret"),
                redirectURIs: ["http://127.0.0.1:4711/callback"]
            )
            fixture.mock.register(known)
            var metadata = ClientMetadata()
            metadata.tokenEndpointAuthenticationMethod = method.map { "client_secret_\($0)" }
            let client = RegisteredClient(clientID: "known", clientSecret: Secret("s3cret"), metadata: metadata)
            let authenticator = fixture.authenticator { $0.registration = { _ in client } }
            _ = try await fixture.get("/mcp", NetworkClient(interceptors: [authenticator]))
            #expect((fixture.requests(for: "/register"), fixture.requests(for: "/token")) == (0, 1))
        }
    }

    @Test("A resource that changes its server leads to a new client and sign-in", .shows("G14"))
    func changedServer() async throws {
        let other = try MockAuthorizationServer.start()
        try await withResource { fixture in
            let client = NetworkClient(interceptors: [fixture.authenticator()])
            _ = try await fixture.get("/mcp", client)
            let resource = try ProtectedResource(
                identifier: fixture.host.url(for: "/mcp").absoluteString,
                authorizationServers: [other.metadata.issuer]
            )
            let place = "/.well-known/oauth-protected-resource/mcp"
            fixture.host.on(.get, place, .json(resource.metadata.serialized()))
            fixture.mock.revokeRefreshTokens()
            fixture.rejectNextToken()
            // The resource rejects the other server's token.
            await #expect(throws: ServerError.self) { try await fixture.get("/mcp", client) }
            let first = other.server.requests(for: "/token").first
            #expect(first?.formValue("grant_type") == "authorization_code")
            #expect(fixture.registrations.withLock { $0.count } == 2)
        }
        await other.stop()
    }

    @Test("Registers a client again whose secret has expired")
    func expiredSecret() async throws {
        try await withResource { fixture in
            let authenticator = fixture.authenticator {
                $0.registration = { _ in
                    RegisteredClient(clientID: "old", clientSecret: Secret("s3cret"), clientSecretExpiry: .distantPast)
                }
            }
            _ = try await fixture.get("/mcp", NetworkClient(interceptors: [authenticator]))
            #expect(fixture.requests(for: "/register") == 1)
        }
    }

    /// Deletes the registered client at the server, which then doesn't know it.
    private func lose(_ fixture: ResourceFixture) async throws {
        let client = try #require(fixture.registrations.withLock { $0.values.first })
        try await ClientRegistrar(server: fixture.mock.metadata).delete(client)
    }

    @Test("Registers a client anew that the server has lost, and the user signs in", arguments: [false, true])
    func lostClient(isRestarted: Bool) async throws {
        try await withResource { fixture in
            let store = InMemoryTokenStore()
            var client = NetworkClient(interceptors: [fixture.authenticator(store: store)])
            _ = try await fixture.get("/mcp", client)
            for count in 2...3 {
                try await lose(fixture)
                if isRestarted { client = NetworkClient(interceptors: [fixture.authenticator(store: store)]) }
                fixture.rejectNextToken()
                _ = try await fixture.get("/mcp", client)
                #expect((fixture.requests(for: "/register"), fixture.scopes.count) == (count, count))
                #expect(fixture.registrations.withLock { $0.count } == 1)
                _ = try await fixture.get("/mcp", client)
                #expect(fixture.scopes.count == count)
            }
        }
    }

    @Test("A server that loses each client gets one more, not one for each sign-in")
    func forgetfulServer() async throws {
        try await withResource { fixture in
            let authenticator = fixture.authenticator(
                change: { $0.registration = { _ in nil } },
                browser: { url, _ in
                    let redirect = try await fixture.mock.visit(url)
                    try? await self.lose(fixture)
                    return redirect
                }
            )
            let client = NetworkClient(interceptors: [authenticator])
            for count in [1, 2, 2, 2] {
                let error = try? await refusalReason { _ = try await fixture.get("/mcp", client) }
                #expect(count == 2 || error == OAuth2Error(.invalidClient, ""))
                #expect(fixture.requests(for: "/register") == count)
            }
        }
    }

    @Test("Doesn't use a client that is registered with another authentication or redirect URI", .shows("G21"))
    func otherRegistrations() async throws {
        let members: [[String: JSONValue?]] = [
            ["token_endpoint_auth_method": "private_key_jwt"],
            ["token_endpoint_auth_method": "client_secret_jwt", "client_secret": "s3cret"],
            ["redirect_uris": ["https://evil.example/callback"]],
        ]
        for members in members {
            try await withResource { fixture in
                fixture.mock.misbehave(at: .registration, .members(members))
                let client = NetworkClient(interceptors: [fixture.authenticator()])
                let error = try await refusalReason { _ = try await fixture.get("/mcp", client) }
                #expect(error == OAuth2Error(.protocolViolation, ""))
                #expect(fixture.visits.withLock { $0.isEmpty })
                #expect(fixture.registrations.withLock { $0.isEmpty })
            }
        }
    }

    @Test("A resource that is never satisfied asks the user once for each request", .shows("G22"))
    func endlessDemand() async throws {
        try await withResource { fixture in
            fixture.host.on(.get, "/mcp/strict") { request in
                let error = #"error="insufficient_user_authentication", acr_values="phr""#
                let challenge = request.headers["Authorization"] == nil ? "Bearer" : "Bearer \(error)"
                return .status(401, headers: ["WWW-Authenticate": challenge])
            }
            let client = NetworkClient(interceptors: [fixture.authenticator()])
            for count in 2...4 {
                let error = try await refusalReason { _ = try await fixture.get("/mcp/strict", client) }
                #expect(error == OAuth2Error(.stepUpRequired, ""))
                #expect(fixture.visits.withLock { $0.count } == count)
            }
        }
    }
}
