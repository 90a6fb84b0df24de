public import Foundation
public import FoundationNetworking
import Synchronization

/// Stops sending to a server that fails, so that callers learn it at once and the server can recover.
///
/// For each origin: when enough attempts in a window failed, the circuit opens and requests fail with
/// ``NetworkError/Code/circuitOpen``. After a pause one request is let through: if it succeeds the circuit closes, otherwise it stays
/// open for another pause. Failures are a status of 500 or more and a transport's errors; cancellations count as nothing.
public final class CircuitBreaker: RequestInterceptor {
    /// When a circuit opens, and for how long.
    public struct Configuration: Sendable {
        /// The share of failures that opens the circuit; 0.1 by default.
        public var failureRatio: Double
        /// How many attempts there must be in a window; 100 by default.
        public var minimumAttempts: Int
        /// The time in which attempts are counted; 30 seconds by default.
        public var window: Duration
        /// How long the circuit stays open before a request is let through; 5 seconds by default.
        public var pause: Duration

        /// Makes a configuration.
        ///
        /// - Parameters:
        ///   - failureRatio: The share of failures that opens the circuit.
        ///   - minimumAttempts: How many attempts there must be in a window.
        ///   - window: The time in which attempts are counted.
        ///   - pause: How long the circuit stays open.
        public init(
            failureRatio: Double = 0.1,
            minimumAttempts: Int = 100,
            window: Duration = .seconds(30),
            pause: Duration = .seconds(5)
        ) {
            self.failureRatio = failureRatio
            self.minimumAttempts = minimumAttempts
            self.window = window
            self.pause = pause
        }
    }

    private let configuration: Configuration
    private let timeSource: TimeSource
    private let circuits = Mutex<[HTTPOrigin: Circuit]>([:])
    /// The attempts that were let through, until they end; a later interceptor may keep the request from having a URL.
    private let passed = Mutex<[AttemptName: Passage]>([:])

    private struct Passage {
        let origin: HTTPOrigin
        /// Whether it decides about an open circuit.
        let isProbe: Bool
    }

    private struct AttemptName: Hashable {
        let operation: UInt64
        let attempt: Int

        init(_ context: InterceptorContext) {
            (operation, attempt) = (context.operation, context.attempt)
        }
    }

    /// Makes a breaker; share it between clients that call the same servers.
    ///
    /// - Parameters:
    ///   - configuration: When a circuit opens, and for how long.
    ///   - timeSource: Where time comes from; the same as the client's.
    public init(_ configuration: Configuration = Configuration(), timeSource: TimeSource = .system) {
        self.configuration = configuration
        self.timeSource = timeSource
    }

    /// Whether requests to an origin fail at once now.
    ///
    /// - Parameter url: Any URL of the origin.
    /// - Returns: Whether its circuit is open.
    public func isOpen(for url: URL) -> Bool {
        guard let origin = HTTPOrigin(url) else { return false }
        return circuits.withLock { $0[origin]?.isOpen(at: timeSource.now()) ?? false }
    }

    /// Lets the request pass if its circuit is closed.
    ///
    /// - Parameters:
    ///   - request: The request or the error so far.
    ///   - context: What is known about the operation.
    /// - Returns: The request.
    /// - Throws: The error so far; ``NetworkError`` with the code `circuitOpen`.
    public func interceptRequest(
        _ request: Result<URLRequest, any Error>,
        context: InterceptorContext
    ) async throws -> URLRequest {
        let request = try request.get()
        guard let origin = request.url.flatMap({ HTTPOrigin($0) }) else { return request }
        let now = timeSource.now()
        let passage = circuits.withLock { $0[origin, default: Circuit()].passage(at: now) }
        guard passage != .none else {
            throw NetworkError(.circuitOpen, "too many requests to \(origin) failed; nothing was sent")
        }
        passed.withLock { $0[AttemptName(context)] = Passage(origin: origin, isProbe: passage == .probe) }
        return request
    }

    /// Counts how the attempt ended.
    ///
    /// - Parameter attempt: The attempt.
    public func attemptEnded(_ attempt: RequestAttempt) {
        guard let passage = passed.withLock({ $0.removeValue(forKey: AttemptName(attempt.context)) }) else { return }
        let now = timeSource.now()
        let outcome = Self.outcome(of: attempt)
        circuits.withLock { circuits in
            circuits[passage.origin, default: Circuit()]
                .count(outcome, isProbe: passage.isProbe, at: now, configuration)
        }
    }

    private static func outcome(of attempt: RequestAttempt) -> Circuit.Outcome {
        if let response = attempt.response { return response.status >= 500 ? .failure : .success }
        guard attempt.request != nil, let error = attempt.error as? NetworkError, error.code != .cancelled else {
            return .nothing
        }
        return .failure
    }
}

/// The state of the circuit of one origin.
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
        /// One request is on its way that decides.
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
        _ configuration: CircuitBreaker.Configuration
    ) {
        // What was sent before the circuit opened says nothing of now.
        if case .probing = phase, !isProbe { return }
        switch (phase, outcome) {
        case (.probing, .success):
            self = Circuit()
        case (.probing, .failure):
            phase = .open(until: now + configuration.pause)
        case (.probing, .nothing):
            // It decided nothing: the next request may.
            phase = .open(until: now)
        case (.open, _), (.closed, .nothing):
            break
        case (.closed, .success), (.closed, .failure):
            if windowEnd.map({ now >= $0 }) ?? true {
                windowEnd = now + configuration.window
                (attempts, failures) = (0, 0)
            }
            attempts += 1
            if case .failure = outcome { failures += 1 }
            if attempts >= max(1, configuration.minimumAttempts), failures > 0,
                Double(failures) >= configuration.failureRatio * Double(attempts)
            {
                phase = .open(until: now + configuration.pause)
                windowEnd = nil
            }
        }
    }
}
