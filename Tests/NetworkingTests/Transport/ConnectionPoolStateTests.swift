import Foundation
import MockNetworking
import Synchronization
import TestSupport
import Testing

@testable import Networking

@Suite("Connection pool state", .limitedConcurrency, .tags(.concurrency))
struct ConnectionPoolStateTests {
    @Test("Has no origins before the first request")
    func unused() throws {
        let transport = try CurlTransport(configuration: .init(proxy: .none))
        #expect(transport.poolState.origins.isEmpty)
        #expect(transport.poolState.engines == 0)
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        #expect(transport.poolState[url] == nil)
    }

    @Test("Counts busy and idle connections, requests and bytes", .shows("P31"), arguments: [false, true])
    func connections(isStreamed: Bool) async throws {
        let gate = AsyncGate()
        try await withHelloPeer(gate) { peer in
            try await withCurl { transport in
                let body = HTTPBody.data(Data("abc".utf8))
                let request = HTTPRequest(method: .post, url: peer.url, body: body)
                let tasks = (0..<3).map { _ in
                    Task {
                        if isStreamed {
                            try await transport.open(request).body.collect(upTo: 10).count
                        } else {
                            try await transport.send(request).body.count
                        }
                    }
                }
                #expect(try await eventually { transport.poolState[peer.url]?.busyConnections == 3 })
                var state = try #require(transport.poolState[peer.url])
                #expect(state.runningRequests == 3)
                #expect(state.idleConnections == 0 && state.openingConnections == 0)
                #expect(state.openedConnections == 3)
                for _ in 0..<3 { gate.open() }
                for task in tasks { #expect(try await task.value == 5) }
                #expect(try await eventually { transport.poolState[peer.url]?.idleConnections == 3 })
                state = try #require(transport.poolState[peer.url])
                #expect(state.busyConnections == 0 && state.runningRequests == 0)
                #expect(state.requests == 3 && state.openedConnections == 3)
                #expect(state.bytesSent == 9 && state.bytesReceived == 15)
                gate.open()
                if isStreamed {
                    _ = try await transport.open(request).body.collect(upTo: 10)
                } else {
                    _ = try await transport.send(request)
                }
                state = try #require(transport.poolState[peer.url])
                #expect(state.requests == 4 && state.openedConnections == 3)
                #expect((state.scheme, state.host, state.port) == ("http", "127.0.0.1", peer.port))
            }
        }
    }

    @Test("Shows waiting requests and how long the oldest has waited", .shows("P31"))
    func waiting() async throws {
        let gate = AsyncGate()
        try await withHelloPeer(gate) { peer in
            try await withCurl(CurlTransport.Configuration(maximumConnectionsPerHost: 1, proxy: .none)) { transport in
                let tasks = (0..<3).map { _ in Task { try await transport.get(peer.url).status } }
                #expect(try await eventually { transport.poolState[peer.url]?.queuedRequests == 2 })
                let first = try #require(transport.poolState[peer.url]?.longestQueueTime)
                #expect(try await eventually { transport.poolState[peer.url]?.longestQueueTime ?? .zero > first })
                for _ in 0..<3 { gate.open() }
                for task in tasks { #expect(try await task.value == 200) }
                let state = try #require(transport.poolState[peer.url])
                #expect(state.queuedRequests == 0 && state.longestQueueTime == nil)
            }
        }
    }

    @Test("Shows connections that are being established")
    func opening() async throws {
        let fixture = try TLSFixture()
        // Accepts connections but doesn't take part in the handshake.
        try await withPeer(TCPPeer.silence) { peer in
            try await withTLS(TLSConfiguration(trustRoots: try fixture.roots)) { transport in
                let url = try #require(URL(string: "https://127.0.0.1:\(peer.port)/"))
                let task = Task { try await transport.get(url) }
                #expect(try await eventually { transport.poolState[url]?.openingConnections == 1 })
                #expect(transport.poolState[url]?.busyConnections == 0)
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                #expect(try await eventually { transport.poolState[url]?.openingConnections == 0 })
                #expect(transport.poolState[url]?.openedConnections == 0)
            }
        }
    }

    @Test("Forgets connections that couldn't be established", arguments: [false, true])
    func notEstablished(isCancelled: Bool) async throws {
        // The queue of the listener is full, so that the kernel ignores further connections.
        let listener = try ConnectingTests.FullPort()
        var configuration = CurlTransport.Configuration(proxy: .none)
        configuration.connectTimeout = isCancelled ? .seconds(60) : .milliseconds(50)
        try await withCurl(configuration) { transport in
            let task = Task { try await transport.get(listener.url) }
            if isCancelled {
                #expect(try await eventually { transport.poolState[listener.url]?.openingConnections == 1 })
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            } else {
                await expectFailure(.cannotConnect) { try await task.value }
            }
            let state = try #require(transport.poolState[listener.url])
            #expect(state.openingConnections + state.busyConnections + state.idleConnections == 0)
            #expect(state.openedConnections == 0 && state.runningRequests == 0)
        }
    }

    @Test("Counts name lookups, also while they run")
    func lookups() async throws {
        try await withHelloPeer { peer in
            let resolver = StubResolver(["name.example": ["127.0.0.1"]], isOpen: false)
            try await withCurl(CurlTransport.Configuration(resolver.makeResolver())) { transport in
                let url = try #require(URL(string: "http://name.example:\(peer.port)/"))
                let task = Task { try await transport.get(url).status }
                #expect(try await eventually { transport.poolState[url]?.runningLookups == 1 })
                resolver.open()
                #expect(try await task.value == 200)
                let state = try #require(transport.poolState[url])
                #expect(state.runningLookups == 0 && state.lookups == 1)
            }
        }
    }

    @Test("Counts handshakes and resumptions, and metrics have the TLS version")
    func handshakes() async throws {
        let fixture = try TLSFixture()
        let metrics = Mutex<[HTTPTransportMetrics]>([])
        try await fixture.withServer { server in
            server.fallback { _ in .text("hello").closing() }
            try await withTLS(TLSConfiguration(trustRoots: try fixture.roots)) { transport in
                let url = server.url(for: "/")
                for _ in 0..<3 {
                    let request = HTTPRequest(url: url) { event in
                        if case .finished(let result) = event { metrics.withLock { $0.append(result) } }
                    }
                    _ = try await transport.send(request)
                }
                let state = try #require(transport.poolState[url])
                #expect(state.handshakes == 3 && state.openedConnections == 3)
                #expect(state.resumedHandshakes == 2)
                #expect(metrics.withLock { $0.map(\.tlsVersion) } == [.tls13, .tls13, .tls13])
            }
        }
    }

    @Test("Metrics of a request on a kept connection have the TLS version", arguments: [true, false])
    func keptVersion(isFirstObserved: Bool) async throws {
        let fixture = try TLSFixture()
        let metrics = Mutex<[HTTPTransportMetrics]>([])
        try await fixture.withServer {
            $0.maximumVersion = .tls12
        } _: { server in
            try await withTLS(TLSConfiguration(trustRoots: try fixture.roots)) { transport in
                let url = server.url(for: "/")
                if !isFirstObserved {
                    _ = try await transport.send(HTTPRequest(url: url))
                }
                for _ in 0..<2 {
                    let request = HTTPRequest(url: url) { event in
                        if case .finished(let result) = event { metrics.withLock { $0.append(result) } }
                    }
                    _ = try await transport.send(request)
                }
            }
            #expect(metrics.withLock { $0.map(\.tlsVersion) } == [.tls12, .tls12])
            #expect(metrics.withLock { $0.map(\.isConnectionReused) } == [!isFirstObserved, true])
        }
    }

    @Test("Returns a state at each interval until the task is cancelled or the transport is gone")
    func states() async throws {
        var transport: CurlTransport? = try CurlTransport(configuration: .init(proxy: .none))
        let states = try #require(transport?.poolStates(every: .milliseconds(1)))
        var count = 0
        for await state in states {
            #expect(state.engines == 0)
            count += 1
            if count == 3 { transport = nil }
            #expect(count < 1000)
        }
        #expect(count >= 3)
        let kept = try CurlTransport(configuration: .init(proxy: .none))
        let reader = Task {
            var count = 0
            for await _ in kept.poolStates() { count += 1 }
            return count
        }
        reader.cancel()
        #expect(await reader.value <= 1)
        withExtendedLifetime(kept) {}
    }

    @Test("Forgets unused origins beyond a thousand, but not those with connections")
    func manyOrigins() throws {
        let admission = CurlAdmission(CurlTransport.Configuration())
        func origin(_ number: Int) throws -> HTTPOrigin {
            try #require(URL(string: "http://h\(number).example").flatMap { HTTPOrigin($0) })
        }
        let busy = admission.activity(for: try origin(0))
        busy.update { $0.idleConnections += 1 }
        for number in 1...3000 { admission.activity(for: try origin(number)).update { $0.requests += 1 } }
        #expect(admission.snapshot.count <= 1025)
        #expect(!busy.isUnused)
        #expect(admission.activity(for: try origin(0)) === busy)
    }
}
