import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Networking

/// HTTP/2 with prior knowledge on plain connections.
@Suite("HTTP/2 on plain connections", .limitedConcurrency)
struct PlainHTTP2Tests {
    private func configuration(streams: Int = 100) -> CurlTransport.Configuration {
        var configuration = CurlTransport.Configuration(proxy: .none)
        configuration.protocolVersion = .http2PriorKnowledge
        configuration.maximumStreamsPerConnection = streams
        return configuration
    }

    /// Reads requests, and responds to all of them once a condition holds.
    private static func respond(_ connection: TCPPeer.Connection, when isReady: (_ waiting: Int) -> Bool) throws {
        try connection.beginHTTP2()
        var streams: [UInt32] = []
        while true {
            streams.append(try connection.readFrames(to: \.endsStream).stream)
            connection.peer.record("\(connection.number)")
            guard isReady(streams.count) else { continue }
            try connection.send(streams.map { HTTP2Frame(1, flags: 5, stream: $0, [0x88]) })
            streams = []
        }
    }

    /// Sends requests at once, and returns their statuses.
    private func get(_ url: URL, count: Int, _ transport: CurlTransport) async throws -> [Int] {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<count { group.addTask { try await transport.get(url).status } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test("Reuses a connection for later requests")
    func reuse() async throws {
        try await withPeer {
            try Self.respond($0) { _ in true }
        } _: { peer in
            try await withCurl(configuration()) { transport in
                for _ in 0..<5 {
                    let response = try await transport.get(peer.url)
                    #expect(response.status == 200)
                    #expect(response.version == "HTTP/2")
                }
            }
            #expect(peer.acceptedCount == 1)
        }
    }

    @Test("Shares a connection between concurrent requests")
    func sharing() async throws {
        try await withPeer { connection in
            // After the first request, the peer responds only when ten requests are waiting.
            try Self.respond(connection) { connection.peer.requests.count == 1 || $0 == 10 }
        } _: { peer in
            try await withCurl(configuration()) { transport in
                _ = try await transport.get(peer.url)
                let statuses = try await get(peer.url, count: 10, transport)
                #expect(statuses == Array(repeating: 200, count: 10))
            }
            #expect(peer.acceptedCount == 1)
        }
    }

    @Test("Uses another connection for more requests than may share one")
    func streamLimit() async throws {
        let most = Atomic<Int>(0)
        try await withPeer { connection in
            try Self.respond(connection) { waiting in
                most.max(waiting, ordering: .relaxed)
                // After the first request, none ends.
                return connection.peer.requests.count == 1
            }
        } _: { peer in
            try await withCurl(configuration(streams: 2)) { transport in
                #expect(try await transport.get(peer.url).status == 200)
                let requests = Task { try await get(peer.url, count: 4, transport) }
                try await waitUntil { peer.requests.count == 5 }
                requests.cancel()
                _ = try? await requests.value
            }
            #expect(peer.acceptedCount >= 2)
            #expect(most.load(ordering: .relaxed) == 2)
        }
    }

    @Test("A reader that stops doesn't stop other requests")
    func slowReader() async throws {
        try await withPeer { connection in
            guard connection.number == 0 else { return try Self.respond(connection) { _ in true } }
            try connection.beginHTTP2()
            try connection.readFrames(to: \.endsStream)
            // More than the reader's buffer, within the initial window (RFC 9113 §6.9.2).
            let part = HTTP2Frame(0, flags: 0, stream: 1, [UInt8](repeating: 0x2A, count: 16_000))
            try connection.send([.head(200)] + [part, part, part])
            while true { _ = try connection.readFrame() }
        } _: { peer in
            var configuration = configuration()
            configuration.streamBufferSize = 1 << 10
            try await withCurl(configuration) { transport in
                let slow = try await transport.open(HTTPTransportRequest(url: peer.url), limits: .generous())
                for _ in 0..<10 { #expect(try await transport.get(peer.url).status == 200) }
                slow.body.cancel()
            }
            #expect(peer.acceptedCount == 2)
        }
    }

    @Test("Makes a new connection if the kept one was closed")
    func closed() async throws {
        try await withPeer { connection in
            try connection.beginHTTP2()
            try connection.readFrames(to: \.endsStream)
            try connection.send([.ok])
            connection.finishSending()
            try connection.waitForClose()
        } _: { peer in
            try await withCurl(configuration()) { transport in
                for _ in 0..<3 {
                    let response = try await transport.get(peer.url)
                    #expect(response.status == 200)
                }
            }
            #expect(peer.acceptedCount == 3)
        }
    }

    @Test("Looks up a name once, and reports each event once")
    func name() async throws {
        let stub = StubResolver(["sidecar.test": ["127.0.0.1"]])
        let starts = Atomic<Int>(0)
        try await withPeer {
            try Self.respond($0) { _ in true }
        } _: { peer in
            var configuration = configuration()
            configuration.resolver = stub.makeResolver()
            try await withCurl(configuration) { transport in
                let url = try #require(URL(string: "http://sidecar.test:\(peer.port)/"))
                for _ in 0..<2 {
                    let request = HTTPTransportRequest(url: url) { event in
                        if case .started = event { starts.add(1, ordering: .relaxed) }
                    }
                    #expect(try await transport.send(request, limits: .generous()).status == 200)
                }
            }
            #expect(stub.names == ["sidecar.test"])
            #expect(starts.load(ordering: .relaxed) == 2)
            #expect(peer.acceptedCount == 1)
        }
    }

    @Test("Fails if nothing listens, without a claim that the request was sent")
    func nobody() async throws {
        let peer = try TCPPeer { try $0.waitForClose() }
        peer.stop()
        try await withCurl(configuration()) { transport in
            try await waitUntil { peer.openCount == 0 }
            let error = await failure { _ = try await transport.get(peer.url) }
            #expect(error?.code == .cannotConnect || error?.code == .connectionLost)
        }
    }
}
