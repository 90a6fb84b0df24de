import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Networking

/// Tests of the 39 behaviors that Apple's HTTP client conformance requires
/// ([swift-http-api-proposal](https://github.com/apple/swift-http-api-proposal), commit a7dad952).
@Suite("HTTP client conformance", .limitedConcurrency)
struct ClientBehaviorTests {
    @Test(
        "A client behaves as Apple's HTTP client conformance requires",
        .shows("H4", "RFC 9112"),
        arguments: ClientBehavior.all,
        TransportUnderTest.allCases
    )
    func behavior(_ behavior: ClientBehavior, _ transport: TransportUnderTest) async throws {
        switch behavior.difference(of: transport) {
        case .notRun?: break
        case .differs(let reason)?:
            // Another libcurl under URLSession may be stricter.
            await withKnownIssue(Comment(rawValue: reason), isIntermittent: transport == .urlSession) {
                try await run(behavior, transport)
            }
        case nil: try await run(behavior, transport)
        }
    }

    @Test("All 39 behaviors are listed")
    func completeness() {
        #expect(Set(ClientBehavior.all.map(\.name)).count == 39)
        let differing = ClientBehavior.all.filter { !$0.differences.isEmpty }
        #expect(differing.count { $0.difference(of: .curl) != nil } == 2)
    }

    private func run(_ behavior: ClientBehavior, _ transport: TransportUnderTest) async throws {
        let script = BehaviorPeer()
        try await transport.run(connections: behavior.connections) { transport in
            try await withPeer(script.answer) { peer in
                var options = NetworkClient.Options()
                // The processors may be busy with other tests.
                options.timeout = nil
                let client = NetworkClient(
                    transport: transport,
                    interceptors: [CacheInterceptor()],
                    options: options
                )
                try await behavior.check(BehaviorSession(client: client, peer: peer, script: script))
            }
        }
    }
}

struct BehaviorSession: Sendable {
    let client: NetworkClient
    let peer: TCPPeer
    let script: BehaviorPeer

    func request(
        _ path: String,
        _ method: HTTPMethod = .get,
        _ headers: HTTPHeaders = [:],
        _ body: HTTPBody = .none
    ) -> HTTPRequest {
        HTTPRequest(method: method, url: peer.url(path), headers: headers, body: body)
    }

    /// Sends a request and returns the response with any status.
    func send(
        _ path: String,
        _ method: HTTPMethod = .get,
        _ headers: HTTPHeaders = [:],
        _ body: HTTPBody = .none
    ) async throws -> HTTPResponse {
        var resource = request(path, method, headers, body).makeResource()
        resource.traits.acceptedStatuses = 200..<1000
        return try await client.response(for: resource)
    }

    func fails(_ path: String) async {
        #expect(await failure { _ = try await send(path) } != nil)
    }
}

extension HTTPResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
}

struct ClientBehavior: Sendable, CustomTestStringConvertible {
    enum Difference: Sendable {
        /// The check fails, for this reason.
        case differs(String)
        /// The check would hang or crash, or can't be written, for this reason.
        case notRun(String)
    }

    /// The name of the case in Apple's suite.
    let name: String
    let differences: [TransportUnderTest: Difference]
    let connections: Int?
    let check: @Sendable (BehaviorSession) async throws -> Void

    var testDescription: String { name }

    init(
        _ name: String,
        _ differences: [TransportUnderTest: Difference] = [:],
        connections: Int? = nil,
        check: @escaping @Sendable (BehaviorSession) async throws -> Void
    ) {
        self.name = name
        self.differences = differences
        self.connections = connections
        self.check = check
    }

    func difference(of transport: TransportUnderTest) -> Difference? { differences[transport] }

    static let all = messages + requests + codings + statuses + timing + state
}

// MARK: The rows

extension ClientBehavior {
    private static let messages: [Self] = [
        Self("testNotHTTP") { await $0.fails("/raw/no-http") },
        Self("testBadHTTPCase", [.urlSession: .differs("the case of the version isn't checked")]) {
            await $0.fails("/raw/version-case")
        },
        Self("testNoReason", [.urlSession: .differs("a status line without a reason is rejected")]) { session in
            let response = try await session.send("/raw/no-reason")
            #expect(response.status == 200)
        },
        Self("test204WithContentLength") { session in
            let response = try await session.send("/raw/204")
            #expect(response.status == 204 && response.body.isEmpty)
        },
        Self("test304WithContentLength") { session in
            let response = try await session.send("/raw/304")
            #expect(response.status == 304 && response.body.isEmpty)
        },
        Self("testIncompleteBody") { await $0.fails("/raw/cut") },
        Self("testNoLengthHint") { session in
            let response = try await session.send("/raw/no-length")
            #expect(response.text == "1234")
        },
        Self("testConflictingContentLength") { await $0.fails("/raw/two-lengths") },
    ]

    private static let requests: [Self] = [
        Self("testOk") { session in
            for method in [HTTPMethod.head, .get, .put, .post, .delete] {
                let response = try await session.send("/ok", method)
                #expect(response.status == 200 && response.body.isEmpty && response.trailers.isEmpty)
            }
        },
        Self("testEchoString") { session in
            let body = HTTPBody.stream { AsyncStream([Data("Hello World".utf8)]) }
            let response = try await session.send("/echo", .post, [:], body)
            #expect(response.text == "Hello World")
        },
        Self("testEcho1MBBody") { session in
            let text = String(repeating: "A", count: 1_000_000)
            let body = HTTPBody.stream(length: text.utf8.count) { AsyncStream([Data(text.utf8)]) }
            let response = try await session.send("/echo", .post, [:], body)
            #expect(response.text == text)
        },
        Self("testEmptyChunkedBody") { session in
            for length in [0, nil] {
                let body = HTTPBody.stream(length: length) { AsyncStream<Data>([]) }
                let response = try await session.send("/request", .post, [:], body)
                #expect(response.text.hasSuffix("\r\n\r\n"))
            }
        },
        Self("testCustomHeader") { session in
            let response = try await session.send("/request", .post, ["X-Foo": "BARbaz"], .data(Data("Hello".utf8)))
            #expect(response.text.contains("X-Foo: BARbaz\r\n"))
        },
        Self("testClientSendsEmptyHeaderValue") { session in
            let lines = try await session.send("/request", .post, ["X-Test": ""]).text.components(separatedBy: "\r\n")
            #expect(lines.contains { $0.trimmingCharacters(in: .whitespaces) == "X-Test:" })
        },
        Self("testClientSendsMultiValueHeader") { session in
            var headers: HTTPHeaders = ["X-Test": "one"]
            headers.append(name: "X-Test", value: "two")
            let text = try await session.send("/request", .get, headers).text
            let values = text.components(separatedBy: "\r\n").filter { $0.hasPrefix("X-Test:") }
                .flatMap { $0.dropFirst("X-Test:".count).split(separator: ",") }
            #expect(values.map { $0.trimmingCharacters(in: .whitespaces) } == ["one", "two"])
        },
        Self("testServerSendsMultiValueHeader") { session in
            let values = try await session.send("/twice").headers.values(for: "X-Test")
            let parts = values.flatMap { $0.split(separator: ",") }.map { $0.trimmingCharacters(in: .whitespaces) }
            #expect(parts == ["one", "two"])
        },
        Self("testHeadWithContentLength") { session in
            let response = try await session.send("/length", .head)
            #expect(response.headers["Content-Length"] == "1000")
            #expect(response.status == 200 && response.body.isEmpty && response.trailers.isEmpty)
        },
        Self("testURLParams") { session in
            var components = try #require(
                URLComponents(url: session.peer.url("/request"), resolvingAgainstBaseURL: true)
            )
            components.queryItems = [("foo", "bar"), ("bar", "baz"), ("baz", "qux"), ("qux", ""), ("foo", "phew")]
                .map { URLQueryItem(name: $0.0, value: $0.1) }
            let request = HTTPRequest(url: try #require(components.url))
            let text = try await session.client.response(for: request).text
            #expect(text.hasPrefix("GET /request?foo=bar&bar=baz&baz=qux&qux=&foo=phew HTTP/1.1\r\n"))
        },
        Self("testGetConvenience") { session in
            let response = try await session.below("/").get("request")
            #expect(response.text.hasPrefix("GET /request ") && response.text.hasSuffix("\r\n\r\n"))
        },
        Self("testPostConvenience") { session in
            let body = EndpointBody.data(Data("Hello World".utf8), contentType: "text/plain")
            let response = try await session.below("/").post("request", body: body)
            #expect(response.text.hasPrefix("POST /request ") && response.text.hasSuffix("\r\n\r\nHello World"))
        },
        Self("testUnderRead") { session in
            let response = try await session.client.stream(session.request("/large"))
            var iterator = response.stream.makeAsyncIterator()
            let part = try await iterator.next()
            #expect(part?.first == UInt8(ascii: "A"))
            response.stream.cancel()
        },
        Self("testDripRead") { session in
            let response = try await session.client.stream(session.request("/large"))
            var count = 0
            for try await part in response.stream {
                for byte in part where byte == UInt8(ascii: "A") { count += 1 }
            }
            #expect(count == 1_000_000)
        },
    ]

    private static let codings: [Self] = [
        Self("testGzip") { try await $0.check(coding: "gzip", at: "/gzip") },
        Self("testDeflate") { try await $0.check(coding: "deflate", at: "/deflate") },
        Self("testBrotli") { try await $0.check(coding: "br", at: "/br") },
        Self("testIdentity") { try await $0.check(coding: nil, at: "/plain") },
    ]

    private static let statuses: [Self] = [
        Self("testBasicRedirect") { session in
            for status in [301, 308] {
                let response = try await session.send("/moved/\(status)")
                #expect(response.status == 200 && response.redirects.map(\.status) == [status])
                #expect(response.text.hasPrefix("GET /request ") && response.text.hasSuffix("\r\n\r\n"))
            }
        },
        Self("testInfiniteRedirect") { await $0.fails("/loop/a") },
        Self("testNotFound") { session in
            let response = try await session.send("/404")
            #expect(response.status == 404 && response.body.isEmpty)
        },
        Self("testStatusOutOfRangeButValid") { session in
            let response = try await session.send("/999")
            #expect(response.status == 999 && response.body.isEmpty)
        },
    ]

    private static let bodyIsReadFirst = Difference.notRun("the body of a request is read before it's sent")

    private static let timing: [Self] = [
        Self("testStressTest", connections: 100) { session in
            try await withThrowingTaskGroup { group in
                for _ in 0..<100 {
                    group.addTask {
                        let response = try await session.send("/request")
                        #expect(!response.body.isEmpty)
                    }
                }
                try await group.waitForAll()
            }
            #expect(session.peer.requests.count == 100)
        },
        Self("testCancelPreHeaders") { try await $0.cancels("/stall") },
        Self("testCancelPreBody") { try await $0.cancels("/stall/body") },
        Self("testEchoInterleave", [.urlSession: bodyIsReadFirst]) { session in
            let (parts, sender) = AsyncStream<Data>.makeStream()
            sender.yield(Data("A".utf8))
            let body = HTTPBody.once(parts)
            let response = try await session.client.stream(session.request("/echo", .post, [:], body))
            var count = 0
            for try await part in response.stream {
                #expect(part == Data("A".utf8))
                count += 1
                if count < 1000 { sender.yield(Data("A".utf8)) } else { sender.finish() }
            }
            #expect(count == 1000)
        },
        Self("testSpeakInterleave", [.urlSession: bodyIsReadFirst]) { session in
            let (parts, sender) = AsyncStream<Data>.makeStream()
            let response = try await session.client.stream(session.request("/speak", .post, [:], .once(parts)))
            var text = Data()
            for try await part in response.stream {
                text += part
                sender.yield(part)
                if text.count == 1000 { sender.finish() }
            }
            #expect(text == Data(repeating: UInt8(ascii: "A"), count: 1000))
        },
    ]

    private static let state: [Self] = [
        Self(
            "testBasicCookieSetAndUse",
            [.curl: .differs("cookies are never stored"), .urlSession: .differs("cookies are never stored")]
        ) { session in
            _ = try await session.send("/cookie")
            let response = try await session.send("/request")
            #expect(response.text.contains("Cookie: foo=7\r\n"))
        },
        Self("testETag") { session in
            for number in 0..<3 {
                for attempt in 0..<2 {
                    let response = try await session.send("/tag")
                    #expect(response.status == 200 && response.text == "\(number)")
                    #expect(response.headers["ETag"] == "\"\(number)\"")
                    #expect(response.headers["X-Cached"] == (attempt == 0 ? "no" : "yes"))
                }
            }
        },
        Self("testTrailerRead", [.urlSession: .notRun("trailers crash the process")]) { session in
            let response = try await session.send("/trailers")
            #expect(response.text == "Response body")
            #expect(response.trailers == ["X-Trailer-One": "first", "X-Trailer-Two": "second"])
        },
        Self(
            "testTrailerWrite",
            [.curl: .notRun("a body has no trailers"), .urlSession: .notRun("a body has no trailers")]
        ) { _ in },
    ]
}

extension BehaviorSession {
    fileprivate func below(_ path: String) -> NetworkClient {
        NetworkClient(baseURL: peer.url(path), transport: client.transport)
    }

    fileprivate func check(coding: String?, at path: String) async throws {
        let response = try await send(path)
        #expect(response.text == "TEST\n")
        if let coding { #expect(peer.requests[0].contains(coding)) }
    }

    /// Cancels a request whose response never ends.
    fileprivate func cancels(_ path: String) async throws {
        let operation = Task { _ = try await send(path) }
        for await _ in script.stalled.stream { break }
        operation.cancel()
        await #expect(throws: CancellationError.self) { try await operation.value }
    }
}

extension AsyncStream where Element: Sendable {
    fileprivate init(_ elements: [Element]) {
        self.init { continuation in
            for element in elements { continuation.yield(element) }
            continuation.finish()
        }
    }
}
