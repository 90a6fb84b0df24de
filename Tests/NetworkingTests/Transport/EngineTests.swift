import Foundation
import MockNetworking
import Synchronization
import SystemIO
import TestSupport
import Testing

@testable import Networking

/// Several engines of one transport, used in turn so that each test reaches all of them.
@Suite("Engines", .limitedConcurrency, .tags(.concurrency))
struct EngineTests {
    private func configuration(engines: Int = 4, perHost: Int = 64, total: Int = 256) -> CurlTransport.Configuration {
        var configuration = CurlTransport.Configuration(
            maximumConnectionsPerHost: perHost,
            maximumConnections: total,
            proxy: .none
        )
        configuration.engineCount = engines
        configuration.usesEnginesInTurn = true
        return configuration
    }

    private func hasQueue(_ transport: CurlTransport, _ peer: TCPPeer, of count: Int) async throws -> Bool {
        try await eventually { transport.poolState[peer.url]?.queuedRequests == count }
    }

    @Test("Holds the limits over all engines", .shows("P32"), arguments: [(3, 256), (64, 3)])
    func limits(perHost: Int, total: Int) async throws {
        let progress = RunningCount()
        try await withPeer { connection in
            while true {
                try connection.readHead()
                progress.begin()
                usleep(500)
                progress.end()
                try connection.send(TCPPeer.hello)
            }
        } _: { peer in
            try await withCurl(configuration(perHost: perHost, total: total)) { transport in
                let statuses = try await withThrowingTaskGroup { group in
                    for _ in 0..<200 { group.addTask { try await transport.get(peer.url).status } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(statuses == Array(repeating: 200, count: 200))
                let state = try #require(transport.poolState[peer.url])
                #expect(state.requests == 200 && state.runningRequests == 0 && state.queuedRequests == 0)
                #expect(transport.poolState.engines == 4)
            }
            #expect(progress.most <= 3)
        }
    }

    @Test("Starts waiting requests of all engines in order")
    func order() async throws {
        let gate = AsyncGate()
        try await withHelloPeer(gate) { peer in
            try await withCurl(configuration(engines: 3, perHost: 1)) { transport in
                try await withThrowingTaskGroup { group in
                    for number in 0..<9 {
                        // Without a deadline, because the first request waits for all others.
                        group.addTask { _ = try await transport.get(peer.url("/\(number)"), HTTPTransportLimits()) }
                        // The next request comes after this one is in the queue.
                        #expect(
                            try await eventually {
                                let state = transport.poolState[peer.url]
                                return (state?.runningRequests ?? 0) + (state?.queuedRequests ?? 0) == number + 1
                            }
                        )
                    }
                    for _ in 0..<9 { gate.open() }
                    try await group.waitForAll()
                }
                let paths = peer.requests.map { $0.split(separator: " ")[1] }
                #expect(paths == (0..<9).map { "/\($0)" })
            }
        }
    }

    @Test("A cancelled or late waiting request doesn't hold up the others")
    func cancelledWhileWaiting() async throws {
        let gate = AsyncGate()
        try await withHelloPeer(gate) { peer in
            try await withCurl(configuration(engines: 3, perHost: 1)) { transport in
                let first = Task { try await transport.get(peer.url("/first")) }
                let isRunning = try await eventually { transport.poolState[peer.url]?.runningRequests == 1 }
                #expect(isRunning)
                let cancelled = Task { try await transport.get(peer.url("/cancelled")) }
                #expect(try await hasQueue(transport, peer, of: 1))
                await expectFailure(.timedOut) { _ = try await transport.get(peer.url("/late"), .milliseconds(20)) }
                let last = Task { try await transport.get(peer.url("/last")) }
                #expect(try await hasQueue(transport, peer, of: 2))
                cancelled.cancel()
                await #expect(throws: CancellationError.self) { try await cancelled.value }
                #expect(try await hasQueue(transport, peer, of: 1))
                gate.open()
                gate.open()
                #expect(try await first.value.status == 200)
                #expect(try await last.value.status == 200)
                #expect(peer.requests.count == 2)
            }
        }
    }

    @Test("Closing ends the requests of all engines, running and waiting")
    func close() async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.waitForClose()
        } _: { peer in
            let transport = try CurlTransport(configuration: configuration(perHost: 2))
            let tasks = (0..<12).map { _ in Task { await failure { _ = try await transport.get(peer.url) } } }
            #expect(
                try await eventually {
                    let state = transport.poolState[peer.url]
                    return state?.runningRequests == 2 && state?.queuedRequests == 10
                }
            )
            await transport.close()
            for task in tasks { #expect(await task.value?.code == .closed) }
            let state = try #require(transport.poolState[peer.url])
            #expect(state.runningRequests == 0 && state.queuedRequests == 0)
            #expect(state.idleConnections + state.busyConnections + state.openingConnections == 0)
            #expect(transport.poolState.engines == 0)
            let later = await failure { _ = try await transport.get(peer.url) }
            #expect(later?.code == .closed)
        }
    }

    @Test("A shutdown lets running and waiting requests of all engines end")
    func shutdown() async throws {
        let gate = AsyncGate()
        try await withHelloPeer(gate) { peer in
            let transport = try CurlTransport(configuration: configuration(perHost: 2))
            let tasks = (0..<8).map { _ in Task { try await transport.get(peer.url).status } }
            #expect(try await eventually { transport.poolState[peer.url]?.queuedRequests == 6 })
            async let end: Void = transport.close(within: .seconds(900))
            for _ in 0..<8 { gate.open() }
            for task in tasks { #expect(try await task.value == 200) }
            await end
        }
    }

    @Test("Successive requests use one engine and one connection")
    func lightLoad() async throws {
        try await withHelloPeer { peer in
            var configuration = configuration()
            configuration.usesEnginesInTurn = false
            try await withCurl(configuration) { transport in
                for _ in 0..<50 { _ = try await transport.get(peer.url) }
                #expect(transport.poolState.engines == 1)
                #expect(peer.acceptedCount == 1)
            }
        }
    }

    @Test("Chooses the first engine that has capacity, or the one with the fewest requests")
    func choice() {
        let load = EngineLoad()
        #expect(load.hasRoom)
        load.wake()
        #expect(load.hasRoom)
        load.set(share: 949)
        #expect(load.hasRoom)
        load.set(share: 950)
        #expect(!load.hasRoom)
        load.sleep()
        #expect(load.hasRoom)
        load.begin()
        load.begin()
        load.end()
        #expect(load.requests == 1)
    }

    @Test("Rejects an engine count out of range", arguments: [-1, 0, 65])
    func invalidCount(count: Int) {
        var configuration = CurlTransport.Configuration()
        configuration.engineCount = count
        #expect(throws: NetworkError(.invalidRequest, "")) { try CurlTransport(configuration: configuration) }
    }
}

@Suite("Resting transports", .limitedConcurrency, .tags(.concurrency))
struct RestingTransportTests {
    @Test(
        "1,000 clients that rest have no threads and descriptors after the idle timeout, and work again",
        .shows("P32")
    )
    func rest() async {
        await #expect(processExitsWith: .success) {
            // A client and its connection take six descriptors, and the server has one for each.
            let count = try min(1000, ProcessState.raiseDescriptorLimit(to: 10_000) / 8)
            let server = try LoopbackServer.start()
            server.on(.get, "/", .text("x"))
            let url = server.url(for: "/")
            try await withCurl { _ = try await $0.get(url) }
            let before = try await ProcessState.settled(like: .now)
            var configuration = CurlTransport.Configuration(idleTimeout: .seconds(1), proxy: .none)
            configuration.engineCount = 4
            let transports = try (0..<count).map { _ in try CurlTransport(configuration: configuration) }
            try require(ProcessState.now.isLike(before))
            for transport in transports { try require(try await transport.get(url).status == 200) }
            try require(ProcessState.now.threads <= before.threads + count + 4)
            try require(try await eventually { transports.allSatisfy { $0.poolState.engines == 0 } })
            try require(try await ProcessState.settled(like: before).isLike(before))
            for transport in transports { try require(try await transport.get(url).status == 200) }
            for transport in transports { await transport.close() }
            await server.stop()
        }
    }

    @Test("Starts another thread after one has ended")
    func restart() async throws {
        let configuration = CurlTransport.Configuration(idleTimeout: .seconds(1), proxy: .none)
        let engine = CurlEngine(0, configuration: configuration, admission: CurlAdmission(configuration))
        for _ in 0..<20 {
            let ended = try #require(try engine.start())
            // What the thread does after its idle time.
            #expect(try await eventually { ended.closeIfEmpty() })
            #expect(!engine.isRunning)
            let next = try #require(try engine.start(replacing: ended))
            #expect(next !== ended)
            #expect(engine.isRunning)
            let same = try engine.start()
            #expect(same === next)
            next.post(.close(at: .now, nil))
            #expect(try await eventually { next.isClosed })
        }
        await engine.close(after: .zero)
        let closed = try engine.start()
        #expect(closed == nil)
    }

    @Test("Closes a connection at once when the server closes it", arguments: [false, true])
    func closedByServer(isStreamed: Bool) async throws {
        let (gate, end) = (AsyncGate(), AsyncGate())
        let isClosed = Mutex(false)
        try await withCurl { connection in
            try connection.readRequest()
            try connection.send(TCPPeer.hello)
            gate.waitBlocking()
            connection.finishSending()
            // Throws when the client closes its side.
            try? connection.waitForClose()
            isClosed.withLock { $0 = true }
            end.waitBlocking()
        } _: { transport, peer in
            if isStreamed {
                _ = try await transport.open(peer.url).body.collect(upTo: 10)
            } else {
                _ = try await transport.get(peer.url)
            }
            #expect(try await eventually { transport.poolState[peer.url]?.idleConnections == 1 })
            gate.open()
            #expect(try await eventually { isClosed.withLock(\.self) })
            #expect(try await eventually { transport.poolState[peer.url]?.idleConnections == 0 })
            end.open()
            gate.open()
            end.open()
            #expect(try await transport.get(peer.url).status == 200)
            #expect(peer.acceptedCount == 2)
        }
    }

    @Test("Accepts an idle timeout and an interval of any length")
    func longest() async throws {
        try await withHelloPeer { peer in
            let configuration = CurlTransport.Configuration(idleTimeout: .seconds(Int64.max), proxy: .none)
            try await withCurl(configuration) { transport in
                for _ in 0..<2 { _ = try await transport.get(peer.url) }
                #expect(try await eventually { transport.poolState[peer.url]?.idleConnections == 1 })
                let reader = Task {
                    for await _ in transport.poolStates(every: .seconds(Int64.max)) {}
                }
                reader.cancel()
                await reader.value
            }
        }
    }

    @Test("Closes a TLS connection at once when the server closes it")
    func closedByTLSServer() async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            try await withTLS(TLSConfiguration(trustRoots: try fixture.roots)) { transport in
                let url = server.url(for: "/")
                let response = try await transport.get(url)
                #expect(response.status == 200)
                #expect(try await eventually { transport.poolState[url]?.idleConnections == 1 })
                await server.stop()
                #expect(try await eventually { transport.poolState[url]?.idleConnections == 0 })
            }
        }
    }
}
