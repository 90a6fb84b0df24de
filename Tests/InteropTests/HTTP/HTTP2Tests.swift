import Foundation
import Networking
import TestSupport
import Testing

/// HTTP/2 over TLS, and with prior knowledge on a plain connection.
@Suite("CurlTransport and nginx over HTTP/2", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct HTTP2Tests {
    enum Connection: CaseIterable { case secure, plain }

    /// A kind of connection, with its transport and requests.
    private struct Side {
        let transport: CurlTransport
        let base: String

        func request(_ path: String, method: HTTPMethod = .get, body: HTTPBody = .none) throws -> HTTPRequest {
            HTTPRequest(method: method, url: try #require(URL(string: base + path)), body: body)
        }

        func get(_ path: String) async throws -> HTTPTransportResponse {
            try await transport.send(request(path), limits: HTTPTransportLimits())
        }

        func stream(_ path: String) async throws -> HTTPResponseBody {
            var limits = HTTPTransportLimits()
            limits.streamsBody = true
            let response = try await transport.send(request(path), limits: limits)
            return try #require(response.stream)
        }
    }

    private func with(_ connection: Connection, _ test: (Side) async throws -> Void) async throws {
        var configuration = CurlTransport.Configuration(proxy: .none)
        switch connection {
        case .plain: configuration.protocolVersion = .http2PriorKnowledge
        case .secure:
            configuration.tls = TLSConfiguration(trustRoots: try .file(Interop.required("INTEROP_AUTHORITY")))
        }
        let transport = try CurlTransport(configuration: configuration)
        let base = try Interop.required(connection == .plain ? "INTEROP_HTTP2" : "INTEROP_HTTPS2")
        try await test(Side(transport: transport, base: base))
        await transport.close()
    }

    @Test(
        "Requests share connections and get their own responses",
        .shows("P21", "RFC 9113"),
        arguments: Connection.allCases
    )
    func multiplexing(_ connection: Connection) async throws {
        try await with(connection) { side in
            // Send one request first, so that the others find a connection to share.
            #expect(try await side.get("/connection").version == "HTTP/2")
            let connections = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<200 {
                    group.addTask { String(decoding: try await side.get("/connection").body, as: UTF8.self) }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(connections.count <= 4)
        }
    }

    @Test("A slow reader stops only its own stream", arguments: Connection.allCases)
    func slowReader(_ connection: Connection) async throws {
        let large = try Nginx.large()
        try await with(connection) { side in
            let slow = try await side.stream("/large")
            var parts = slow.makeAsyncIterator()
            var received = try await parts.next() ?? Data()
            for _ in 0..<50 {
                let response = try await side.get("/ok")
                #expect(response.status == 200)
            }
            let other = try await side.stream("/large").collect(upTo: .max)
            #expect(other == large)
            while let part = try await parts.next() {
                try await Task.sleep(for: .milliseconds(1))
                received += part
            }
            #expect(received == large)
        }
    }

    @Test("Cancelling a body doesn't affect other streams", arguments: Connection.allCases)
    func givenUp(_ connection: Connection) async throws {
        try await with(connection) { side in
            for _ in 0..<20 {
                try await side.stream("/large").cancel()
                let next = try await side.get("/ok")
                #expect(next.status == 200)
            }
        }
    }

    @Test("Sends bodies with and without a length", arguments: Connection.allCases, [true, false])
    func upload(_ connection: Connection, hasLength: Bool) async throws {
        let large = try Nginx.large()
        let path = "/store/\(UUID().uuidString)"
        try await with(connection) { side in
            let body = HTTPBody.stream(length: hasLength ? large.count : nil) {
                AsyncStream<Data> { continuation in
                    var rest = large[...]
                    while !rest.isEmpty {
                        continuation.yield(rest.prefix(100_000))
                        rest = rest.dropFirst(100_000)
                    }
                    continuation.finish()
                }
            }
            let request = try side.request(path, method: .put, body: body)
            let stored = try await side.transport.send(request, limits: HTTPTransportLimits())
            #expect(stored.status == 201)
            #expect(stored.version == "HTTP/2")
            let read = try await side.stream(path).collect(upTo: .max)
            #expect(read == large)
        }
    }
}

/// An HTTP/2 server that sends useless frames endlessly (`Tests/Interop/frame_peer.py`).
@Suite("CurlTransport and frame floods", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct FrameFloodTests {
    @Test("Closes a connection with a frame flood, and continues on others", .shows("N10"))
    func floods() async throws {
        for kind in ["PING", "SETTINGS", "WINDOW_UPDATE", "PRIORITY", "unknown", "empty DATA"] {
            let transport = try CurlTransport(
                configuration: .init(proxy: .none, tls: TLSPeer.trust())
            )
            let flood = Task {
                let request = HTTPRequest(url: try TLSPeer.url("FRAMES", "/"))
                return try await transport.send(request, limits: .init(deadline: .now + .seconds(60)))
            }
            for _ in 0..<20 {
                let request = HTTPRequest(url: try TLSPeer.url("HTTPS2", "/connection"))
                #expect(try await transport.send(request, limits: .init()).status == 200)
            }
            let error = await #expect(throws: NetworkError.self) { try await flood.value }
            #expect(error?.code == .invalidResponse, "\(kind): \(String(describing: error))")
            await transport.close()
        }
    }
}

/// nginx closes a connection after 1,000 requests, even with requests in progress, which it reports
/// as unprocessed.
@Suite("Connections that nginx drains", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct NginxDrainingTests {
    /// The number of requests, which `INTEROP_POSTS` can raise.
    private static let count = ProcessInfo.processInfo.environment["INTEROP_POSTS"].flatMap { Int($0) } ?? 5000

    @Test("Every POST gets a response and is processed once", .shows("N1"))
    func posts() async throws {
        let name = UUID().uuidString
        let url = try #require(URL(string: Interop.required("INTEROP_DRAINING") + "/number"))
        var configuration = CurlTransport.Configuration(proxy: .none)
        configuration.tls = TLSConfiguration(trustRoots: try .file(Interop.required("INTEROP_AUTHORITY")))
        let transport = try CurlTransport(configuration: configuration)
        let (connections, failures) = try await withThrowingTaskGroup(of: (Set<String>, [String]).self) { group in
            for task in 0..<32 {
                group.addTask {
                    var (connections, failures) = (Set<String>(), [String]())
                    for number in stride(from: task, to: Self.count, by: 32) {
                        let request = HTTPRequest(
                            method: .post,
                            url: url,
                            headers: ["X-Number": "\(name)-\(number)"],
                            body: .data(Data("{}".utf8))
                        )
                        do {
                            let response = try await transport.send(request, limits: HTTPTransportLimits())
                            #expect(response.status == 200 && response.version == "HTTP/2")
                            connections.insert(String(decoding: response.body, as: UTF8.self))
                        } catch {
                            failures.append("\(error)")
                        }
                    }
                    return (connections, failures)
                }
            }
            return try await group.reduce(into: (Set<String>(), [String]())) { sum, part in
                sum.0.formUnion(part.0)
                sum.1 += part.1
            }
        }
        await transport.close()
        #expect(failures == [])
        #expect(connections.count >= Self.count / 1000, "too few connections were drained")
        let log = URL(filePath: try Interop.required("INTEROP_FOLDER")).appending(path: "numbers.log")
        // nginx logs a request when it has finished, which may be after the response has arrived.
        var lines: [Substring] = []
        _ = try await eventually {
            lines = try String(contentsOf: log, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix(name) }
            return lines.count >= Self.count
        }
        #expect(lines.count == Self.count)
        #expect(Set(lines).count == Self.count)
    }
}
