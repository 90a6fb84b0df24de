import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

/// Sends many requests to a server that fails randomly in every way.
///
/// `FAULT_REQUESTS=5000 swift test --filter FaultRunTests` makes the run longer, and `FAULT_SEED`
/// changes it. Each run has its own process, so that it can count descriptors and threads.
@Suite("Fault run", .limitedConcurrency(timeLimit: .seconds(1800)), .tags(.concurrency))
struct FaultRunTests {
    @Test("Without keep-alive, each attempt arrives exactly once and has exactly one outcome", .shows("H15"))
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
            interceptors: [policy],
            options: NetworkClient.Options(
                timeout: .seconds(600),
                timeSource: time,
                retryBudget: nil,
                observers: [log]
            )
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

/// The server's behavior for one attempt, drawn from a seed and the numbers of the request and the
/// attempt.
enum Fault: Int, CaseIterable {
    case none, slow
    case resetBeforeHead, resetAfterHead, truncatedBody
    case internalError, badGateway, unavailable, tooManyRequests
    case silence, stalledBody
    case garbage, contradictoryLengths
    case unannouncedClose
    case redirectLoop

    private var weight: UInt64 {
        switch self {
        case .none: 20
        case .silence, .stalledBody: 1
        default: 3
        }
    }

    static func drawn(seed: UInt64, request: Int, attempt: Int) -> Self {
        var random = SplitMix(state: seed &+ UInt64(request) &* 0x1_0001 &+ UInt64(attempt) &* 0x9_E377_79B9)
        var rest = random.next() % allCases.reduce(0) { $0 + $1.weight }
        for fault in allCases {
            guard rest >= fault.weight else { return fault }
            rest -= fault.weight
        }
        return .none
    }

    var isHarmless: Bool { [.none, .slow, .unannouncedClose].contains(self) }

    var isRepeated: Bool { !isHarmless && ![.garbage, .contradictoryLengths, .redirectLoop].contains(self) }

    func explains(_ outcome: AttemptOutcome) -> Bool {
        switch self {
        case .none, .slow, .unannouncedClose: outcome == .success
        case .resetBeforeHead, .resetAfterHead, .truncatedBody: outcome == .failure(.connectionLost)
        case .internalError: outcome == .status(500)
        case .badGateway: outcome == .status(502)
        case .unavailable: outcome == .status(503)
        case .tooManyRequests: outcome == .status(429)
        case .silence, .stalledBody: outcome == .failure(.timedOut)
        case .garbage, .contradictoryLengths: outcome == .failure(.invalidResponse)
        case .redirectLoop: outcome == .failure(.tooManyRedirects)
        }
    }

    func response(to number: Int) -> LoopbackResponse {
        let text = "answer to \(number)"
        switch self {
        case .none: return .text(text)
        case .slow: return .text(text).delayed(by: .milliseconds(5)).bodyDelayed(by: .milliseconds(5))
        case .resetBeforeHead: return LoopbackResponse.text(text).cut(.beforeHead, resetting: true)
        case .resetAfterHead: return LoopbackResponse.text(text).cut(.afterHead, resetting: true)
        case .truncatedBody: return LoopbackResponse.text(text).cut(.afterBody(octets: 3))
        case .internalError: return .text("no", status: 500)
        case .badGateway: return .text("no", status: 502)
        case .unavailable: return .text("later", status: 503, headers: ["Retry-After": "2"])
        case .tooManyRequests: return .text("later", status: 429, headers: ["Retry-After": "1"])
        case .silence: return .never
        case .stalledBody: return .text(text).bodyGated(by: ResponseGate())
        case .garbage: return .raw("220 mail.example ESMTP\r\n")
        case .contradictoryLengths:
            return .raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!")
        case .unannouncedClose: return .raw("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
        case .redirectLoop: return .status(302, headers: ["Location": "/loop/\(number)"])
        }
    }
}

enum AttemptOutcome: Hashable {
    case success
    case status(Int)
    case failure(NetworkError.Code)

    init(_ error: (any Error)?) {
        switch error {
        case nil: self = .success
        case let error as ServerError: self = .status(error.errorCode)
        case let error as NetworkError: self = .failure(error.code)
        default: self = .failure(.unknown)
        }
    }
}

struct AttemptKey: Hashable {
    let request: Int
    let attempt: Int
}

/// An observer that numbers the attempts for the server and records their outcomes.
final class AttemptLog: ClientObserver {
    private let outcomes = Mutex<[AttemptKey: [AttemptOutcome]]>([:])

    var all: [AttemptKey: [AttemptOutcome]] { outcomes.withLock { $0 } }

    func attemptStarted(_ request: HTTPRequest, context: InterceptorContext) -> HTTPHeaders {
        ["X-Attempt": String(context.attempt)]
    }

    func attemptEnded(_ attempt: RequestAttempt) {
        let number = attempt.request.flatMap { Int($0.url.lastPathComponent) } ?? -1
        let key = AttemptKey(request: number, attempt: attempt.context.attempt)
        outcomes.withLock { $0[key, default: []].append(AttemptOutcome(attempt.error)) }
    }
}

/// A server that fails according to the seed and counts the attempts that arrive.
final class FaultyServer: Sendable {
    private let arrivals = Mutex<[AttemptKey: Int]>([:])
    let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
    }

    var all: [AttemptKey: Int] { arrivals.withLock { $0 } }

    func answer(_ request: LoopbackRequest) -> LoopbackResponse {
        let parts = request.path.split(separator: "/")
        guard parts.count == 2, let number = Int(parts[1]),
            let attempt = request.headers["X-Attempt"].flatMap({ Int($0) })
        else { return .status(400) }
        // A redirected request belongs to an attempt that was already counted.
        guard parts[0] == "requests" else { return .status(302, headers: ["Location": "/loop/\(number)"]) }
        arrivals.withLock { $0[AttemptKey(request: number, attempt: attempt), default: 0] += 1 }
        return Fault.drawn(seed: seed, request: number, attempt: attempt).response(to: number)
    }
}
