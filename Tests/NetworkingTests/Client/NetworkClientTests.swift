import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Testing

@Suite("NetworkClient")
struct NetworkClientTests {
    private func request(_ url: String, method: String = "GET") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: url)))
        request.httpMethod = method
        return request
    }

    @Test("Returns the body, each time that of its own response")
    func body() async throws {
        let client = NetworkClient(transport: MockTransport(.text("one"), .text("two")))
        let request = try request("http://a.example/x")
        #expect(try await client.makeRequest(request) == Data("one".utf8))
        #expect(try await client.makeRequest(request) == Data("two".utf8))
    }

    @Test("an empty success is empty data", arguments: [200, 204, 205])
    func empty(_ status: Int) async throws {
        let client = NetworkClient(transport: MockTransport(.status(status)))
        let request = try request("http://a.example/x")
        #expect(try await client.makeRequest(request) == Data())
    }

    @Test("A status that is not 2xx is a ServerError", arguments: [300, 304, 400, 401, 404, 500, 503])
    func failure(_ status: Int) async throws {
        let client = NetworkClient(
            transport: MockTransport(.status(status, headers: ["X-Id": "7"], body: Data("why".utf8)))
        )
        let request = try request("http://a.example/users/42?q=1")
        let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
        #expect(error?.errorCode == status)
        #expect(error?.endpoint == "42")
        #expect(error?.response == Data("why".utf8))
        #expect(error?.headers["x-id"] == "7")
        #expect(error?.retry == nil)
    }

    @Test(
        "errors name the last component of the path",
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

    @Test("gives the whole response to whoever asks for it")
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

    @Test("sends what the request says, with the process's User-Agent unless it has one")
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

    @Test("refuses what it can't send, before anything is sent")
    func refusing() async throws {
        let transport = MockTransport(.text(""), .text(""))
        let client = NetworkClient(transport: transport)
        var streaming = try request("http://a.example/", method: "POST")
        streaming.httpBodyStream = InputStream(data: Data("x".utf8))
        for refused in [streaming, try request("http://a.example/", method: "GE T")] {
            let error = await #expect(throws: NetworkError.self) { try await client.makeRequest(refused) }
            #expect(error?.code == .invalidRequest)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test("an attempt ends at the request's timeout or the operation's, whichever comes first")
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

    @Test("Works on a URLSession configuration, with its protocol classes and headers")
    func configuration() throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["user-agent": "configured"]
        let client = NetworkClient(configuration: configuration)
        #expect(client.transport is URLSessionTransport)
        #expect(client.options.userAgent == "configured")
        #expect(NetworkClient(configuration: .ephemeral).options.userAgent == UserAgent().description)
    }

    @Test("works on libcurl by default")
    func defaultTransport() {
        #expect(NetworkClient().transport is CurlTransport)
    }
}
