import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("NetworkClient", .limitedConcurrency)
struct NetworkClientTests {
    private func request(_ url: String, method: String = "GET") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: url)))
        request.httpMethod = method
        return request
    }

    @Test("Returns the body of each response")
    func body() async throws {
        let client = NetworkClient(transport: MockTransport(.text("one"), .text("two")))
        let request = try request("http://a.example/x")
        #expect(try await client.makeRequest(request) == Data("one".utf8))
        #expect(try await client.makeRequest(request) == Data("two".utf8))
    }

    @Test("Returns empty data for an empty success", arguments: [200, 204, 205])
    func empty(_ status: Int) async throws {
        let client = NetworkClient(transport: MockTransport(.status(status)))
        let request = try request("http://a.example/x")
        #expect(try await client.makeRequest(request) == Data())
    }

    @Test("Throws a ServerError for a status other than 2xx", arguments: [300, 304, 400, 401, 404, 500, 503])
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
        "Errors name the last component of the path",
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

    @Test("Returns the whole response")
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

    @Test("Sends the request unchanged, with a default User-Agent")
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
            let error = await #expect(throws: NetworkError.self) { try await client.makeRequest(refused) }
            #expect(error?.code == .invalidRequest)
        }
        #expect(transport.requests.isEmpty)
    }

    @Test("The earlier of the request's and the operation's timeout limits an attempt")
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

    @Test("Uses a URLSession configuration with its protocol classes and headers")
    func configuration() throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["user-agent": "configured"]
        let client = NetworkClient(configuration: configuration)
        #expect(client.transport is URLSessionTransport)
        #expect(client.options.userAgent == "configured")
        #expect(NetworkClient(configuration: .ephemeral).options.userAgent == UserAgent().description)
    }

    @Test("Uses libcurl by default")
    func defaultTransport() {
        #expect(NetworkClient().transport is CurlTransport)
    }
}
