import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import Synchronization
import TestPrograms
import TestSupport
import Testing
import TokenGeneration

/// The Python SDK of the Model Context Protocol: its server with our client, and its client with
/// our servers.
@Suite(
    "Interoperability: Model Context Protocol with its Python SDK",
    .enabled(if: Interop.isPrepared, Interop.hint),
    .serialized,
    .timeLimit(.minutes(20))
)
struct MCPInteropTests {
    /// The form of the responses to calls.
    enum Form: String, CaseIterable, Sendable {
        case json, events
    }

    // MARK: The SDK's server

    @Test(
        "Signs in at the authorization server that the SDK's server names, and calls a tool",
        arguments: zip(Form.allCases, [true, false])
    )
    func client(form: Form, hasOwnIssuer: Bool) async throws {
        let mock = try MockAuthorizationServer.start()
        let peer = try await Server(form, scopes: "tools.read", issuer: hasOwnIssuer ? nil : mock.metadata.issuer)
        defer { peer.stop() }
        let issuer = hasOwnIssuer ? peer.origin : mock.metadata.issuer
        let assistant = Assistant(of: peer.url)
        let network = assistant.network
        let session = try await peer.initialize(network)
        let messages = try await peer.add(network, session)
        // The SDK reports progress only in event streams.
        #expect(messages.count == (form == .events ? 2 : 1))
        let content = messages.last?["result"]?.object?["structuredContent"]
        #expect(content?.object?["result"] == 42)

        #expect(assistant.scopes == ["tools.read"])
        #expect(assistant.authenticator.resource?.identifier == peer.url.absoluteString)

        // A token for another resource is rejected.
        let server = try await AuthorizationServerDiscovery(issuer: issuer, options: .mcp).server()
        let tokens = try await assistant.tokens(for: "https://other.example/mcp", at: server)
        let foreign = NetworkClient(interceptors: [
            OAuth2Authenticator(source: StaticTokenSource(tokens.accessToken), resources: [peer.url])
        ])
        let wrong = try await #require(throws: ServerError.self) { try await peer.initialize(foreign) }
        #expect(wrong.errorCode == 401)
        await mock.stop()
    }

    @Test("Signs in again for the scope that the SDK's server requires")
    func stepUp() async throws {
        let peer = try await Server(.json, scopes: "tools.read tools.call")
        defer { peer.stop() }
        // The SDK's challenge names only the metadata, which has the scope. The user first declines
        // a part of it.
        let assistant = Assistant(of: peer.url, first: "tools.read")
        let session = try await peer.initialize(assistant.network)
        #expect(try await peer.add(assistant.network, session).count == 1)
        #expect(assistant.scopes == ["tools.read", "tools.read tools.call"])
    }

    // MARK: The SDK's client

    @Test(
        "The SDK's client signs in at the mock server, and again for more scope",
        arguments: zip(Form.allCases, [false, true])
    )
    func server(form: Form, stepsUp: Bool) async throws {
        // The SDK registers for the scope of its first sign-in, which limits a registered client.
        let known = MockAuthorizationServer.Client(
            id: "assistant",
            authentication: .none,
            redirectURIs: ["http://127.0.0.1/callback"]
        )
        let mock = try MockAuthorizationServer.start(clients: [known])
        try await withLoopbackServer { host async throws in
            let url = host.url(for: "/mcp").absoluteString
            let refusals = try Self.serve(host, form, tokensOf: mock, audience: url, stepsUp: stepsUp)
            let arguments = stepsUp ? ["auto", known.id] : ["legacy", ""]
            let result = try await Self.run([url] + arguments + ["add", "add"])
            #expect(result.status == 0, "\(result.errors)")
            let report = try JSONObject(parsing: result.output)
            #expect(report["version"] == "2025-11-25")
            #expect(report["results"] == ["42", "42"])
            #expect(report["sign_ins"] == (stepsUp ? 2 : 1))
            #expect(report["scope"] == (stepsUp ? "tools.read tools.call" : "tools.read"))
            #expect(refusals.list.withLock { $0.map(\.code) } == [.noToken] + (stepsUp ? [.insufficientScope] : []))
            let forms = mock.server.requests(for: "/token")
            #expect(forms.count == (stepsUp ? 2 : 1))
            #expect(forms.allSatisfy { $0.formValue("resource") == url && $0.formValue("code_verifier") != nil })
            #expect(mock.server.requests(for: "/register").count == (stepsUp ? 0 : 1))
        }
        await mock.stop()
    }

    @Test("The SDK's client is rejected if its tokens are for another resource")
    func audience() async throws {
        let mock = try MockAuthorizationServer.start()
        try await withLoopbackServer { host async throws in
            let url = host.url(for: "/mcp").absoluteString
            let refusals = try Self.serve(host, .json, tokensOf: mock, audience: "https://other.example/mcp")
            let result = try await Self.run([url, "legacy", "", "add"])
            #expect(result.status == 1)
            let list = refusals.list.withLock { $0 }
            #expect(list.map(\.code) == [.noToken, .invalidToken])
            #expect((list.last?.cause as? TokenError)?.code == .audienceMismatch)
        }
        await mock.stop()
    }

    private static func run(_ arguments: [String]) async throws -> ChildProcess {
        try await ChildProcess.run(
            try Interop.required("INTEROP_PYTHON"),
            [Interop.file("OAuth2/mcp_client.py")] + arguments
        )
    }

    /// Adds an MCP server that accepts only tokens for an audience, and returns its refusals.
    /// Calls can require more scope.
    private static func serve(
        _ host: LoopbackServer,
        _ form: Form,
        tokensOf mock: MockAuthorizationServer,
        audience: String,
        stepsUp: Bool = false
    ) throws -> Refusals {
        let url = host.url(for: "/mcp").absoluteString
        let resource = try ProtectedResource(
            identifier: url,
            authorizationServers: [mock.metadata.issuer],
            scopes: ["tools.read"]
        )
        var verifier = AccessTokenVerifier(
            issuer: mock.metadata.issuer,
            audience: audience,
            keys: .discovered(by: AuthorizationServerDiscovery(issuer: mock.metadata.issuer))
        )
        verifier.resourceMetadata = try resource.metadataURL
        let refusals = Refusals()
        host.on(.get, "/.well-known/oauth-protected-resource/mcp", .json(resource.metadata.serialized()))
        host.on(.get, "/mcp", .status(405))
        host.on(.post, "/mcp") { [verifier] request in
            let message = try JSONObject(parsing: request.body)
            let isCall = message["method"] == "tools/call"
            let scope = stepsUp && isCall ? ["tools.read", "tools.call"] : ["tools.read"]
            do throws(AccessRefusal) {
                let protected = ProtectedRequest(method: .post, url: url, headers: request.headers)
                _ = try await verifier.verify(protected, requires: AccessRequirement(scope: scope))
            } catch {
                refusals.list.withLock { $0.append(error) }
                return LoopbackResponse.status(error.status, headers: error.headers)
            }
            guard let id = message["id"] else { return LoopbackResponse.status(202) }
            var answer = answer(to: message)
            answer["jsonrpc"] = "2.0"
            answer["id"] = id
            switch form {
            case .json: return LoopbackResponse.json(answer.serialized())
            case .events:
                return LoopbackResponse(
                    headers: ["Content-Type": "text/event-stream"],
                    body: Data("event: message\ndata: \(answer.serialized())\n\n".utf8)
                )
            }
        }
        return refusals
    }

    private static func answer(to message: JSONObject) -> JSONObject {
        switch message["method"]?.string {
        case "initialize":
            [
                "result": [
                    "protocolVersion": message["params"]?.object?["protocolVersion"] ?? "2025-11-25",
                    "capabilities": ["tools": [:]], "serverInfo": ["name": "tools", "version": "1"],
                ]
            ]
        case "tools/list":
            ["result": ["tools": [["name": "add", "inputSchema": ["type": "object"]]]]]
        case "tools/call":
            ["result": ["content": [["type": "text", "text": "42"]]]]
        default:
            ["error": ["code": -32601, "message": "unknown method"]]
        }
    }
}

extension MCPInteropTests {
    /// The refusals of a server, in order.
    private final class Refusals: Sendable {
        let list = Mutex<[AccessRefusal]>([])
    }

    /// The SDK's server as a process.
    private struct Server {
        let url: URL
        private let program: ChildProgram
        private let output: URL

        init(_ form: Form, scopes: String, issuer: String? = nil) async throws {
            output = FileManager.default.temporaryDirectory.appending(path: "mcp-\(UUID().uuidString)")
            program = try ChildProgram(
                path: try Interop.required("INTEROP_PYTHON"),
                [Interop.file("OAuth2/mcp_server.py"), form.rawValue, scopes] + (issuer.map { [$0] } ?? []),
                output: .file(output.path),
                errors: .inherited
            )
            var line = ""
            while !line.hasSuffix("\n") {
                try #require(!program.isOver, "the server didn't start")
                try await Task.sleep(for: .milliseconds(20))
                line = try String(contentsOf: output, encoding: .utf8)
            }
            url = try #require(URL(string: String(line.dropLast())))
        }

        func stop() {
            program.kill()
            try? FileManager.default.removeItem(at: output)
        }

        var origin: String { String(url.absoluteString.dropLast("/mcp".count)) }

        /// Starts a session, and returns its identifier.
        func initialize(_ client: NetworkClient) async throws -> String {
            let response = try await send(
                [
                    "id": 1, "method": "initialize",
                    "params": [
                        "protocolVersion": "2025-11-25", "capabilities": [:],
                        "clientInfo": ["name": "Assistant", "version": "1"],
                    ],
                ],
                client
            )
            let message = try await messages(of: response).last
            #expect(message?["result"]?.object?["serverInfo"]?.object?["name"] == "tools")
            let session = try #require(response.headers["Mcp-Session-Id"])
            _ = try await messages(of: send(["method": "notifications/initialized"], client, session))
            return session
        }

        /// Calls the tool, and returns the messages in the response.
        func add(_ client: NetworkClient, _ session: String) async throws -> [JSONObject] {
            try await messages(
                of: send(
                    [
                        "id": 2, "method": "tools/call",
                        "params": ["name": "add", "arguments": ["a": 19, "b": 23], "_meta": ["progressToken": 7]],
                    ],
                    client,
                    session
                )
            )
        }

        private func send(
            _ message: JSONObject,
            _ client: NetworkClient,
            _ session: String? = nil
        ) async throws -> HTTPResponse {
            var message = message
            message["jsonrpc"] = "2.0"
            var request = URLRequest(url: url)
            request.httpMethod = "POST"
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.setValue("application/json, text/event-stream", forHTTPHeaderField: "Accept")
            if let session {
                request.setValue(session, forHTTPHeaderField: "Mcp-Session-Id")
                request.setValue("2025-11-25", forHTTPHeaderField: "Mcp-Protocol-Version")
            }
            request.httpBody = message.serializedData()
            return try await client.stream(request)
        }

        private func messages(of response: HTTPResponse) async throws -> [JSONObject] {
            guard response.headers["Content-Type"]?.hasPrefix("text/event-stream") == true else {
                let body = try await response.stream.collect(upTo: 1 << 20)
                return body.isEmpty ? [] : [try JSONObject(parsing: body)]
            }
            var messages: [JSONObject] = []
            for try await event in response.stream.events() where !event.data.isEmpty {
                messages.append(try JSONObject(parsing: event.data))
            }
            return messages
        }
    }

    /// A client that knows only the server's URL, and its user.
    private final class Assistant: Sendable {
        private static let metadata = {
            var metadata = ClientMetadata(["client_name": "Assistant", "scope": "tools.read tools.call"])
            metadata.redirectURIs = ["http://127.0.0.1:4711/callback"]
            return metadata
        }()

        let authenticator: ProtectedResourceAuthenticator
        let network: NetworkClient
        private let visits: Visits

        /// The user approves the first scope at first, and everything later.
        init(of url: URL, first: String? = nil) {
            let visits = Visits()
            self.visits = visits
            authenticator = ProtectedResourceAuthenticator(
                resource: url,
                client: Self.metadata,
                scope: .approved { names in visits.urls.withLock { $0.isEmpty } ? first.map { [$0] } ?? names : names }
            ) { url, _ in
                visits.urls.withLock { $0.append(url) }
                return try await Self.visit(url)
            }
            network = NetworkClient(interceptors: [authenticator])
        }

        /// The scope of each sign-in.
        var scopes: [String] {
            visits.urls.withLock { urls in
                urls.map { url in
                    URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems?
                        .first { $0.name == "scope" }?.value?.replacingOccurrences(of: "+", with: " ") ?? ""
                }
            }
        }

        func tokens(for resource: String, at server: AuthorizationServer) async throws -> IssuedTokens {
            var metadata = Self.metadata
            metadata.tokenEndpointAuthenticationMethod = "none"
            metadata.grantTypes = ["authorization_code", "refresh_token"]
            let registered = try await ClientRegistrar(server: server).register(metadata)
            let oauth = OAuth2Client(server: server, clientAuthentication: .none(clientID: registered.clientID))
            let request = try oauth.authorizationRequest(
                redirectURI: metadata.redirectURIs[0],
                scope: "tools.read",
                resources: [resource]
            )
            var grant = try request.grant(from: await Self.visit(request.url(at: server)), of: server)
            grant.resources = [resource]
            return try await oauth.tokens(for: grant, idToken: .skipIDTokenCheck)
        }

        /// Opens a URL like a browser, and returns the URL of the redirect.
        private static func visit(_ url: URL) async throws -> URL {
            let error = try await #require(throws: ServerError.self) {
                try await NetworkClient(options: .init(redirects: .never)).makeRequest(URLRequest(url: url))
            }
            return try #require(error.headers["Location"].flatMap(URL.init(string:)))
        }
    }

    private final class Visits: Sendable {
        let urls = Mutex<[URL]>([])
    }
}

extension AuthorizationServerDiscovery.Options {
    fileprivate static var mcp: Self {
        var options = Self()
        options.documents = [.oauth2]
        return options
    }
}
