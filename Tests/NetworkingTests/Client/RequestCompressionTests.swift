import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestPrograms
import TestSupport
import Testing

@Suite("RequestCompression", .limitedConcurrency)
struct RequestCompressionTests {
    private static let url = URL(string: "http://a.example/things")!
    private static let text = "[" + Array(repeating: #"{"name":"value"}"#, count: 200).joined(separator: ",") + "]"

    private func request(_ text: String = Self.text, _ contentType: String? = "application/json") -> URLRequest {
        var request = URLRequest(url: Self.url)
        request.httpMethod = "POST"
        request.httpBody = Data(text.utf8)
        request.setValue(contentType, forHTTPHeaderField: "Content-Type")
        return request
    }

    private func client(
        _ transport: MockTransport,
        _ interceptors: [any Interceptor] = [],
        _ compression: RequestCompression = .gzip(),
        observers: [any ClientObserver] = []
    ) -> NetworkClient {
        NetworkClient(
            transport: transport,
            interceptors: interceptors,
            options: NetworkClient.Options(requestCompression: compression, observers: observers)
        )
    }

    private func decoded(_ body: Data) throws -> String {
        let result = try ProgramResult.blocking("/usr/bin/gzip", ["-dc"], input: body)
        return String(decoding: result.output, as: UTF8.self)
    }

    private func isCompressed(_ request: MockTransport.RecordedRequest) -> Bool {
        request.headers["Content-Encoding"] == "gzip" && request.body.starts(with: [0x1F, 0x8B])
    }

    @Test(
        "Compresses JSON of any media type",
        .shows("P34"),
        arguments: ["application/json", "application/problem+json; charset=utf-8", "text/json"]
    )
    func json(_ contentType: String) async throws {
        let transport = MockTransport(.status(204))
        _ = try await client(transport).makeRequest(request(Self.text, contentType))
        let sent = try #require(transport.requests.first)
        #expect(sent.headers.values(for: "Content-Encoding") == ["gzip"])
        #expect(sent.headers["Content-Type"] == contentType)
        #expect(sent.body.count < Self.text.utf8.count / 10)
        #expect(try decoded(sent.body) == Self.text)
    }

    @Test("Compresses the same body to the same bytes, large or small", arguments: [1, 1000])
    func stable(factor: Int) async throws {
        let text = String(repeating: Self.text, count: factor)
        let transport = MockTransport(.status(204), .status(204))
        let client = client(transport)
        for _ in 0..<2 { _ = try await client.makeRequest(request(text)) }
        #expect(transport.requests[0].body == transport.requests[1].body)
        #expect(try decoded(transport.requests[0].body) == text)
    }

    @Test(
        "Sends other bodies, those with a coding, a range or a digest, and those that would grow unchanged",
        arguments: [
            (text, "text/plain", nil), (text, "application/x-www-form-urlencoded", nil), (text, "json", nil),
            (text, nil, nil), ("1", "application/json", nil), ("{}", "application/json", nil),
            (#"{"a":"qW3x9Z"}"#, "application/json", nil), ("", "application/json", nil),
        ]
            + ["Content-Encoding", "content-range", "Content-Digest", "Repr-Digest", "Digest", "Content-MD5"].map {
                (text, "application/json", $0)
            } as [(String, String?, String?)]
    )
    func unchanged(_ text: String, _ contentType: String?, _ field: String?) async throws {
        let transport = MockTransport(.status(204))
        var request = request(text, contentType)
        if let field { request.setValue("x", forHTTPHeaderField: field) }
        _ = try await client(transport, [], .gzip(minimumSize: -1)).makeRequest(request)
        let sent = try #require(transport.requests.first)
        #expect(sent.body == Data(text.utf8))
        #expect(sent.headers["Content-Encoding"] == (field == "Content-Encoding" ? "x" : nil))
        if let field { #expect(sent.headers.values(for: field) == ["x"]) }
    }

    @Test("Compresses from the minimum size", arguments: [(100, 100, true), (101, 100, false), (0, 100, true)])
    func minimumSize(_ minimum: Int, _ size: Int, isCompressed: Bool) async throws {
        let transport = MockTransport(.status(204))
        let text = "\"" + String(repeating: "a", count: size - 2) + "\""
        _ = try await client(transport, [], .gzip(minimumSize: minimum)).makeRequest(request(text))
        let sent = try #require(transport.requests.first)
        #expect(self.isCompressed(sent) == isCompressed)
    }

    @Test("Doesn't compress by default, and the request's options override the client's")
    func options() async throws {
        let transport = MockTransport { _ in .init(status: 204) }
        let plain = NetworkClient(transport: transport)
        _ = try await plain.makeRequest(request())
        _ = try await plain.makeRequest(request(), options: RequestOptions(requestCompression: .gzip()))
        let options = RequestOptions(body: .data(Data(Self.text.utf8)), requestCompression: RequestCompression.none)
        _ = try await client(transport).makeRequest(request("1"), options: options)
        _ = try await client(transport).makeRequest(
            request("1"),
            options: RequestOptions(body: .data(Data(Self.text.utf8)))
        )
        #expect(transport.requests.map(isCompressed) == [false, true, false, true])
    }

    private struct Report: HTTPEndpoint {
        var requestCompression: RequestCompression?
        var baseURL: URL { RequestCompressionTests.url }
        var method: HTTPMethod { .post }
        var body: EndpointBody {
            get throws { .data(Data(RequestCompressionTests.text.utf8), contentType: "application/json") }
        }
    }

    @Test("An endpoint decides for its requests and uploads")
    func endpoint() async throws {
        let transport = MockTransport { _ in .init(status: 204) }
        let plain = NetworkClient(transport: transport)
        _ = try await plain.response(for: Report(requestCompression: .gzip()))
        _ = try await plain.response(for: Report())
        _ = try await client(transport).response(for: Report())
        _ = try await client(transport).response(for: Report(requestCompression: RequestCompression.none))
        let report = Report(requestCompression: .gzip())
        _ = try await plain.upload(try report.body, to: report).value
        #expect(transport.requests.map(isCompressed) == [true, false, true, false, true])
    }

    @Test("Replaces the caller's Content-Length")
    func contentLength() async throws {
        let transport = MockTransport(.status(204))
        var request = request()
        request.setValue("\(Self.text.utf8.count)", forHTTPHeaderField: "Content-Length")
        _ = try await client(transport).makeRequest(request)
        #expect(transport.requests.first.map(isCompressed) == true)
        #expect(transport.requests.first?.headers["Content-Length"] == nil)
    }

    @Test("Interceptors see the bytes that are sent, and can replace them")
    func interceptors() async throws {
        let transport = MockTransport(.status(204), .status(204))
        let seen = Mutex<Data?>(nil)
        let signer = Changing.request { request in
            guard case .data(let data) = request.body.source else { return }
            seen.withLock { $0 = data }
        }
        _ = try await client(transport, [signer]).makeRequest(request())
        #expect(seen.withLock { $0 } == transport.requests[0].body)
        let replacing = Changing.request { request in
            request.body = .data(Data(Self.text.utf8))
            request.headers["Content-Encoding"] = nil
        }
        _ = try await client(transport, [replacing]).makeRequest(request())
        #expect(transport.requests[1].body == Data(Self.text.utf8))
    }

    @Test(
        "Sends a rejected POST once more without compression, and remembers the origin",
        .shows("P34", "RFC 9110 §15.5.16, RFC 7694 §3")
    )
    func unsupported() async throws {
        let transport = MockTransport(.status(415), .text("ok"), .text("ok"), .text("ok"))
        let client = client(transport)
        #expect(try await client.makeRequest(request()) == Data("ok".utf8))
        _ = try await client.makeRequest(request())
        var other = request()
        other.url = URL(string: "http://b.example/things")
        _ = try await client.makeRequest(other)
        #expect(transport.requests.map(isCompressed) == [true, false, false, true])
        #expect(transport.requests[1].body == Data(Self.text.utf8))
        #expect(transport.requests[1].headers["Content-Encoding"] == nil)
    }

    @Test("Fails if the server rejects the media type as well, and compresses later requests")
    func mediaType() async throws {
        let transport = MockTransport(.status(415), .status(415), .text("ok"))
        let client = client(transport)
        await expectStatus(415) { try await client.makeRequest(request()) }
        _ = try await client.makeRequest(request())
        #expect(transport.requests.map(isCompressed) == [true, false, true])
    }

    @Test(
        "Believes the Accept-Encoding of a rejection",
        .shows("RFC 9110 §15.5.16, RFC 7694 §3"),
        arguments: [("identity", true), ("gzip;q=0, br", true), ("", true), ("GZIP", false), ("*;q=0.1", false)]
    )
    func acceptEncoding(_ value: String, isRemembered: Bool) async throws {
        let transport = MockTransport(.status(415, headers: ["Accept-Encoding": value]), .status(415), .text("ok"))
        let client = client(transport)
        await #expect(throws: ServerError.self) { try await client.makeRequest(request()) }
        _ = try await client.makeRequest(request())
        #expect(transport.requests.map(isCompressed) == [true, false, !isRemembered])
    }

    @Test("Doesn't repeat a request that wasn't compressed")
    func plain() async throws {
        let transport = MockTransport(.status(415))
        await #expect(throws: ServerError.self) { try await client(transport).makeRequest(request("{}")) }
        #expect(transport.requests.count == 1)
    }

    @Test("The repetition isn't a retry: policies keep theirs, and interceptors see another attempt")
    func counting() async throws {
        let transport = MockTransport(.status(415), .status(503), .text("ok"))
        let journal = AttemptJournal()
        let client = client(transport, [Retry.Policy.maxRetries(1, when: .always)], observers: [journal])
        #expect(try await client.makeRequest(request()) == Data("ok".utf8))
        #expect(journal.all.map(\.context.attempt) == [1, 2, 3])
        #expect(journal.all.map(\.context.retryState.retryCount) == [0, 0, 1])
        #expect(transport.requests.map(isCompressed) == [true, false, false])
    }

    @Test("Repeats even if the caller accepts 415, and respects a canceled task")
    func accepted() async throws {
        let transport = MockTransport(.status(415), .status(415))
        let resource = Resource(traits: RequestTraits(acceptedStatuses: .all)) { request() }
        #expect(try await client(transport).response(for: resource).status == 415)
        #expect(transport.requests.map(isCompressed) == [true, false])
    }

    @Test("Keeps the compressed body in a redirect, and removes its coding if the redirect drops the body")
    func redirects() async throws {
        let kept = MockTransport(.status(307, headers: ["Location": "http://b.example/"]), .text("ok"))
        _ = try await client(kept).makeRequest(request())
        #expect(kept.requests.map(isCompressed) == [true, true])
        #expect(kept.requests[0].body == kept.requests[1].body)
        let dropped = MockTransport(.status(303, headers: ["Location": "/other"]), .text("ok"))
        _ = try await client(dropped).makeRequest(request())
        #expect(dropped.requests[1].body.isEmpty)
        #expect(dropped.requests[1].headers["Content-Encoding"] == nil)
        // The target of a redirect rejects the coding.
        let refused = MockTransport(
            .status(308, headers: ["Location": "http://b.example/"]),
            .status(415),
            .status(308, headers: ["Location": "http://b.example/"]),
            .text("ok")
        )
        _ = try await client(refused).makeRequest(request())
        #expect(refused.requests.map(isCompressed) == [true, true, false, false])
    }

    @Test("A server receives the coding and the length of the compressed body", arguments: [200, 20_000])
    func wire(count: Int) async throws {
        let text = "[" + Array(repeating: #"{"name":"value"}"#, count: count).joined(separator: ",") + "]"
        try await withLoopbackServer { server async throws in
            server.on(.post, "/") { request in
                .text("\(request.headers["Content-Length"] ?? "") \(request.body.count)")
            }
            let client = NetworkClient(options: NetworkClient.Options(requestCompression: .gzip()))
            var request = request(text)
            request.url = server.url(for: "/")
            let answer = String(decoding: try await client.makeRequest(request), as: UTF8.self).split(separator: " ")
            #expect(answer.count == 2)
            #expect(answer.first == answer.last)
            #expect(try #require(answer.first.flatMap { Int($0) }) < text.utf8.count)
        }
    }

    @Test("Logs name the coding instead of the bytes")
    func logs() async throws {
        let lines = Mutex<[String]>([])
        let log = RequestLogger(level: .body, writesCurlCommands: true) { line in
            lines.withLock { $0.append(line) }
        }
        let transport = MockTransport(.status(204))
        _ = try await client(transport, observers: [log]).makeRequest(request())
        let size = try #require(transport.requests.first).body.count
        let text = lines.withLock { $0 }.joined(separator: "\n")
        #expect(text.contains("  (\(size) bytes of application/json, gzip)"))
        #expect(text.contains("Content-Encoding: gzip"))
        #expect(text.contains("# plus a body of \(size) bytes"))
        #expect(!text.contains("value"))
    }
}
