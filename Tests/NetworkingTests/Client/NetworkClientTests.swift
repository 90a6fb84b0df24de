import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("NetworkClient", .limitedConcurrency)
struct NetworkClientTests {
    private func request(_ url: String, method: String = "GET") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: url)))
        request.httpMethod = method
        return request
    }

    @Test("Returns the body of each response", .shows("3.2", "3.6"))
    func body() async throws {
        let client = NetworkClient(transport: MockTransport(.text("one"), .text("two")))
        let request = try request("http://a.example/x")
        #expect(try await client.makeRequest(request) == Data("one".utf8))
        #expect(try await client.makeRequest(request) == Data("two".utf8))
    }

    @Test("Returns empty data for an empty success", .shows("1.27"), arguments: [200, 204, 205])
    func empty(_ status: Int) async throws {
        let client = NetworkClient(transport: MockTransport(.status(status)))
        let request = try request("http://a.example/x")
        #expect(try await client.makeRequest(request) == Data())
    }

    @Test(
        "Throws a ServerError for a status other than 2xx",
        .shows("3.6", "3.26"),
        arguments: [300, 304, 400, 401, 404, 500, 503]
    )
    func failure(_ status: Int) async throws {
        let client = NetworkClient(
            transport: MockTransport(.status(status, headers: ["X-Id": "7"], body: Data("why".utf8)))
        )
        let request = try request("http://a.example/users/42?q=1")
        let error = await expectStatus(status) { try await client.makeRequest(request) }
        #expect(error?.endpoint == "42")
        #expect(error?.response == Data("why".utf8))
        #expect(error?.headers["x-id"] == "7")
        #expect(error?.retry == nil)
    }

    @Test(
        "Errors name the last component of the path",
        .shows("3.28"),
        arguments: [("http://a.example", nil), ("http://a.example/", "/"), ("http://a.example/a/b?c=d", "b")]
    )
    func endpoint(_ url: String, _ endpoint: String?) async throws {
        let client = NetworkClient(
            transport: MockTransport(.status(404), .failure(NetworkError(.connectionLost, "cut")))
        )
        let request = try request(url)
        let server = await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
        #expect(server?.endpoint == endpoint)
        let network = await #expect(throws: NetworkError.self) { try await client.makeRequest(request) }
        #expect(network?.endpoint == endpoint)
    }

    @Test("Returns the whole response", .shows("1.4", "3.6"))
    func response() async throws {
        let client = NetworkClient(
            transport: MockTransport(.status(201, headers: ["Location": "/x/1", "Set-Cookie": "a", "Set-Cookie": "b"]))
        )
        let request = try request("http://a.example/x")
        let response = try await client.response(for: request)
        #expect(response.status == 201)
        #expect(response.headers["location"] == "/x/1")
        #expect(response.headers.values(for: "Set-Cookie") == ["a", "b"])
        #expect(response.urlResponse.statusCode == 201)
    }

    @Test("Sends the request unchanged, with a default User-Agent", .shows("3.5"))
    func sending() async throws {
        let transport = MockTransport(.text(""), .text(""))
        let client = NetworkClient(transport: transport)
        var request = try request("http://a.example/x?y=%2B", method: "POST")
        request.httpBody = Data("body".utf8)
        request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
        _ = try await client.makeRequest(request)
        request.setValue("mine", forHTTPHeaderField: "User-Agent")
        _ = try await client.makeRequest(request)
        let sent = transport.requests
        #expect(sent[0].method == .post)
        #expect(sent[0].url.absoluteString == "http://a.example/x?y=%2B")
        #expect(sent[0].body == Data("body".utf8))
        #expect(sent[0].headers["content-type"] == "text/plain")
        #expect(sent.map { $0.headers["User-Agent"] } == [UserAgent().description, "mine"])
    }

    @Test("Rejects an invalid request before sending anything")
    func refusing() async throws {
        let transport = MockTransport(.text(""), .text(""))
        let client = NetworkClient(transport: transport)
        var streaming = try request("http://a.example/", method: "POST")
        streaming.httpBodyStream = InputStream(data: Data("x".utf8))
        for refused in [streaming, try request("http://a.example/", method: "GE T")] {
            await expectFailure(.invalidRequest) { try await client.makeRequest(refused) }
        }
        #expect(transport.requests.isEmpty)
    }

    @Test("The earlier of the request's and the operation's timeout limits an attempt", .shows("P4", "2.4"))
    func deadlines() async throws {
        let (transport, time) = (MockTransport(.text(""), .text(""), .text("")), ManualTime())
        let client = NetworkClient(
            transport: transport,
            options: .init(timeout: .seconds(10), maximumBodySize: 123, timeSource: time.timeSource)
        )
        for timeout in [2.5, 60, .infinity] {
            var request = try request("http://a.example/")
            request.timeoutInterval = timeout
            _ = try await client.makeRequest(request)
        }
        let deadlines = transport.requests.map { $0.limits.deadline.map { $0 - time.now } }
        #expect(deadlines == [.milliseconds(2_500), .seconds(10), .seconds(10)])
        #expect(transport.requests.allSatisfy { $0.limits.maximumBodySize == 123 })
    }

    @Test("Uses a URLSession configuration with its protocol classes and headers", .shows("3.3", "3.5", "4.8"))
    func configuration() throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["user-agent": "configured"]
        let client = NetworkClient(configuration: configuration)
        #expect(client.transport is URLSessionTransport)
        #expect(client.options.userAgent == "configured")
        #expect(NetworkClient(configuration: .ephemeral).options.userAgent == UserAgent().description)
    }

    @Test("Uses libcurl by default", .shows("2.4", "3.2"))
    func defaultTransport() {
        #expect(NetworkClient().transport is CurlTransport)
    }
}

@Suite("RequestOptions and streamed responses", .limitedConcurrency)
struct RequestOptionsTests {
    private let request = URLRequest(url: URL(string: "http://a.example/things")!)

    private func once(_ text: String) -> HTTPBody { .once(AsyncStream.of(text)) }

    @Test("Options override the client's limits")
    func limits() async throws {
        let transport = MockTransport { _ in .init(status: 204) }
        let time = ManualTime()
        let client = NetworkClient(
            transport: transport,
            options: .init(timeout: .seconds(5), maximumBodySize: 7, timeSource: time.timeSource)
        )
        let start = time.now
        _ = try await client.makeRequest(request, options: RequestOptions())
        _ = try await client.makeRequest(
            request,
            options: RequestOptions(
                timeout: .seconds(9),
                maximumBodySize: 11,
                firstByteTimeout: .seconds(1),
                idleTimeout: .seconds(2)
            )
        )
        let limits = transport.requests.map(\.limits)
        #expect(limits.map(\.maximumBodySize) == [7, 11])
        #expect(limits.map(\.firstByteTimeout) == [nil, .seconds(1)])
        #expect(limits.map(\.idleTimeout) == [nil, .seconds(2)])
        #expect(limits.map(\.deadline) == [start + .seconds(5), start + .seconds(9)])
    }

    @Test("Accepts a timeout beyond the clock's range")
    func endless() async throws {
        let transport = MockTransport(.status(204))
        let client = NetworkClient(transport: transport)
        _ = try await client.makeRequest(request, options: RequestOptions(timeout: .seconds(Int64.max)))
        #expect(transport.remainingStepCount == 0)
    }

    @Test("The option's body replaces the request's and keeps the header fields")
    func body() async throws {
        let transport = MockTransport { _ in .init(status: 204) }
        var request = request
        request.httpMethod = "PUT"
        request.httpBody = Data("own".utf8)
        request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
        let client = NetworkClient(transport: transport)
        for body in [nil, HTTPBody.data(Data("other".utf8)), once("parts")] {
            _ = try await client.makeRequest(request, options: RequestOptions(body: body))
        }
        #expect(transport.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["own", "other", "parts"])
        #expect(transport.requests.allSatisfy { $0.headers["Content-Type"] == "text/plain" })
    }

    @Test("Never sends a body again that can be sent only once", arguments: [401, 503])
    func notReplayable(_ status: Int) async throws {
        let transport = MockTransport(.status(status), .text("ok"))
        let authenticator = CountingAuthenticator { status, _ in status == 401 ? .retry : .none }
        let client = NetworkClient(
            transport: transport,
            interceptors: [authenticator, Retry.Policy.maxRetries(2, when: .always)]
        )
        var request = request
        request.httpMethod = "PUT"
        let error = await expectStatus(status) {
            try await client.makeRequest(request, options: RequestOptions(body: once("parts")))
        }
        expectReason(.bodyNotReplayable, error?.retry)
        #expect(error?.description.contains("sent only once") == true)
        #expect(transport.requests.count == 1)
    }

    @Test("Retries and authenticates until the header arrives, then streams the body")
    func streamed() async throws {
        let transport = MockTransport(.status(503), .status(401), .text("hello", headers: ["X-A": "b"]))
        let log = EventLog()
        let client = NetworkClient(
            transport: transport,
            interceptors: [
                CountingAuthenticator { status, _ in status == 401 ? .retry : .none }, Retry.Policy.maxRetries(1),
                RecordingInterceptor("r", log: log),
            ]
        )
        let stream = try await client.stream(request)
        #expect(stream.status == 200)
        #expect(stream.headers["X-A"] == "b")
        #expect(stream.url == request.url)
        #expect(try await stream.stream.collect(upTo: 10) == Data("hello".utf8))
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer 1", "Bearer 2", "Bearer 3"])
        #expect(log.all.count { $0.hasSuffix("response 200") } == 1)
    }

    @Test("An interceptor sees a streamed response without its body, and can replace or reject it")
    func streamedInterception() async throws {
        let transport = MockTransport { _ in .init(status: 200, body: Data("hello".utf8)) }
        let bodies = Mutex<[Data]>([])
        func client(_ replacing: @escaping @Sendable (inout HTTPResponse) -> Void) -> NetworkClient {
            let interceptor = Changing.response { response in
                bodies.withLock { $0.append(response.body) }
                replacing(&response)
            }
            return NetworkClient(transport: transport, interceptors: [interceptor])
        }
        let headed = try await client { $0.headers["X-New"] = "1" }.stream(request)
        #expect(headed.headers["X-New"] == "1")
        #expect(try await headed.stream.collect(upTo: 10) == Data("hello".utf8))
        let replaced = try await client { $0.body = Data("other".utf8) }.stream(request)
        #expect(try await replaced.stream.collect(upTo: 10) == Data("other".utf8))
        let error = await expectStatus(502) { try await client { $0.status = 502 }.stream(request) }
        #expect(error?.response == Data("hello".utf8))
        #expect(bodies.withLock { $0 } == [Data(), Data(), Data()])
    }

    @Test("Streams a response while it's received", arguments: LoopbackClientTests.Engine.allCases)
    func loopback(_ engine: LoopbackClientTests.Engine) async throws {
        try await withLoopbackServer { server async throws in
            let text = String(repeating: "0123456789", count: 50_000)
            server.on(.get, "/things", .status(503), .text(text))
            let client = engine.client([Retry.Policy.maxRetries(1)])
            let stream = try await client.stream(URLRequest(url: server.url(for: "/things")))
            var received = Data()
            for try await part in stream.stream { received.append(part) }
            #expect(received == Data(text.utf8))
        }
    }

    @Test("An observer receives the events of every request, including redirects and retries")
    func observed() async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/things", .status(302, headers: ["Location": "/there"]))
            server.on(.get, "/there", .text("hello"))
            let statuses = Mutex<[Int]>([])
            let options = RequestOptions { event in
                if case .headReceived(let status) = event { statuses.withLock { $0.append(status) } }
            }
            let client = NetworkClient(configuration: .ephemeral)
            _ = try await client.makeRequest(URLRequest(url: server.url(for: "/things")), options: options)
            #expect(statuses.withLock { $0 } == [302, 200])
        }
    }
}
