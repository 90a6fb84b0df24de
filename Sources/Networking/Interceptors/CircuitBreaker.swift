public import Foundation
import Synchronization

/// An interceptor that stops sending to a failing server, so that it can recover.
///
/// It keeps a circuit per origin. When enough attempts in a window fail, the circuit opens and
/// requests fail with ``NetworkError/Code/circuitOpen``. After a pause the breaker sends one
/// request: if it succeeds, the circuit closes; otherwise it stays open for another pause. A status
/// of 500 or more and a transport's error are failures; a cancellation isn't counted. It counts
/// what passes it, so an attempt that a later authenticator repeats is one attempt.
public final class CircuitBreaker: RequestInterceptor {
    struct Rules {
        let failureRatio: Double
        let minimumAttempts: Int
        let window: Duration
        let pause: Duration
    }

    private struct State {
        var circuits: [HTTPOrigin: Circuit] = [:]
        /// The number of circuits at which idle ones are removed.
        var sweepCount = 64
    }

    private let rules: Rules
    private let timeSource: TimeSource
    private let state = Mutex(State())

    package var circuitCount: Int { state.withLock(\.circuits.count) }

    /// Creates a breaker; share it between clients that call the same servers.
    ///
    /// - Parameters:
    ///   - failureRatio: The failure ratio that opens the circuit. The default is 0.1.
    ///   - minimumAttempts: The minimum number of attempts in a window. The default is 100.
    ///   - window: The period in which attempts are counted. The default is 30 seconds.
    ///   - pause: The time before an open circuit allows a request. The default is 5 seconds.
    ///   - timeSource: The clocks, the same as the client's.
    public init(
        failureRatio: Double = 0.1,
        minimumAttempts: Int = 100,
        window: Duration = .seconds(30),
        pause: Duration = .seconds(5),
        timeSource: TimeSource = .system
    ) {
        rules = Rules(failureRatio: failureRatio, minimumAttempts: minimumAttempts, window: window, pause: pause)
        self.timeSource = timeSource
    }

    /// Returns whether requests to an origin currently fail at once.
    ///
    /// - Parameter url: Any URL of the origin.
    /// - Returns: `true` if its circuit is open.
    public func isOpen(for url: URL) -> Bool {
        guard let origin = HTTPOrigin(url) else { return false }
        return state.withLock { $0.circuits[origin]?.isOpen(at: timeSource.now()) ?? false }
    }

    /// Passes the request on if its circuit is closed, and counts the outcome.
    ///
    /// - Throws: ``NetworkError`` with the code `circuitOpen`.
    public func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
        guard let origin = HTTPOrigin(request.url) else { return try await next(request) }
        let now = timeSource.now()
        let passage = state.withLock { $0.circuits[origin]?.passage(at: now) } ?? .ordinary
        guard passage != .none else {
            throw NetworkError(.circuitOpen, "too many requests to \(origin) failed recently; nothing was sent")
        }
        do {
            let response = try await next(request)
            count(Self.outcome(of: response), of: origin, passage)
            return response
        } catch {
            count(Self.outcome(of: error), of: origin, passage)
            throw error
        }
    }

    private func count(_ outcome: Circuit.Outcome, of origin: HTTPOrigin, _ passage: Circuit.Passage) {
        let now = timeSource.now()
        state.withLock { state in
            if state.circuits[origin] == nil, state.circuits.count >= state.sweepCount {
                state.circuits = state.circuits.filter { !$0.value.isIdle(at: now, rules) }
                state.sweepCount = max(64, state.circuits.count * 2)
            }
            state.circuits[origin, default: Circuit()].count(outcome, isProbe: passage == .probe, at: now, rules)
        }
    }

    private static func outcome(of response: HTTPResponse) -> Circuit.Outcome {
        switch response.cacheUse {
        case nil, .revalidated: response.status >= 500 ? .failure : .success
        case .staleOnError: .failure
        case .fresh, .stale, .missing: .nothing
        }
    }

    private static func outcome(of error: any Error) -> Circuit.Outcome {
        guard let code = (error as? NetworkError)?.code else { return .nothing }
        // Nothing is known about the server.
        return [.requestNotMade, .invalidRequest, .rateLimited, .circuitOpen].contains(code) ? .nothing : .failure
    }
}

struct Circuit {
    enum Outcome {
        case success, failure, nothing
    }

    enum Passage {
        case none, ordinary, probe
    }

    private enum Phase {
        case closed
        case open(until: ContinuousClock.Instant)
        /// The request that decides is in progress.
        case probing
    }

    private var phase = Phase.closed
    private var windowEnd: ContinuousClock.Instant?
    private var attempts = 0
    private var failures = 0

    func isOpen(at now: ContinuousClock.Instant) -> Bool {
        switch phase {
        case .closed: false
        case .open(let end): now < end
        case .probing: true
        }
    }

    /// What the circuit knows is older than a window.
    func isIdle(at now: ContinuousClock.Instant, _ rules: CircuitBreaker.Rules) -> Bool {
        switch phase {
        case .closed: windowEnd.map { now >= $0 } ?? true
        case .open(let end): now - end >= rules.window
        case .probing: false
        }
    }

    mutating func passage(at now: ContinuousClock.Instant) -> Passage {
        switch phase {
        case .closed: return .ordinary
        case .probing: return .none
        case .open(let end):
            guard now >= end else { return .none }
            phase = .probing
            return .probe
        }
    }

    mutating func count(
        _ outcome: Outcome,
        isProbe: Bool,
        at now: ContinuousClock.Instant,
        _ rules: CircuitBreaker.Rules
    ) {
        // Requests sent before the circuit opened say nothing about the server's current state.
        if case .probing = phase, !isProbe { return }
        switch (phase, outcome) {
        case (.probing, .success):
            self = Circuit()
        case (.probing, .failure):
            phase = .open(until: now + rules.pause)
        case (.probing, .nothing):
            // The probe was inconclusive, so the next request becomes the probe.
            phase = .open(until: now)
        case (.open, _), (.closed, .nothing):
            break
        case (.closed, .success), (.closed, .failure):
            if windowEnd.map({ now >= $0 }) ?? true {
                windowEnd = now + rules.window
                (attempts, failures) = (0, 0)
            }
            attempts += 1
            if case .failure = outcome { failures += 1 }
            if attempts >= max(1, rules.minimumAttempts), failures > 0,
                Double(failures) >= rules.failureRatio * Double(attempts)
            {
                phase = .open(until: now + rules.pause)
                windowEnd = nil
            }
        }
    }
}
