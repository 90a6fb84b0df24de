import Foundation
import Networking
import Testing

/// HTTP/2 over TLS, and with prior knowledge on a plain connection.
@Suite("CurlTransport and nginx over HTTP/2", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct HTTP2Tests {
    enum Connection: CaseIterable { case secure, plain }

    /// A kind of connection, with its transport and requests.
    private struct Side {
        let transport: CurlTransport
        let base: String

        func request(_ path: String, method: HTTPMethod = .get, body: HTTPBody = .none) throws -> HTTPTransportRequest {
            HTTPTransportRequest(method: method, url: try #require(URL(string: base + path)), body: body)
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

    @Test("Requests share connections and get their own responses", arguments: Connection.allCases)
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
