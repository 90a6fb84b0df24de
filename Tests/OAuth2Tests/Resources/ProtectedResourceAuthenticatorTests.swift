import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@Suite("ProtectedResourceAuthenticator", .limitedConcurrency, .tags(.concurrency))
struct ProtectedResourceAuthenticatorTests {
    @Test("The first requests share one registration and one sign-in", .shows("Model Context Protocol 2026-07-28"))
    func firstRequests() async throws {
        try await withResource { fixture in
            let authenticator = fixture.authenticator()
            #expect(authenticator.resource == nil)
            let clients = (0..<2).map { _ in NetworkClient(interceptors: [authenticator]) }
            try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<8 { group.addTask { try await fixture.get("/mcp", clients[number % 2]) } }
                for try await text in group { #expect(!text.isEmpty) }
            }
            #expect(fixture.scopes == ["tools.read"])
            #expect((fixture.requests(for: "/register"), fixture.requests(for: "/token")) == (1, 1))
            #expect(authenticator.resource?.identifier == fixture.host.url(for: "/mcp").absoluteString)
            fixture.rejectNextToken()
            _ = try await fixture.get("/mcp", clients[0])
            #expect((fixture.scopes.count, fixture.requests(for: "/token")) == (1, 2))
            let identifier = fixture.host.url(for: "/mcp").absoluteString
            #expect(fixture.mock.server.requests(for: "/token").allSatisfy { $0.formValue("resource") == identifier })
        }
    }

    @Test("Signs in before the first request, once, and again after a sign-out")
    func explicitSignIn() async throws {
        try await withResource { fixture in
            let authenticator = fixture.authenticator()
            try await authenticator.signIn()
            try await authenticator.signIn()
            #expect(fixture.visits.withLock { $0.count } == 1)
            let client = NetworkClient(interceptors: [authenticator])
            _ = try await fixture.get("/mcp", client)
            #expect(fixture.host.requests(for: "/mcp").count == 1)
            try await authenticator.signOut()
            _ = try await fixture.get("/mcp", client)
            #expect(fixture.visits.withLock { $0.count } == 2)
            #expect(fixture.requests(for: "/register") == 1)
        }
    }

    @Test("Signs in again for the granted and the demanded scope, once for all requests")
    func stepUp() async throws {
        try await withResource { fixture in
            let client = NetworkClient(interceptors: [fixture.authenticator()])
            _ = try await fixture.get("/mcp", client)
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<4 { group.addTask { try await fixture.get("/mcp/call", client) } }
                for try await text in group { #expect(!text.isEmpty) }
            }
            _ = try await fixture.get("/mcp", client)
            #expect(fixture.scopes == ["tools.read", "tools.read tools.call"])
            #expect(fixture.requests(for: "/register") == 1)
        }
    }

    @Test("A resource doesn't get scope that the application doesn't name", .shows("G19"))
    func otherScope() async throws {
        try await withResource { fixture in
            let client = NetworkClient(interceptors: [fixture.authenticator()])
            _ = try await fixture.get("/mcp", client)
            let error = try await refusalReason { _ = try await fixture.get("/mcp/never", client) }
            #expect(error == OAuth2Error(.insufficientScope, ""))
            #expect(error.demand?.scope == ["tools.never"])
            #expect(fixture.scopes == ["tools.read"])
        }
    }

    @Test("The user approves the scope of a resource that nobody knows")
    func approval() async throws {
        try await withResource(supports: ["tools.read", "tools.call"]) { fixture in
            let asked = Mutex<[[String]]>([])
            let scope = ProtectedResourceAuthenticator.Scope.approved { names in
                asked.withLock { $0.append(names) }
                return names.filter { $0 != "tools.never" } + ["other"]
            }
            let client = NetworkClient(interceptors: [fixture.authenticator(scope: scope)])
            _ = try await fixture.get("/mcp", client)
            let error = try await refusalReason { _ = try await fixture.get("/mcp/never", client) }
            #expect(error == OAuth2Error(.insufficientScope, ""))
            #expect(asked.withLock { $0 } == [["tools.read"], ["tools.never"]])
            #expect(fixture.scopes == ["tools.read"])
        }
    }

    @Test("A restart continues with the stored client and tokens")
    func restart() async throws {
        try await withResource { fixture in
            let store = InMemoryTokenStore()
            for _ in 0..<2 {
                let client = NetworkClient(interceptors: [fixture.authenticator(store: store)])
                _ = try await fixture.get("/mcp", client)
            }
            #expect(fixture.scopes.count == 1)
            #expect((fixture.requests(for: "/register"), fixture.requests(for: "/token")) == (1, 1))
        }
    }

    @Test("Uses the URL of the client's metadata document at a server that supports it")
    func metadataDocument() async throws {
        let clientID = "https://assistant.example/client.json"
        var metadata = ClientMetadata()
        metadata.redirectURIs = ["http://127.0.0.1:4711/callback"]
        metadata.grantTypes = ["authorization_code", "refresh_token"]
        var configuration = MockAuthorizationServer.Configuration()
        configuration.clientDocuments = [try ClientIDMetadataDocument(clientID: clientID, metadata: metadata)]
        try await withResource(configuration) { fixture in
            let authenticator = fixture.authenticator { $0.clientID = clientID }
            _ = try await fixture.get("/mcp", NetworkClient(interceptors: [authenticator]))
            #expect(fixture.requests(for: "/register") == 0)
            #expect(fixture.mock.server.requests(for: "/token").map { $0.formValue("client_id") } == [clientID])
        }
        try await withResource { fixture in
            let authenticator = fixture.authenticator { $0.clientID = clientID }
            _ = try await fixture.get("/mcp", NetworkClient(interceptors: [authenticator]))
            #expect(fixture.requests(for: "/register") == 1)
        }
    }

    @Test("Pushes the authorization request if the server requires it")
    func pushed() async throws {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.requiresPushedAuthorizationRequests = true
        try await withResource(configuration) { fixture in
            _ = try await fixture.get("/mcp", NetworkClient(interceptors: [fixture.authenticator()]))
            #expect(fixture.requests(for: "/par") == 1)
        }
    }

    @Test("The user's refusal reaches all waiting requests, and the next request asks again")
    func refusal() async throws {
        struct Refusal: Error {}
        try await withResource { fixture in
            let answers = Mutex(0)
            let authenticator = fixture.authenticator(browser: { _, _ in
                answers.withLock { $0 += 1 }
                throw Refusal()
            })
            let client = NetworkClient(interceptors: [authenticator])
            for count in 1...2 {
                let error = try await #require(throws: ServerError.self) { try await fixture.get("/mcp", client) }
                guard case .custom(is Refusal)? = error.retry?.reason else { throw error }
                #expect(answers.withLock { $0 } == count)
            }
            #expect(fixture.requests(for: "/token") == 0)
        }
    }

    @Test("Sends nothing to an issuer that the application doesn't trust")
    func untrusted() async throws {
        try await withResource { fixture in
            let authenticator = fixture.authenticator { $0.isTrusted = { $0 == "https://as.example" } }
            let client = NetworkClient(interceptors: [authenticator])
            let error = try await refusalReason { _ = try await fixture.get("/mcp", client) }
            #expect(error == OAuth2Error(.issuerMismatch, ""))
            #expect(fixture.mock.server.requests.isEmpty)
        }
    }

    @Test("Rejects a server without PKCE, and one that knows no client")
    func server() async throws {
        try await withLoopbackServer { host async throws in
            let resource = try ProtectedResource(
                identifier: host.url(for: "/mcp").absoluteString,
                authorizationServers: [host.baseURL.absoluteString]
            )
            host.on(.get, "/.well-known/oauth-protected-resource/mcp", .json(resource.metadata.serialized()))
            host.on(.get, "/mcp", .status(401, headers: ["WWW-Authenticate": "Bearer"]))
            var metadata: JSONObject = [
                "issuer": .string(host.baseURL.absoluteString),
                "authorization_endpoint": .string(host.url(for: "/authorize").absoluteString),
                "token_endpoint": .string(host.url(for: "/token").absoluteString),
                "response_types_supported": ["code"],
            ]
            for code in [OAuth2Error.Code.protocolViolation, .endpointMissing] {
                host.on(.get, "/.well-known/oauth-authorization-server", .json(metadata.serialized()))
                var client = ClientMetadata()
                client.redirectURIs = ["http://127.0.0.1:4711/callback"]
                let authenticator = ProtectedResourceAuthenticator(
                    resource: host.url(for: "/mcp"),
                    client: client,
                    scope: .within("tools.read")
                ) { url, _ in url }
                let error = try await refusalReason {
                    _ = try await NetworkClient(interceptors: [authenticator]).response(for: host.url(for: "/mcp"))
                }
                #expect(error == OAuth2Error(code, ""))
                metadata["code_challenge_methods_supported"] = ["S256"]
            }
        }
    }

    @Test("Reports the events of its tokens to the observers of all its clients")
    func observers() async throws {
        try await withResource { fixture in
            let authenticator = fixture.authenticator()
            let journals = [EventJournal(), EventJournal()]
            for journal in journals {
                let client = NetworkClient(interceptors: [authenticator], options: .init(observers: [journal]))
                _ = try await fixture.get("/mcp", client)
            }
            fixture.rejectNextToken()
            _ = try await fixture.get("/mcp", NetworkClient(interceptors: [authenticator]))
            #expect(journals.map { $0.tokenEvents.contains(.signedIn) } == [true, false])
            for journal in journals { #expect(journal.tokenEvents.contains(.rotated)) }
        }
    }

    @Test("Continues with the known metadata if a demand leads to none")
    func demandWithoutMetadata() async throws {
        try await withResource { fixture in
            let client = NetworkClient(interceptors: [fixture.authenticator()])
            _ = try await fixture.get("/mcp", client)
            fixture.host.on(.get, "/.well-known/oauth-protected-resource/mcp", .status(404))
            _ = try await fixture.get("/mcp/call", client)
            #expect(fixture.scopes == ["tools.read", "tools.read tools.call"])
        }
    }

    @Test("Rejects a resource without a host, and a client without a redirect URI")
    func malformed() async throws {
        try await withResource { fixture in
            let mail = try #require(URL(string: "mailto:ada@example.com"))
            for (url, text) in [(mail, "has no host"), (fixture.host.url(for: "/mcp"), "has no redirect URI")] {
                let authenticator = ProtectedResourceAuthenticator(
                    resource: url,
                    client: ClientMetadata(),
                    scope: .within("tools.read")
                ) { url, _ in url }
                let error = await failure { try await authenticator.signIn() }
                #expect(error?.code == .malformedRequest)
                #expect(error?.message.contains(text) == true)
            }
        }
    }

    @Test("Requests to other origins, and those with their own token, are unchanged")
    func others() async throws {
        try await withResource { fixture in
            let authenticator = fixture.authenticator()
            let client = NetworkClient(interceptors: [authenticator])
            try await withLoopbackServer { other async throws in
                other.on(.get, "/", .status(401, headers: ["WWW-Authenticate": "Bearer"]))
                let error = await #expect(throws: ServerError.self) {
                    try await client.response(for: other.url(for: "/"))
                }
                #expect(error?.errorCode == 401 && error?.retry == nil)
                #expect(other.requests.allSatisfy { $0.headers["Authorization"] == nil })
            }
            var request = URLRequest(url: fixture.host.url(for: "/mcp"))
            request.setValue("Bearer x", forHTTPHeaderField: "Authorization")
            do {
                _ = try await client.makeRequest(request)
                Issue.record("the resource accepted a foreign token")
            } catch let error as ServerError {
                #expect(error.errorCode == 401)
            }
            #expect(fixture.visits.withLock { $0.isEmpty })
        }
    }
}
