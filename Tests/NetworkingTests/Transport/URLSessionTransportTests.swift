import Foundation
import FoundationNetworking
import Networking
import TestSupport
import Testing

@Suite("URLSessionTransport", .limitedConcurrency)
struct URLSessionTransportTests {
    /// A stub that responds based on the path, without a network.
    private final class Stub: URLProtocol {
        override static func canInit(with request: URLRequest) -> Bool { request.url?.host == "stub.example" }
        override static func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        override func stopLoading() {}

        override func startLoading() {
            guard let url = request.url, url.path != "/silence" else { return }
            guard url.path != "/offline" else {
                client?.urlProtocol(self, didFailWithError: URLError(.notConnectedToInternet))
                return
            }
            let fields = ["X-Method": request.httpMethod ?? "", "X-Body": "\(request.httpBody?.count ?? 0)"]
            if let response = HTTPURLResponse(url: url, statusCode: 201, httpVersion: "HTTP/1.1", headerFields: fields)
            {
                client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            }
            client?.urlProtocol(self, didLoad: Data("one".utf8))
            client?.urlProtocol(self, didLoad: Data("two".utf8))
            client?.urlProtocolDidFinishLoading(self)
        }
    }

    private func withStub<Result>(_ test: (URLSessionTransport) async throws -> Result) async throws -> Result {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [Stub.self]
        let transport = URLSessionTransport(configuration: configuration)
        let result = try await test(transport)
        await transport.close()
        return result
    }

    private func request(_ path: String) -> HTTPTransportRequest {
        HTTPTransportRequest(
            method: .post,
            url: URL(string: "http://stub.example\(path)")!,
            body: .data(Data("body".utf8))
        )
    }

    @Test("Receives all parts of a body from a custom URLProtocol")
    func customProtocol() async throws {
        let response = try await withStub { try await $0.send(request("/"), limits: .generous()) }
        #expect(response.status == 201)
        #expect(response.body == Data("onetwo".utf8))
        #expect(response.headers.values(for: "X-Method") == ["POST"])
        #expect(response.headers.values(for: "X-Body") == ["4"])
    }

    @Test("Translates a custom URLProtocol's error to a NetworkError code")
    func customError() async throws {
        let error = try await withStub { transport in
            await failure { _ = try await transport.send(request("/offline"), limits: .generous()) }
        }
        #expect(error?.code == .cannotConnect)
    }

    @Test("Enforces the deadline on a custom URLProtocol that never responds")
    func customSilence() async throws {
        let error = try await withStub { transport in
            await failure { _ = try await transport.send(request("/silence"), limits: .milliseconds(30)) }
        }
        #expect(error?.code == .timedOut)
    }

    @Test("Leaves the caller's configuration unchanged")
    func configurationIsCopied() async throws {
        let configuration = URLSessionConfiguration.default
        let cache = configuration.urlCache
        let storage = configuration.httpCookieStorage
        await URLSessionTransport(configuration: configuration).close()
        #expect(configuration.urlCache === cache)
        #expect(configuration.httpCookieStorage === storage)
        #expect(configuration.httpShouldSetCookies)
    }

    @Test("Sends a body with its length, but no cookies from an earlier response")
    func wire() async throws {
        try await withPeer { connection in
            while true {
                try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\nSet-Cookie: a=secret; Path=/\r\nContent-Length: 0\r\n\r\n")
            }
        } _: { peer in
            let transport = URLSessionTransport(configuration: .default)
            let request = HTTPTransportRequest(
                method: .post,
                url: peer.url,
                headers: ["Content-Type": "text/plain", "X-Empty": ""],
                body: .data(Data("hello".utf8))
            )
            for _ in 0..<2 { _ = try await transport.send(request, limits: .generous()) }
            await transport.close()
            #expect(peer.requests.count == 2)
            for text in peer.requests {
                let lines = text.components(separatedBy: "\r\n")
                #expect(lines.first == "POST / HTTP/1.1")
                #expect(lines.contains { $0.lowercased() == "content-length: 5" })
                #expect(lines.contains { $0.lowercased() == "content-type: text/plain" })
                #expect(!text.lowercased().contains("cookie"))
                #expect(lines.last == "hello")
            }
        }
    }

    @Test("Doesn't resend a request with a body when its kept connection dies", arguments: [5, 300_000])
    func deadConnection(_ size: Int) async throws {
        try await withPeer { connection in
            try connection.readRequest()
            guard connection.number == 0 else { return }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            try connection.readRequest()
        } _: { peer in
            try await TransportUnderTest.urlSession.run { transport in
                let body = HTTPBody.data(Data(repeating: 0x61, count: size))
                let request = HTTPTransportRequest(method: .post, url: peer.url, body: body)
                _ = try await transport.send(request, limits: .generous())
                let start = ContinuousClock.now
                let error = await failure { _ = try await transport.send(request, limits: .generous()) }
                #expect(error?.code == .connectionLost)
                #expect(ContinuousClock.now - start < .seconds(60))
            }
            #expect(peer.requests.count == 2)
        }
    }

    @Test("Rejects a GET with a body, which URLSession can't send")
    func getWithBody() async throws {
        let transport = URLSessionTransport()
        var request = request("/")
        request.method = .get
        let error = await failure { _ = try await transport.send(request, limits: .generous()) }
        #expect(error?.code == .invalidRequest)
        await transport.close()
    }

    @Test(
        "Survives cancellation while a redirect or a challenge arrives",
        arguments: [302: "Location: /x", 401: "WWW-Authenticate: Basic realm=x"]
    )
    func cancelledAtDecision(_ status: Int, _ field: String) async throws {
        try await withPeer { connection in
            while true {
                try connection.readRequest()
                try connection.send("HTTP/1.1 \(status) Decide\r\n\(field)\r\nContent-Length: 0\r\n\r\n")
            }
        } _: { peer in
            try await TransportUnderTest.urlSession.run { transport in
                for round in 0..<200 {
                    let task = Task { try await transport.get(peer.url) }
                    try await Task.sleep(for: .microseconds(20 * round))
                    task.cancel()
                    switch await task.result {
                    case .success(let response): #expect(response.status == status)
                    case .failure(let error): #expect((error as? NetworkError)?.code == .cancelled)
                    }
                }
            }
        }
    }
}
