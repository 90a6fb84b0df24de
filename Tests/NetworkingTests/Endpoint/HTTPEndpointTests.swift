import Foundation
import FoundationNetworking
import Glibc
import MockNetworking
import Synchronization
import TestSupport
import Testing

@testable import Networking

@Suite("HTTPEndpoint", .computing)
struct HTTPEndpointTests {
    private struct Bare: HTTPEndpoint {
        let baseURL: URL
    }

    @Test("Defaults keep the URL and add no headers or body", .shows("0.15", "4.1"))
    func defaults() throws {
        for text in [
            "https://mindera.com/somepath", "https://mindera.com/somepath/?a=b&a=c", "http://a.example?",
            "http://a.example",
        ] {
            let endpoint = Bare(baseURL: try #require(URL(string: text)))
            let request = try endpoint.urlRequest()
            #expect(request.url?.absoluteString == text)
            #expect(request.httpMethod == "GET")
            #expect(request.allHTTPHeaderFields ?? [:] == [:])
            #expect(request.httpBody == nil && request.httpBodyStream == nil)
            #expect(request.timeoutInterval == 60)
            #expect(request.cachePolicy == .useProtocolCachePolicy)
            #expect(endpoint.requiresAuthentication && endpoint.isIdempotent)
            #expect(endpoint.acceptedStatuses == .successful)
        }
    }

    @Test("Puts the path, query, headers, method and body into the request", .shows("0.16", "2.12", "2.22"))
    func everything() throws {
        var endpoint = SampleEndpoint(
            "https://mindera.com",
            path: "/somepath/another",
            query: ["item1": "one", "item2": "two"]
        )
        endpoint.method = .put
        endpoint.headers = ["header1": "one", "header2": "two"]
        endpoint.making = { .data(Data("🚀".utf8), contentType: nil) }
        endpoint.timeout = .milliseconds(1_500)
        let request = try endpoint.urlRequest()
        #expect(request.url?.absoluteString == "https://mindera.com/somepath/another?item1=one&item2=two")
        #expect(request.value(forHTTPHeaderField: "header1") == "one")
        #expect(request.value(forHTTPHeaderField: "header2") == "two")
        #expect(request.allHTTPHeaderFields?.count == 2)
        #expect(request.httpBody == Data("🚀".utf8))
        #expect(request.httpMethod == "PUT")
        #expect(request.timeoutInterval == 1.5)
    }

    @Test("Rethrows the body's error, and joins repeated header fields")
    func throwingBody() throws {
        struct Refusal: Error {}
        var endpoint = SampleEndpoint("https://a.example")
        endpoint.headers = ["Accept": "a/b", "accept": "c/d"]
        #expect(try endpoint.urlRequest().value(forHTTPHeaderField: "Accept") == "a/b,c/d")
        endpoint.making = { throw Refusal() }
        #expect(throws: Refusal.self) { try endpoint.urlRequest() }
    }

    @Test(
        "Rejects an invalid base URL",
        .shows("1.7", "2.12"),
        arguments: [
            "relative/path", "/absolute", "ftp://a.example", "file:///etc/passwd", "https:///x", "https:a.example",
            "https://user@a.example", "https://user:secret@a.example/", "https://a.example/#fragment",
            "mailto:a@b.example",
        ]
    )
    func badBase(_ base: String) throws {
        let endpoint = Bare(baseURL: try #require(URL(string: base)))
        let error = expectThrown(.invalidRequest) { try endpoint.urlRequest() }
        #expect(error?.description.contains("secret") == false)
    }

    @Test("Resolves a relative URL")
    func relativeBase() throws {
        let base = try #require(URL(string: "v2/", relativeTo: URL(string: "https://a.example/api/")))
        #expect(try Bare(baseURL: base).makeURL().absoluteString == "https://a.example/api/v2/")
    }

    @Test("Rejects a timeout of zero or less", arguments: [Duration.zero, .seconds(-1)])
    func timeout(_ timeout: Duration) {
        var endpoint = SampleEndpoint("https://a.example")
        endpoint.timeout = timeout
        expectThrown(.invalidRequest) { try endpoint.urlRequest() }
    }

    @Test("An Idempotency-Key makes a POST idempotent")
    func idempotency() {
        var endpoint = SampleEndpoint("https://a.example")
        endpoint.method = .post
        #expect(!endpoint.isIdempotent)
        endpoint.headers = ["idempotency-key": "1"]
        #expect(endpoint.isIdempotent)
    }
}

@Suite("EndpointBody", .computing)
struct EndpointBodyTests {
    private struct User: Codable, Equatable {
        var name: String
        var joined: Date
        var home = "https://a.example/b"
    }

    private func request(_ body: @escaping @Sendable () throws -> EndpointBody) throws -> URLRequest {
        var endpoint = SampleEndpoint("https://a.example")
        endpoint.method = .post
        endpoint.making = body
        return try endpoint.urlRequest()
    }

    @Test("JSON has sorted keys and its media type, and accepts a custom encoder", .shows("2.10", "4.6"))
    func json() throws {
        let user = User(name: "é", joined: Date(timeIntervalSinceReferenceDate: 1))
        let plain = try request { try .json(user) }
        #expect(plain.value(forHTTPHeaderField: "Content-Type") == "application/json")
        #expect(plain.httpBody == Data(#"{"home":"https://a.example/b","joined":1,"name":"é"}"#.utf8))
        let custom = try request {
            let encoder = JSONEncoder()
            encoder.dateEncodingStrategy = .iso8601
            return try .json(user, encoder: encoder, contentType: "application/vnd.a+json")
        }
        #expect(custom.value(forHTTPHeaderField: "Content-Type") == "application/vnd.a+json")
        #expect(try #require(custom.httpBody).firstRange(of: Data("2001-01-01T00:00:01Z".utf8)) != nil)
    }

    @Test("Encodes a form strictly, and throws for a value that can't be encoded or a file that can't be read")
    func form() throws {
        let request = try request { try .form(["a": "x+y z&=", "b": [1, 2], "c": nil, "é": "*"]) }
        #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/x-www-form-urlencoded")
        #expect(request.httpBody == Data("a=x%2By+z%26%3D&b=1&b=2&%C3%A9=*".utf8))
        #expect(throws: EncodingError.self) { try self.request { try .json(["a": Double.nan]) } }
        expectThrown(.invalidRequest) { try self.request { try .file(URL(filePath: "/nonexistent/file")) } }
    }

    @Test("Data is application/octet-stream unless a type or header field overrides it", .shows("4.6"))
    func data() throws {
        #expect(
            try request { .data(Data([1])) }.value(forHTTPHeaderField: "Content-Type") == "application/octet-stream"
        )
        var endpoint = SampleEndpoint("https://a.example")
        endpoint.headers = ["content-type": "image/png"]
        endpoint.making = { .data(Data([1]), contentType: "image/jpeg") }
        #expect(try endpoint.urlRequest().value(forHTTPHeaderField: "Content-Type") == "image/png")
    }
}

@Suite("AcceptedStatuses and HTTPStatusClass", .computing)
struct StatusTests {
    @Test("Accepts ranges, single statuses and all statuses", .shows("4.26"))
    func accepted() {
        #expect([200, 299].allSatisfy(AcceptedStatuses.successful.contains))
        #expect(![199, 300, 404].contains(where: AcceptedStatuses.successful.contains))
        #expect([404, 400, 200, Int.max].allSatisfy(AcceptedStatuses.all.contains))
        let strv: AcceptedStatuses = 200..<400
        #expect(strv.contains(399) && !strv.contains(404) && strv.text == "200…399")
        #expect(!(400..<500 as AcceptedStatuses).contains(200))
        let some: AcceptedStatuses = [200, 404]
        #expect(some.contains(404) && !some.contains(201) && some.text == "200, 404")
        #expect(AcceptedStatuses.successful.union([304]).text == "200…299, 304")
        #expect((5..<5 as AcceptedStatuses).text == "none" && AcceptedStatuses.all.text == "all")
        #expect((0...Int.max as AcceptedStatuses).text == "0…\(Int.max)")
    }

    @Test(
        "Classifies statuses",
        .shows("1.45", "2.14"),
        arguments: [
            (Int.min, HTTPStatusClass.unknown), (99, .unknown), (600, .unknown), (Int.max, .unknown),
            (100, .informational), (199, .informational), (200, .successful), (299, .successful), (300, .redirection),
            (399, .redirection), (400, .clientError), (499, .clientError), (500, .serverError), (599, .serverError),
        ]
    )
    func statusClass(_ status: Int, _ expected: HTTPStatusClass) {
        #expect(HTTPStatusClass(status: status) == expected)
        #expect(HTTPResponse(url: URL(filePath: "/"), status: status).statusClass == expected)
    }
}

/// Tests that reject malformed header fields before anything is sent, regardless of their source.
@Suite("Header fields of requests", .limitedConcurrency)
struct HeaderFieldTests {
    /// Foundation's setters silently drop the first ones and pass on the others.
    private static let values = [
        "a\r\nX-Injected: 1", "a\nb", "a\rb", "a\0b", "\r\n", "a\r\n folded", "\u{1}", "a\u{7F}",
    ]

    @Test("Rejects an endpoint with a malformed header field value", .shows("N3"), arguments: values)
    func endpointValue(_ value: String) {
        var endpoint = SampleEndpoint("https://a.example")
        endpoint.headers = ["X-Fine": "1", "X-Tenant": value]
        expectThrown(.invalidRequest, mentioning: "X-Tenant") { try endpoint.urlRequest() }
        endpoint.headers = [:]
        endpoint.making = { .data(Data(), contentType: "text/plain;\(value)") }
        #expect(throws: NetworkError(.invalidRequest, "")) { try endpoint.urlRequest() }
    }

    @Test(
        "Rejects an endpoint with a header field name that isn't a token",
        arguments: ["", "a b", "a:b", "a\r\nb", "a\0b", "é", "a\tb", "(a)"]
    )
    func endpointName(_ name: String) {
        var endpoint = SampleEndpoint("https://a.example")
        endpoint.headers = [name: "1"]
        expectThrown(.invalidRequest) { try endpoint.urlRequest() }
    }

    @Test("Keeps valid header field values", arguments: ["é", "日本", "a\tb", " a ", "", "\"a\", b", "\u{85}"])
    func kept(_ value: String) throws {
        var endpoint = SampleEndpoint("https://a.example")
        endpoint.headers = ["X-A": value]
        #expect(try endpoint.urlRequest().value(forHTTPHeaderField: "X-A") == value)
        var request = URLRequest(url: try #require(URL(string: "https://a.example")))
        try request.setHeaderField("X-A", to: value)
        #expect(request.value(forHTTPHeaderField: "X-A") == value)
    }

    enum Way: String, CaseIterable {
        case endpoint, contentType, interceptor, assignedFields, authorization, userAgent
        case uploadHeaders, uploadContentType, session, sessionName, transport
    }

    @Test("Sends nothing, regardless of the field's source", .shows("N3"), arguments: Way.allCases, ["a\r\nb", "a\0b"])
    func ways(_ way: Way, _ value: String) async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send(TCPPeer.empty)
        } _: { peer in
            await expectFailure(.invalidRequest) { try await send(way, value, to: peer.url) }
            #expect(peer.acceptedCount == 0)
        }
    }

    private func send(_ way: Way, _ value: String, to url: URL) async throws {
        let request = URLRequest(url: url)
        var endpoint = SampleEndpoint(url.absoluteString)
        endpoint.method = .post
        switch way {
        case .endpoint:
            endpoint.headers = ["X-A": value]
            _ = try await NetworkClient().response(for: endpoint)
        case .contentType:
            endpoint.making = { .data(Data([1]), contentType: value) }
            _ = try await NetworkClient().response(for: endpoint)
        case .interceptor:
            let interceptor = Changing.request { $0.headers["X-A"] = value }
            _ = try await NetworkClient(interceptors: [interceptor]).response(for: request)
        case .assignedFields:
            let interceptor = Changing.request { $0.headers.append(name: "X-A", value: value) }
            _ = try await NetworkClient(interceptors: [interceptor]).response(for: request)
        case .authorization:
            let interceptor = Changing.wire { $0.headers["Authorization"] = value }
            _ = try await NetworkClient(interceptors: [interceptor]).response(for: request)
        case .userAgent:
            var options = NetworkClient.Options()
            options.userAgent = value
            _ = try await NetworkClient(options: options).response(for: request)
        case .uploadHeaders:
            _ = try await NetworkClient().upload(.data(Data([1])), to: url, headers: ["X-A": value]).value
        case .uploadContentType:
            _ = try await NetworkClient().upload(.data(Data([1]), contentType: value), to: url).value
        case .session, .sessionName:
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpAdditionalHeaders = way == .session ? ["X-A": value] : [value: "1"]
            _ = try await NetworkClient(configuration: configuration).response(for: request)
        case .transport:
            try await withCurl { transport in
                _ = try await transport.send(HTTPRequest(url: url, headers: ["X-A": value]))
            }
        }
    }

    @Test("Names and types of form parts can't inject header fields", .shows("N3"), arguments: values)
    func form(_ value: String) throws {
        var form = MultipartFormData()
        #expect(throws: NetworkError(.invalidRequest, "")) {
            try form.append(.data(Data()), name: "a", contentType: "text/plain\(value)")
        }
        try form.append(.data(Data()), name: value, fileName: value)
        guard case .data(let body) = form.body().source else { throw Unmet(line: #line) }
        let lines = String(decoding: body, as: UTF8.self).components(separatedBy: "\r\n")
        #expect(lines.count == 7)
        #expect(!body.contains { $0 < 0x20 && $0 != 0x0D && $0 != 0x0A || $0 == 0x7F })
    }

    @Test("Ignores a validator that isn't a valid header field value")
    func validators() async throws {
        let count = Mutex(0)
        let transport = MockTransport { _ in
            count.withLock { $0 += 1 }
            return HTTPTransportResponse(status: 200, headers: ["ETag": "\"\u{1}\""], body: Data("x".utf8))
        }
        let client = NetworkClient(transport: transport, interceptors: [CacheInterceptor()])
        let url = try #require(URL(string: "https://a.example/"))
        for _ in 0..<2 { #expect(try await client.makeRequest(URLRequest(url: url)) == Data("x".utf8)) }
        #expect(count.withLock { $0 } == 2)
    }

    @Test("Child processes don't inherit the files that the package opens", .shows("N8"))
    func files() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "opened-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("text".utf8).write(to: file)
        let handle = try FileHandle.opened(file.path, O_RDONLY)
        #expect(fcntl(handle.fileDescriptor, F_GETFD) & FD_CLOEXEC != 0)
        #expect(try handle.readToEnd() == Data("text".utf8))
        #expect(throws: POSIXError.self) { try FileHandle.opened(file.path + "-absent", O_RDONLY) }
    }
}
