import Foundation
import FoundationNetworking
import Networking
import TestSupport
import Testing

@Suite("URLSessionTransport", .limitedConcurrency, .tags(.concurrency))
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

    private func request(_ path: String) -> HTTPRequest {
        HTTPRequest(
            method: .post,
            url: URL(string: "http://stub.example\(path)")!,
            body: .data(Data("body".utf8))
        )
    }

    @Test("Receives all parts of a body from a custom URLProtocol")
    func customProtocol() async throws {
        let response = try await withStub { try await $0.send(request("/")) }
        #expect(response.status == 201)
        #expect(response.body == Data("onetwo".utf8))
        #expect(response.headers.values(for: "X-Method") == ["POST"])
        #expect(response.headers.values(for: "X-Body") == ["4"])
    }

    @Test("Translates a custom URLProtocol's error to a NetworkError code")
    func customError() async throws {
        let error = try await withStub { transport in
            await failure { _ = try await transport.send(request("/offline")) }
        }
        #expect(error?.code == .cannotConnect)
    }

    @Test("Leaves the caller's configuration unchanged", .shows("2.20", "3.3"))
    func configurationIsCopied() async throws {
        let configuration = URLSessionConfiguration.default
        let cache = configuration.urlCache
        let storage = configuration.httpCookieStorage
        await URLSessionTransport(configuration: configuration).close()
        #expect(configuration.urlCache === cache)
        #expect(configuration.httpCookieStorage === storage)
        #expect(configuration.httpShouldSetCookies)
    }

    @Test("Sends a body with its length, but no cookies from an earlier response", .shows("H19", "P15"))
    func wire() async throws {
        try await withPeer { connection in
            while true {
                try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\nSet-Cookie: a=secret; Path=/\r\nContent-Length: 0\r\n\r\n")
            }
        } _: { peer in
            let transport = URLSessionTransport(configuration: .default)
            let request = HTTPRequest(
                method: .post,
                url: peer.url,
                headers: ["Content-Type": "text/plain", "X-Empty": ""],
                body: .data(Data("hello".utf8))
            )
            for _ in 0..<2 { _ = try await transport.send(request) }
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
        try await TransportUnderTest.urlSession.run { connection in
            try connection.readRequest()
            guard connection.number == 0 else { return }
            try connection.send(TCPPeer.empty)
            try connection.readRequest()
        } _: { transport, peer in
            let body = HTTPBody.data(Data(repeating: 0x61, count: size))
            let request = HTTPRequest(method: .post, url: peer.url, body: body)
            _ = try await transport.send(request)
            await expectFailure(.connectionLost) { _ = try await transport.send(request) }
            #expect(peer.requests.count == 2)
        }
    }

    @Test("Rejects a GET with a body, which URLSession can't send")
    func getWithBody() async throws {
        let transport = URLSessionTransport()
        var request = request("/")
        request.method = .get
        await expectFailure(.invalidRequest) { _ = try await transport.send(request) }
        await transport.close()
    }

    @Test(
        "Survives cancellation while a redirect or a challenge arrives",
        arguments: [302: "Location: /x", 401: "WWW-Authenticate: Basic realm=x"]
    )
    func cancelledAtDecision(_ status: Int, _ field: String) async throws {
        try await withPeer(answering: "HTTP/1.1 \(status) Decide\r\n\(field)\r\nContent-Length: 0\r\n\r\n") { peer in
            try await TransportUnderTest.urlSession.run { transport in
                for round in 0..<200 {
                    let task = Task { try await transport.get(peer.url) }
                    try await Task.sleep(for: .microseconds(20 * round))
                    task.cancel()
                    switch await task.result {
                    case .success(let response): #expect(response.status == status)
                    case .failure(let error): #expect(error is CancellationError)
                    }
                }
            }
        }
    }
}

@Suite("URLSessionTransport uploads", .limitedConcurrency, .tags(.concurrency))
struct URLSessionUploadTests {
    private struct Broken: Error {}

    private static func echo(_ connection: TCPPeer.Connection) throws {
        while true {
            let request = try connection.readRequest()
            let body = request.components(separatedBy: "\r\n\r\n").last ?? ""
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        }
    }

    private func send(
        _ body: HTTPBody,
        maximum: Int = 1000,
        deadline: Duration = .seconds(900)
    ) async throws -> (error: NetworkError?, echoed: String, requests: [String]) {
        try await withPeer(Self.echo) { peer in
            let transport = URLSessionTransport(maximumRequestBodySize: maximum)
            var echoed = ""
            let error = await failure {
                let response = try await transport.send(
                    HTTPRequest(method: .put, url: peer.url, body: body),
                    limits: HTTPTransportLimits(deadline: .now + deadline)
                )
                echoed = String(decoding: response.body, as: UTF8.self)
            }
            await transport.close()
            return (error, echoed, peer.requests)
        }
    }

    @Test("Sends a file with its length")
    func file() async throws {
        try await withTemporaryFile(Data("some text".utf8)) { file in
            let body = try HTTPBody.file(file)
            let sent = try await send(body)
            #expect(sent.echoed == "some text")
            #expect(sent.requests.first?.lowercased().contains("content-length: 9") == true)
        }
    }

    @Test("Sends parts together with their length, whether or not it was known", arguments: [8, nil])
    func stream(_ length: Int?) async throws {
        let sent = try await send(.stream(length: length) { AsyncStream.of("ab", "", "cdef", "gh") })
        #expect(sent.echoed == "abcdefgh")
        #expect(sent.requests.first?.lowercased().contains("content-length: 8") == true)
        #expect(try await send(.once(AsyncStream.of("abcd", "efgh"), length: length)).echoed == "abcdefgh")
    }

    @Test("Rejects a body over the memory limit", arguments: [nil, 8])
    func tooLarge(_ length: Int?) async throws {
        let sent = try await send(.stream(length: length) { AsyncStream.of("abcd", "efgh") }, maximum: 7)
        #expect(sent.error?.code == .invalidRequest)
        #expect(sent.error?.message.contains("maximumRequestBodySize") == true)
        try await withTemporaryFile(Data("12345678".utf8)) { file in
            let file = try HTTPBody.file(file)
            #expect(try await send(file, maximum: 7).error?.code == .invalidRequest)
        }
        #expect(sent.requests.isEmpty)
    }

    @Test("Sends nothing when the parts fail, and reports the cause")
    func brokenParts() async throws {
        let parts = AsyncThrowingStream<Data, any Error> { continuation in
            continuation.yield(Data("ab".utf8))
            continuation.finish(throwing: Broken())
        }
        let sent = try await send(.once(parts))
        #expect(sent.error?.code == .requestNotMade)
        #expect(sent.error?.cause is Broken)
        #expect(sent.requests.isEmpty)
    }

    /// Never produces a part and ignores the cancellation of its task.
    private struct Deaf: AsyncSequence, AsyncIteratorProtocol, Sendable {
        func makeAsyncIterator() -> Self { self }
        func next() async throws -> Data? {
            await withCheckedContinuation { continuation in
                // Resumed long after the test, because every continuation must be resumed.
                DispatchQueue.global().asyncAfter(deadline: .now() + 50) { continuation.resume() }
            }
            return nil
        }
    }

    @Test("Enforces the deadline on parts that never arrive and can't be cancelled")
    func deafParts() async throws {
        let sent = try await send(.stream { Deaf() }, deadline: .milliseconds(50))
        #expect(sent.error?.code == .timedOut)
    }

    @Test("Cancels at once while the parts are produced")
    func cancelled() async throws {
        let transport = URLSessionTransport()
        let task = Task {
            let request = HTTPRequest(
                method: .put,
                url: URL(string: "http://127.0.0.1:1/")!,
                body: .stream { Deaf() }
            )
            _ = try await transport.open(request)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        await transport.close()
    }

    @Test("File uploads survive cancellation and early responses")
    func storm() async throws {
        try await withTemporaryFile(Data(String(repeating: "x", count: 300_000).utf8)) { file in
            let body = try HTTPBody.file(file)
            try await TransportUnderTest.urlSession.run { connection in
                while true {
                    guard connection.number.isMultiple(of: 2) else {
                        _ = try connection.read(20_000)
                        try connection.send("HTTP/1.1 307 Early\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n")
                        try connection.waitForClose()
                        return
                    }
                    try connection.readRequest()
                    try connection.send(TCPPeer.empty)
                }
            } _: { transport, peer in
                for round in 0..<60 {
                    let task = Task {
                        let request = HTTPRequest(method: .put, url: peer.url, body: body)
                        return try await transport.send(request, limits: .milliseconds(2000)).status
                    }
                    if !round.isMultiple(of: 3) {
                        try await Task.sleep(for: .microseconds(100 * round))
                        task.cancel()
                    }
                    switch await task.result {
                    case .success(let status): #expect([200, 307].contains(status))
                    case .failure(is CancellationError): break
                    case .failure(let error):
                        #expect([.connectionLost, .timedOut].contains((error as? NetworkError)?.code))
                    }
                }
            }
        }
    }
}
