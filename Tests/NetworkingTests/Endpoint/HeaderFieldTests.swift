import Foundation
import FoundationNetworking
import Glibc
import MockNetworking
import Synchronization
import TestSupport
import Testing

@testable import Networking

/// Tests that reject malformed header fields before anything is sent, regardless of their source.
@Suite("Header fields of requests", .limitedConcurrency)
struct HeaderFieldTests {
    /// Foundation's setters silently drop the first ones and pass on the others.
    private static let values = [
        "a\r\nX-Injected: 1", "a\nb", "a\rb", "a\0b", "\r\n", "a\r\n folded", "\u{1}", "a\u{7F}",
    ]
    private static let names = ["", "a b", "a:b", "a\r\nb", "a\0b", "é", "a\tb", "(a)"]

    @Test("Rejects an endpoint with a malformed header field value", arguments: values)
    func endpointValue(_ value: String) {
        var endpoint = SampleEndpoint("https://a.example")
        endpoint.headers = ["X-Fine": "1", "X-Tenant": value]
        let error = #expect(throws: NetworkError.self) { try endpoint.urlRequest() }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("X-Tenant") == true)
        endpoint.headers = [:]
        endpoint.making = { .data(Data(), contentType: "text/plain;\(value)") }
        #expect(throws: NetworkError(.invalidRequest, "")) { try endpoint.urlRequest() }
    }

    @Test("Rejects an endpoint with a header field name that isn't a token", arguments: names)
    func endpointName(_ name: String) {
        var endpoint = SampleEndpoint("https://a.example")
        endpoint.headers = [name: "1"]
        #expect(throws: NetworkError(.invalidRequest, "")) { try endpoint.urlRequest() }
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

    /// A source of a header field.
    enum Way: String, CaseIterable {
        case endpoint, contentType, interceptor, assignedFields, authorization, userAgent
        case uploadHeaders, uploadContentType, session, sessionName, transport
    }

    @Test("Sends nothing, regardless of the field's source", arguments: Way.allCases, ["a\r\nb", "a\0b"])
    func ways(_ way: Way, _ value: String) async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        } _: { peer in
            let error = await failure { try await send(way, value, to: peer.url) }
            #expect(error?.code == .invalidRequest)
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
            let interceptor = ClosureInterceptor.changingRequest { try $0.setHeaderField("X-A", to: value) }
            _ = try await NetworkClient(interceptors: [interceptor]).response(for: request)
        case .assignedFields:
            let interceptor = ClosureInterceptor.changingRequest { $0.allHTTPHeaderFields = ["X-A": value] }
            _ = try await NetworkClient(interceptors: [interceptor]).response(for: request)
        case .authorization:
            let interceptor = ClosureInterceptor.changingRequest { $0.setAuthorization(value) }
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
                let request = HTTPTransportRequest(url: url, headers: ["X-A": value])
                _ = try await transport.send(request, limits: .generous())
            }
        }
    }

    @Test("Names and types of form parts can't inject header fields", arguments: values)
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
        let client = NetworkClient(
            transport: transport,
            interceptors: [CacheInterceptor()]
        )
        let url = try #require(URL(string: "https://a.example/"))
        for _ in 0..<2 { #expect(try await client.makeRequest(URLRequest(url: url)) == Data("x".utf8)) }
        #expect(count.withLock { $0 } == 2)
    }

    @Test("Child processes don't inherit the files that the package opens")
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
