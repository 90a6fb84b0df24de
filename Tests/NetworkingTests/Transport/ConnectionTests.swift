import Foundation
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("Connections", .limitedConcurrency, .tags(.concurrency))
struct ConnectionTests {
    @Test("Replaces an idle connection that the server closed", arguments: TransportUnderTest.allCases)
    func closedWhileIdle(_ transport: TransportUnderTest) async throws {
        try await transport.run { connection in
            try connection.readRequest()
            try connection.send(TCPPeer.hello)
            connection.close()
        } _: { transport, peer in
            for _ in 0..<5 { _ = try await transport.get(peer.url) }
            #expect(peer.acceptedCount == 5)
        }
    }

    @Test("Obeys `Connection: close`")
    func connectionClose() async throws {
        try await withCurl(answering: "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n") { transport, peer in
            for _ in 0..<3 { _ = try await transport.get(peer.url) }
            #expect(peer.acceptedCount == 3)
        }
    }

    /// Answers the first request, reads the second one on the same connection and closes it without
    /// a response.
    private func dyingConnection(_ test: (TCPPeer) async throws -> Void) async throws {
        try await withPeer(
            { connection in
                try connection.readRequest()
                try connection.send(TCPPeer.hello)
                guard connection.number > 0 else {
                    try connection.readRequest()
                    return connection.close()
                }
                try connection.waitForClose()
            },
            test
        )
    }

    @Test(
        "Doesn't resend other requests after their kept connection died",
        .shows("H15"),
        arguments: [HTTPBody.none, .data(Data("pay".utf8))]
    )
    func swallowedPost(_ body: HTTPBody) async throws {
        try await dyingConnection { peer in
            try await withCurl { transport in
                _ = try await transport.get(peer.url)
                let request = HTTPRequest(method: .post, url: peer.url, body: body)
                await expectFailure(.connectionLost) { _ = try await transport.send(request) }
                // The transport still works.
                #expect(try await transport.get(peer.url).status == 200)
            }
            #expect(peer.requests.filter { $0.hasPrefix("POST") }.count == 1)
        }
    }

    @Test("Closes idle connections after the idle timeout, and makes new ones")
    func idleTimeout() async throws {
        let closed = Mutex(0)
        try await withPeer { connection in
            defer { closed.withLock { $0 += 1 } }
            while true {
                try connection.readRequest()
                try connection.send(TCPPeer.hello)
            }
        } _: { peer in
            let configuration = CurlTransport.Configuration(idleTimeout: .milliseconds(50), proxy: .none)
            try await withCurl(configuration) { transport in
                _ = try await transport.get(peer.url)
                #expect(try await eventually { closed.withLock { $0 } == 1 })
                #expect(try await transport.get(peer.url).status == 200)
            }
            #expect(peer.acceptedCount == 2)
        }
    }

    @Test("Doesn't reuse a connection after the idle timeout, even if the transport is busy", arguments: [1, 3600])
    func idleConnection(_ seconds: Int) async throws {
        let gate = ResponseGate()
        try await withLoopbackServer { server in
            server.on(.get, "/busy", LoopbackResponse.text("late").gated(by: gate))
            server.on(.get, "/", .text("hello"))
            let configuration = CurlTransport.Configuration(idleTimeout: .seconds(seconds), proxy: .none)
            try await withCurl(configuration) { transport in
                async let busy = transport.get(server.url(for: "/busy"))
                try await gate.waitForWaiters(count: 1)
                _ = try await transport.get(server.url(for: "/"))
                // libcurl counts whole seconds, and its clock can't be replaced.
                if seconds == 1 { try await Task.sleep(for: .milliseconds(2200)) }
                _ = try await transport.get(server.url(for: "/"))
                #expect(server.acceptedConnectionCount == (seconds == 1 ? 3 : 2))
                gate.open()
                #expect(try await busy.status == 200)
            }
        }
    }

    @Test("Limits the requests that run at once per host, and runs the others later", .shows("P24"))
    func maximumPerHost() async throws {
        let load = RunningCount()
        try await withPeer { connection in
            while true {
                try connection.readRequest()
                load.begin()
                usleep(2000)
                load.end()
                try connection.send(TCPPeer.hello)
            }
        } _: { peer in
            try await withCurl(.init(maximumConnectionsPerHost: 3, proxy: .none)) { transport in
                try await withThrowingTaskGroup { group in
                    for _ in 0..<30 { group.addTask { _ = try await transport.get(peer.url) } }
                    try await group.waitForAll()
                }
            }
            #expect(peer.acceptedCount <= 3)
            #expect(load.most <= 3)
        }
    }

    @Test("Runs many requests at once", arguments: [(TransportUnderTest.curl, 500), (.urlSession, 100)])
    func concurrent(_ transport: TransportUnderTest, count: Int) async throws {
        try await transport.run { connection in
            while true {
                let path = try connection.readRequest().split(separator: " ")[1]
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)")
            }
        } _: { transport, peer in
            try await withThrowingTaskGroup { group in
                for index in 0..<count {
                    group.addTask {
                        let response = try await transport.get(peer.url("/\(index)"))
                        #expect(response.body == Data("/\(index)".utf8))
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("Reports that it can't connect to an unused port", arguments: TransportUnderTest.allCases)
    func refused(_ transport: TransportUnderTest) async throws {
        let port = 1  // The kernel never assigns this port.
        try await transport.run { transport in
            let url = URL(string: "http://127.0.0.1:\(port)/path?token=secret")!
            let error = await expectFailure(.cannotConnect, mentioning: "127.0.0.1:\(port)") {
                _ = try await transport.get(url)
            }
            #expect(error?.message.contains("secret") == false)
        }
    }

    @Test("Reports that it can't resolve a host without an address", arguments: TransportUnderTest.allCases)
    func unresolvable(_ transport: TransportUnderTest) async throws {
        _ = try await transport.run { transport in
            await expectFailure(.cannotResolveHost, mentioning: "nobody.invalid:80") {
                _ = try await transport.get(URL(string: "http://nobody.invalid/")!)
            }
        }
    }

    @Test("Reports a failed handshake with a peer that doesn't use TLS", arguments: TransportUnderTest.allCases)
    func plainPeer(_ transport: TransportUnderTest) async throws {
        try await transport.run { connection in
            _ = try connection.read(100)
            try connection.send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        } _: { transport, peer in
            let url = URL(string: "https://127.0.0.1:\(peer.port)/")!
            let error = await expectFailure(.tls) { _ = try await transport.get(url) }
            #expect(error?.tlsFailure == nil)
        }
    }

    @Test("Reports a lost connection when the peer ends the handshake")
    func handshakeCut() async throws {
        try await withCurl { connection in
            _ = try connection.read(100)
            connection.reset()
        } _: { transport, peer in
            let url = URL(string: "https://127.0.0.1:\(peer.port)/")!
            await expectFailure(.connectionLost) { _ = try await transport.get(url) }
        }
    }
}

@Suite("Request events", .limitedConcurrency, .tags(.concurrency))
struct ExchangeEventsTests {
    private final class Log: Sendable {
        private let events = Mutex<[HTTPTransportEvent]>([])

        func observe(_ event: HTTPTransportEvent) { events.withLock { $0.append(event) } }

        var names: [String] {
            events.withLock { $0 }.map { event in
                switch event {
                case .started: "started"
                case .resolved: "resolved"
                case .connected: "connected"
                case .secured: "secured"
                case .bodySent(let count): "sent \(count)"
                case .headReceived(let status): "head \(status)"
                case .bodyReceived(let count): "received \(count)"
                case .finished: "finished"
                }
            }
        }

        var metrics: HTTPTransportMetrics? {
            events.withLock { events in
                guard case .finished(let metrics) = events.last else { return nil }
                return metrics
            }
        }
    }

    @Test("Reports a new connection and a kept one", .shows("P13"), arguments: [false, true])
    func connections(isStreamed: Bool) async throws {
        try await withCurl(answering: TCPPeer.hello) { transport, peer in
            func exchange() async throws -> Log {
                let log = Log()
                let request = HTTPRequest(
                    method: .post,
                    url: peer.url,
                    body: .data(Data("abc".utf8)),
                    observer: { log.observe($0) }
                )
                if isStreamed {
                    let response = try await transport.open(request)
                    _ = try await response.body.collect(upTo: 5)
                } else {
                    _ = try await transport.send(request)
                }
                return log
            }
            let new = try await exchange()
            #expect(new.names == ["started", "resolved", "connected", "sent 3", "head 200", "received 5", "finished"])
            let first = try #require(new.metrics)
            #expect(first.isConnectionReused == false)
            #expect(first.version == "HTTP/1.1")
            #expect(first.remoteAddress == "127.0.0.1")
            #expect(first.bodyBytesSent == 3)
            #expect(first.bodyBytesReceived == 5)
            #expect(first.tlsTime == nil)
            let times = [first.queueTime, first.nameLookupTime, first.connectTime, first.firstByteTime]
                .compactMap(\.self)
            #expect(times.count == 4)
            #expect(times + [first.totalTime] == (times + [first.totalTime]).sorted())

            let kept = try await exchange()
            #expect(kept.names == ["started", "sent 3", "head 200", "received 5", "finished"])
            let second = try #require(kept.metrics)
            #expect(second.isConnectionReused == true)
            #expect(second.nameLookupTime == nil)
            #expect(second.connectTime == nil)
            #expect(second.firstByteTime != nil)
        }
    }

    @Test("Reports the progress of long bodies in both directions")
    func progress() async throws {
        let size = 12 << 20
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
            try connection.send([UInt8](repeating: 0, count: size))
            try connection.waitForClose()
        } _: { peer in
            let log = Log()
            try await withCurl { transport in
                let body = HTTPBody.stream(length: size) {
                    AsyncStream { continuation in
                        for _ in 0..<12 { continuation.yield(Data(count: 1 << 20)) }
                        continuation.finish()
                    }
                }
                let request = HTTPRequest(
                    method: .put,
                    url: peer.url,
                    body: body,
                    observer: { log.observe($0) }
                )
                _ = try await transport.send(request)
            }
            for word in ["sent ", "received "] {
                let counts = log.names.filter { $0.hasPrefix(word) }.compactMap { Int($0.dropFirst(word.count)) }
                #expect(counts.count > 2)
                #expect(counts == Array(Set(counts)).sorted())
                #expect(counts.last == size)
            }
            let head = try #require(log.names.firstIndex(of: "head 200"))
            #expect(log.names[..<head].allSatisfy { !$0.hasPrefix("received") })
            #expect(log.metrics?.bodyBytesSent == size)
        }
    }

    @Test("Reports the end of a failed request exactly once")
    func failures() async throws {
        let log = Log()
        try await withCurl { transport in
            let request = HTTPRequest(
                url: try #require(URL(string: "http://127.0.0.1:1/")),
                observer: { log.observe($0) }
            )
            await expectFailure(.cannotConnect) { _ = try await transport.send(request) }
            #expect(log.names == ["started", "resolved", "finished"])
            #expect(log.metrics?.isConnectionReused == nil)
            #expect(log.metrics?.version.isEmpty == true)
            await expectFailure(.timedOut) { _ = try await transport.send(request, limits: .milliseconds(-1)) }
            await transport.close()
            await expectFailure(.closed) { _ = try await transport.send(request) }
            #expect(log.names.suffix(3) == ["finished", "finished", "finished"])
            #expect(log.names.count == 5)
        }
    }
}
