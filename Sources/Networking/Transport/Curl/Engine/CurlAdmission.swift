import Synchronization
import SystemIO

/// The limits on a transport's running requests, shared by its engines.
///
/// A request that exceeds a limit waits in one queue for all engines. The engine that releases
/// capacity starts the next request, or tells the request's engine to start it.
final class CurlAdmission: Sendable {
    private struct State {
        var queue: ExchangeQueue
        /// The requests in the queue.
        var waiting: [UInt64: (origin: HTTPOrigin, since: ContinuousClock.Instant)] = [:]
        /// The mailboxes of the running engines.
        var mailboxes: [Mailbox<CurlMessage>?]
        var activities: [HTTPOrigin: OriginActivity] = [:]
        /// The number of known origins at which unused ones are removed.
        var sweepCount = 1024
    }

    private let engineCount: UInt64
    private let state: Mutex<State>
    private let lastNumber = Atomic<UInt64>(0)
    private let turnCount = Atomic<Int>(0)

    init(_ configuration: CurlTransport.Configuration) {
        engineCount = UInt64(configuration.engineCount)
        state = Mutex(
            State(
                queue: ExchangeQueue(
                    maximumPerOrigin: configuration.maximumConnectionsPerHost,
                    maximum: configuration.maximumConnections
                ),
                mailboxes: Array(repeating: nil, count: configuration.engineCount)
            )
        )
    }

    /// Returns a number that's unique among the transport's requests and identifies the engine.
    func nextIdentifier(for engine: Int) -> UInt64 {
        lastNumber.add(1, ordering: .relaxed).newValue &* engineCount &+ UInt64(engine)
    }

    /// Returns the turn of the next engine, if they're used one after the other.
    func nextTurn() -> Int { turnCount.wrappingAdd(1, ordering: .relaxed).oldValue }

    /// Sets the mailbox of an engine that starts.
    func open(_ mailbox: Mailbox<CurlMessage>, for engine: Int) {
        state.withLock { $0.mailboxes[engine] = mailbox }
    }

    /// Removes the mailbox of an engine that ends, unless the engine has started again.
    func close(_ mailbox: Mailbox<CurlMessage>, for engine: Int) {
        state.withLock { state in
            if state.mailboxes[engine] === mailbox { state.mailboxes[engine] = nil }
        }
    }

    /// Posts a message about a request to its engine, unless that has ended.
    func post(_ message: CurlMessage, for identifier: UInt64) {
        state.withLock { $0.mailboxes[Int(identifier % engineCount)] }?.post(message)
    }

    /// Starts a request until ``release(_:)`` if there's capacity, or else adds it to the queue and
    /// returns `false`.
    func enter(_ identifier: UInt64, _ origin: HTTPOrigin, at now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            if state.queue.enter(origin) { return true }
            state.waiting[identifier] = (origin, now)
            state.queue.append(identifier, origin: origin)
            return false
        }
    }

    /// Removes a request that ends before it has started.
    func leave(_ identifier: UInt64) {
        state.withLock { $0.waiting[identifier] = nil }
    }

    /// Releases a request's capacity and returns whether ``next(for:)`` may start another.
    func release(_ origin: HTTPOrigin) -> Bool {
        state.withLock { state in
            state.queue.release(origin)
            return state.queue.hasTurn
        }
    }

    /// Starts waiting requests while there's capacity, and returns the first one that's the
    /// engine's own.
    func next(for engine: Int) -> UInt64? {
        state.withLock { state in
            while let identifier = state.queue.next(where: { state.waiting[$0] != nil }) {
                guard let origin = state.waiting.removeValue(forKey: identifier)?.origin else { continue }
                let owner = Int(identifier % engineCount)
                if owner == engine { return identifier }
                // An engine that has ended has no requests.
                let isTold = state.mailboxes[owner]?.post(.admit(identifier, origin)) ?? false
                if !isTold { state.queue.release(origin) }
            }
            return nil
        }
    }

    /// Returns the activity of an origin.
    func activity(for origin: HTTPOrigin) -> OriginActivity {
        state.withLock { state in
            if let activity = state.activities[origin] { return activity }
            if state.activities.count >= state.sweepCount {
                state.activities = state.activities.filter { !$1.isUnused }
                state.sweepCount = max(1024, state.activities.count * 2)
            }
            let activity = OriginActivity(origin)
            state.activities[origin] = activity
            return activity
        }
    }

    /// The state of the connections and requests, by origin.
    var snapshot: [ConnectionPoolState.Origin] {
        let (activities, waiting) = state.withLock { ($0.activities, Array($0.waiting.values)) }
        let queues = Dictionary(grouping: waiting, by: \.origin)
        let now = ContinuousClock.now
        return activities.map { origin, activity in
            var state = activity.state
            if let queue = queues[origin], let since = queue.map(\.since).min() {
                state.queuedRequests = queue.count
                state.longestQueueTime = max(now - since, .zero)
            }
            return state
        }
    }
}
