import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("NetworkClient on loopback", .limitedConcurrency, .tags(.concurrency))
struct LoopbackClientTests {
    enum Engine: String, CaseIterable {
        case curl, urlSession

        func client(_ interceptors: [any Interceptor] = [], timeout: Duration = .seconds(60)) -> NetworkClient {
            let options = NetworkClient.Options(timeout: timeout)
            return switch self {
            case .curl: NetworkClient(interceptors: interceptors, options: options)
            case .urlSession: NetworkClient(configuration: .ephemeral, interceptors: interceptors, options: options)
            }
        }
    }

    private func request(
        _ server: LoopbackServer,
        _ path: String = "/things",
        timeout: TimeInterval = 60
    ) -> URLRequest {
        URLRequest(url: server.url(for: path), timeoutInterval: timeout)
    }

    @Test("Returns the body of a 200 and reuses the connection", arguments: Engine.allCases)
    func success(_ engine: Engine) async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/things", .text("one"), .text("two"))
            let client = engine.client()
            #expect(try await client.makeRequest(request(server)) == Data("one".utf8))
            #expect(try await client.makeRequest(request(server)) == Data("two".utf8))
            #expect(server.requests.first?.headers["User-Agent"] == UserAgent().description)
            #expect(server.acceptedConnectionCount == 1)
        }
    }

    @Test("Treats a 401 with a Basic challenge like any other error", .shows("G7", "2.5"), arguments: Engine.allCases)
    func basicChallenge(_ engine: Engine) async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/things", .text("no", status: 401, headers: ["WWW-Authenticate": #"Basic realm="x""#]))
            let error = await expectStatus(401) { try await engine.client().makeRequest(request(server)) }
            #expect(error?.response == Data("no".utf8))
        }
    }

    @Test("Times out if the server doesn't respond", arguments: Engine.allCases)
    func timeout(_ engine: Engine) async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/things", .never)
            await expectFailure(.timedOut) {
                try await engine.client(timeout: .milliseconds(200)).makeRequest(request(server))
            }
            let impatient = request(server, timeout: 0.1)
            let client = engine.client()
            let other = await #expect(throws: NetworkError.self) { try await client.makeRequest(impatient) }
            #expect(other?.code == .timedOut)
        }
    }

    @Test("Cancelling the task closes the connection", arguments: Engine.allCases)
    func cancelling(_ engine: Engine) async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/things", .never)
            let (client, request) = (engine.client(), request(server))
            let call = Task { try await client.makeRequest(request) }
            try await server.waitForRequests(count: 1)
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            try await server.waitForOpenConnections(atMost: 0)
        }
    }

    @Test("Retries after a 500 and a cut connection", arguments: Engine.allCases)
    func retrying(_ engine: Engine) async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/things", .status(500), .text("hello").cut(.afterHead), .text("ok"))
            let client = engine.client([Retry.Policy.maxRetries(3)])
            #expect(try await client.makeRequest(request(server)) == Data("ok".utf8))
            #expect(server.requestCount == 3)
        }
    }

    @Test("Sends a POST unchanged", arguments: Engine.allCases)
    func posting(_ engine: Engine) async throws {
        try await withLoopbackServer { server async throws in
            server.on(.post, "/things", .status(201))
            var request = request(server, "/things?q=a%20b&q=c")
            request.httpMethod = "POST"
            request.httpBody = Data((0...255).map { UInt8($0) })
            request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
            _ = try await engine.client().makeRequest(request)
            let received = try #require(server.requests.first)
            #expect(received.target == "/things?q=a%20b&q=c")
            #expect(received.body == request.httpBody)
            #expect(received.headers["Content-Type"] == "application/octet-stream")
            #expect(received.headers["Content-Length"] == "256")
        }
    }

    @Test("Sends the URL's path and query unchanged, one after the other on the same connection", .shows("Q7"))
    func targets() async throws {
        try await withLoopbackServer { server async throws in
            server.onAnyMethod("/*") { _ in .text("") }
            let client = Engine.curl.client()
            let forms = [
                ("/a?", "/a?"), ("/a", "/a"), ("?", "/?"), ("/?#f", "/?"), ("/a??", "/a??"), ("/a#?", "/a"),
                ("/a%20b/../?#x?", "/a%20b/../?"), ("", "/"), ("/%7Ea/%2f%2F/x%2e%2E", "/%7Ea/%2f%2F/x%2e%2E"),
                ("/?a=%7e", "/?a=%7e"), ("/a:b@c//d?e:f", "/a:b@c//d?e:f"),
            ]
            for (form, expected) in forms {
                let url = try #require(URL(string: server.baseURL.absoluteString + form))
                _ = try await client.makeRequest(URLRequest(url: url))
                #expect(server.requests.last?.target == expected)
            }
        }
    }
}

@Suite("NetworkClient with MockURLProtocol", .limitedConcurrency, .tags(.concurrency))
struct MockURLProtocolClientTests {
    @Test("Calls the protocol's handler for each request")
    func handler() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [MockURLProtocol.self]
        let client = NetworkClient(configuration: configuration)
        let answers = EventLog()
        try await MockURLProtocol.withHandler { request in
            answers.append("")
            let status = request.url?.path == "/things" ? 200 : 404
            return (Data("\(answers.all.count)".utf8), HTTPURLResponse(statusCode: status))
        } perform: { () async throws in
            let request = URLRequest(url: URL(string: "https://a.example/things")!)
            #expect(try await client.makeRequest(request) == Data("1".utf8))
            #expect(try await client.makeRequest(request) == Data("2".utf8))
            let missing = URLRequest(url: URL(string: "https://a.example/missing")!)
            await expectStatus(404) { try await client.makeRequest(missing) }
            #expect(MockURLProtocol.requests.count == 3)
        }
    }
}
