import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Networking

/// Many concurrent requests, a third of them cancelled at random times.
///
/// `STRESS_REQUESTS=200000 swift test --filter StressTests` makes a long run. `STRESS_URL`
/// specifies a server to use instead of the test's, and `STRESS_AUTHORITY` a file with the
/// authority of its certificate. The test runs in a separate process, so that descriptors, threads
/// and memory can be counted.
@Suite("Stress", .limitedConcurrency(timeLimit: .seconds(1800)))
struct StressTests {
    @Test("Gives each request one outcome and leaks nothing")
    func storm() async {
        await #expect(processExitsWith: .success) {
            let environment = ProcessInfo.processInfo.environment
            let count = environment["STRESS_REQUESTS"].flatMap { Int($0) } ?? 3000
            let peer = try TCPPeer { connection in
                while true {
                    try connection.readHead()
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
                }
            }
            let url = environment["STRESS_URL"].flatMap { URL(string: $0) } ?? peer.url
            try await StressTests.run(url, count: 300, seed: 1)
            let before = try await ProcessState.settled(like: .now)
            let tally = try await StressTests.run(url, count: count, seed: 2)
            let after = try await ProcessState.settled(like: before)
            ProcessState.report("\(count) requests: \(tally); before: \(before), after: \(after)")
            try require(tally.total == count)
            try require(tally.failed == 0)
            try require(tally.cancelled > 0 && tally.answered >= count / 2)
            try require(after.isLike(before))
            try require(!ProcessState.isMemoryTelling || after.residentKiB - before.residentKiB < 16 << 10)
            peer.stop()
        }
    }

    struct Tally {
        var answered = 0
        var cancelled = 0
        var failed = 0
        var total: Int { answered + cancelled + failed }
    }

    /// Runs requests in 16 tasks on a separate transport with four engines.
    @discardableResult
    static func run(_ url: URL, count: Int, seed: UInt64) async throws -> Tally {
        var configuration = CurlTransport.Configuration(proxy: .none)
        configuration.engineCount = 4
        configuration.usesEnginesInTurn = true
        if let authority = ProcessInfo.processInfo.environment["STRESS_AUTHORITY"] {
            configuration.tls = TLSConfiguration(trustRoots: try .file(authority))
        }
        return try await withCurl(configuration) { transport in
            await withTaskGroup(of: Tally.self) { group in
                for worker in 0..<16 {
                    group.addTask {
                        var random = SplitMix(state: seed &+ UInt64(worker) &* 7919)
                        var tally = Tally()
                        for _ in 0..<(count / 16 + (worker < count % 16 ? 1 : 0)) {
                            await exchange(transport, url, &random, &tally)
                        }
                        return tally
                    }
                }
                return await group.reduce(into: Tally()) { sum, tally in
                    sum.answered += tally.answered
                    sum.cancelled += tally.cancelled
                    sum.failed += tally.failed
                }
            }
        }
    }

    private static func exchange(
        _ transport: CurlTransport,
        _ url: URL,
        _ random: inout SplitMix,
        _ tally: inout Tally
    ) async {
        let isStreamed = random.next() % 4 == 0
        let task = Task {
            await failure {
                guard isStreamed else {
                    _ = try await transport.get(url)
                    return
                }
                let response = try await transport.open(HTTPTransportRequest(url: url), limits: .generous())
                _ = try await response.body.collect(upTo: 1 << 20)
            }
        }
        if random.next() % 3 == 0 {
            for _ in 0..<(random.next() % 200) { await Task.yield() }
            task.cancel()
        }
        switch await task.value?.code {
        case nil: tally.answered += 1
        case .cancelled: tally.cancelled += 1
        case let code?:
            ProcessState.report("unexpected outcome: \(code)")
            tally.failed += 1
        }
    }
}
