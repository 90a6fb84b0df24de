import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

/// Sends many requests to a server that fails randomly in every way.
///
/// `FAULT_REQUESTS=5000 swift test --filter FaultRunTests` makes the run longer, and `FAULT_SEED`
/// changes it. Each run has its own process, so that it can count descriptors and threads.
@Suite("Fault run", .limitedConcurrency(timeLimit: .seconds(1800)))
struct FaultRunTests {
    @Test("Without keep-alive, each attempt arrives exactly once and has exactly one outcome")
    func freshConnections() async {
        await #expect(processExitsWith: .success) { try await FaultRun(reusesConnections: false).perform() }
    }

    @Test("With keep-alive, only attempted requests arrive, and only repeatable ones arrive twice")
    func keptConnections() async {
        await #expect(processExitsWith: .success) { try await FaultRun(reusesConnections: true).perform() }
    }

    @Test("The random sequence contains every fault")
    func draw() {
        let drawn = (0..<1000).map { Fault.drawn(seed: 7, request: $0, attempt: 1) }
        #expect(Set(drawn).count == Fault.allCases.count)
        #expect(drawn == (0..<1000).map { Fault.drawn(seed: 7, request: $0, attempt: 1) })
        #expect(Fault.allCases.count { !$0.isHarmless } == 12)
    }
}

struct FaultRun {
    let reusesConnections: Bool
    private let count = ProcessInfo.processInfo.environment["FAULT_REQUESTS"].flatMap { Int($0) } ?? 600
    private let seed = ProcessInfo.processInfo.environment["FAULT_SEED"].flatMap { UInt64($0) } ?? 7
    private let maximumRetries = 3

    init(reusesConnections: Bool) {
        self.reusesConnections = reusesConnections
    }

    /// The outcome of one request.
    private struct Outcome {
        let request: Int
        let error: (any Error)?
        let body: Data?
    }

    func perform() async throws {
        _ = try await run(count: 40)
        let before = try await ProcessState.settled(like: .now)
        let start = ContinuousClock.now
        let summary = try await run(count: count)
        let time = ContinuousClock.now - start
        let after = try await ProcessState.settled(like: before)
        ProcessState.report(
            "fault run, kept connections: \(reusesConnections): \(summary), \(time); \(before), \(after)"
        )
        try require(after.isLike(before))
    }

    private func run(count: Int) async throws -> String {
        let faulty = FaultyServer(seed: seed)
        let log = AttemptLog()
        var configuration = LoopbackServer.Configuration()
        configuration.recordsRequests = false
        configuration.recordsConnections = false
        let outcomes = try await withLoopbackServer(configuration: configuration) { server in
            server.fallback { faulty.answer($0) }
            var settings = CurlTransport.Configuration(maximumConnectionsPerHost: 48, proxy: .none)
            if !reusesConnections { settings.idleTimeout = .zero }
            let outcomes = try await withCurl(settings) { transport in
                await send(count, to: server, client(transport, log))
            }
            // The closed transport has no connections left, and the server serves none.
            try await server.waitForOpenConnections(atMost: 0)
            return outcomes
        }
        try require(outcomes.count == count && Set(outcomes.map(\.request)).count == count)
        try check(outcomes, log.all)
        try compare(log.all, with: faulty.all)
        let successes = outcomes.count { $0.error == nil }
        try require(count < 100 || (successes > count / 2 && successes < count))
        return "\(count) requests, \(successes) succeeded, \(log.all.count) attempts, "
            + "\(faulty.all.values.reduce(0, +)) arrivals"
    }

    private func client(_ transport: CurlTransport, _ log: AttemptLog) -> NetworkClient {
        let time = TimeSource(
            now: { .now },
            date: { Date() },
            // Doesn't wait: other tests cover the delays.
            sleep: { _ in try Task.checkCancellation() }
        )
        let policy = Retry.Policy.backoff(.constant(.milliseconds(1), until: .maxRetries(maximumRetries)))
        return NetworkClient(
            transport: transport,
            interceptors: [policy, log],
            options: NetworkClient.Options(timeout: .seconds(600), timeSource: time, retryBudget: nil)
        )
    }

    private func send(_ count: Int, to server: LoopbackServer, _ client: NetworkClient) async -> [Outcome] {
        await withTaskGroup(of: Outcome.self) { group in
            var outcomes: [Outcome] = []
            for number in 0..<count {
                if number >= 64, let outcome = await group.next() { outcomes.append(outcome) }
                var request = URLRequest(url: server.url(for: "/requests/\(number)"), timeoutInterval: 300)
                if number % 2 == 1 {
                    request.httpMethod = "POST"
                    request.httpBody = Data("content of \(number)".utf8)
                    request.setValue("key-\(number)", forHTTPHeaderField: "Idempotency-Key")
                }
                group.addTask { [request] in await outcome(of: request, number, client) }
            }
            for await outcome in group { outcomes.append(outcome) }
            return outcomes
        }
    }

    private func outcome(of request: URLRequest, _ number: Int, _ client: NetworkClient) async -> Outcome {
        let options = RequestOptions(firstByteTimeout: .seconds(1), idleTimeout: .seconds(1))
        do {
            let response = try await client.response(for: request, options: options)
            return Outcome(request: number, error: nil, body: response.body)
        } catch {
            return Outcome(request: number, error: error, body: nil)
        }
    }

    /// Checks that each request has the outcome of its last allowed attempt, and that each attempt
    /// has exactly one outcome, which its fault explains.
    private func check(_ outcomes: [Outcome], _ log: [AttemptKey: [AttemptOutcome]]) throws {
        for outcome in outcomes {
            let attempts = (1...(maximumRetries + 1)).prefix {
                log[AttemptKey(request: outcome.request, attempt: $0)] != nil
            }
            guard let last = attempts.last else { return try require(false) }
            for attempt in attempts {
                let ends = log[AttemptKey(request: outcome.request, attempt: attempt)] ?? []
                try require(ends.count == 1)
                let fault = Fault.drawn(seed: seed, request: outcome.request, attempt: attempt)
                // A busy machine may be too slow for any of them.
                let isExplained = ends.allSatisfy { fault.explains($0) || isLostAnyway($0) }
                if !isExplained { ProcessState.report("\(outcome.request).\(attempt): \(fault) ended in \(ends)") }
                try require(isExplained)
            }
            let end = log[AttemptKey(request: outcome.request, attempt: last)]?.first
            try require(end == AttemptOutcome(outcome.error))
            let fault = Fault.drawn(seed: seed, request: outcome.request, attempt: last)
            if outcome.error == nil {
                try require(outcome.body == Data("answer to \(outcome.request)".utf8))
            } else {
                try require(last == maximumRetries + 1 || !fault.isRepeated)
            }
        }
        try require(Set(log.keys.map(\.request)) == Set(outcomes.map(\.request)))
    }

    /// Returns whether the attempt may fail regardless of the server: the machine is busy, or the
    /// kept connection was already closed.
    private func isLostAnyway(_ outcome: AttemptOutcome) -> Bool {
        outcome == .failure(.timedOut) || (reusesConnections && outcome == .failure(.connectionLost))
    }

    /// Compares the client's log with the server's.
    private func compare(_ log: [AttemptKey: [AttemptOutcome]], with arrivals: [AttemptKey: Int]) throws {
        try require(Set(arrivals.keys).isSubset(of: log.keys))
        for (key, ends) in log {
            let count = arrivals[key, default: 0]
            let mayBeUnseen = ends.allSatisfy { isLostAnyway($0) }
            // libcurl repeats an idempotent request if a kept connection was closed.
            let mayBeSeenAgain = reusesConnections && key.request % 2 == 0
            let isRight = (mayBeUnseen || count >= 1) && (mayBeSeenAgain || count <= 1)
            if !isRight { ProcessState.report("\(key) arrived \(count) times and ended in \(ends)") }
            try require(isRight)
        }
    }
}
