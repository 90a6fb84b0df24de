internal import OpenSSLCrypto
import Synchronization
import SystemIO

/// The limits on a transport's running requests, shared by its engines.
///
/// A request that exceeds a limit waits in one queue for all engines. The engine that releases
/// capacity starts the next request, or tells the request's engine to start it.
final class CurlAdmission: Sendable {
    private struct State {
        var queue: ExchangeQueue
        var waiting: [UInt64: (origin: HTTPOrigin, since: Moment)] = [:]
        var mailboxes: [Mailbox<CurlMessage>?]
        var activities: [HTTPOrigin: OriginActivity] = [:]
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

    /// The number is unique among the transport's requests and identifies the engine.
    func nextIdentifier(for engine: Int) -> UInt64 {
        lastNumber.add(1, ordering: .relaxed).newValue &* engineCount &+ UInt64(engine)
    }

    func nextTurn() -> Int { turnCount.wrappingAdd(1, ordering: .relaxed).oldValue }

    func open(_ mailbox: Mailbox<CurlMessage>, for engine: Int) {
        state.withLock { $0.mailboxes[engine] = mailbox }
    }

    /// Has no effect if the engine has started again.
    func close(_ mailbox: Mailbox<CurlMessage>, for engine: Int) {
        state.withLock { state in
            if state.mailboxes[engine] === mailbox { state.mailboxes[engine] = nil }
        }
    }

    /// Has no effect if the request's engine has ended.
    func post(_ message: CurlMessage, for identifier: UInt64) {
        state.withLock { $0.mailboxes[Int(identifier % engineCount)] }?.post(message)
    }

    /// Starts a request until ``release(_:)`` if there's capacity; adds it to the queue otherwise.
    func enter(_ identifier: UInt64, _ origin: HTTPOrigin, at now: Moment) -> Bool {
        state.withLock { state in
            if state.queue.enter(origin) { return true }
            state.waiting[identifier] = (origin, now)
            state.queue.append(identifier, origin: origin)
            return false
        }
    }

    /// The request ends before it has started.
    func leave(_ identifier: UInt64) {
        state.withLock { $0.waiting[identifier] = nil }
    }

    /// Returns whether ``next(for:)`` may start another request.
    func release(_ origin: HTTPOrigin) -> Bool {
        state.withLock { state in
            state.queue.release(origin)
            return state.queue.hasTurn
        }
    }

    /// Starts waiting requests while there's capacity, and returns the first of the engine's own.
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

    var snapshot: [ConnectionPoolState.Origin] {
        let (activities, waiting) = state.withLock { ($0.activities, Array($0.waiting.values)) }
        let queues = Dictionary(grouping: waiting, by: \.origin)
        let now = Moment.now
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

/// The state of an origin's connections and requests, except for the queue.
///
/// Engines change it, and any thread may read it.
final class OriginActivity: Sendable {
    private let value: Mutex<ConnectionPoolState.Origin>

    init(_ origin: HTTPOrigin) {
        value = Mutex(ConnectionPoolState.Origin(scheme: origin.scheme, host: origin.host, port: origin.port))
    }

    var state: ConnectionPoolState.Origin { value.withLock(\.self) }

    var isUnused: Bool {
        value.withLock { state in
            state.idleConnections + state.busyConnections + state.openingConnections == 0
                && state.runningRequests == 0 && state.runningLookups == 0
        }
    }

    func update(_ change: (inout ConnectionPoolState.Origin) -> Void) {
        value.withLock { change(&$0) }
    }
}

/// The connections of an engine, with one multi handle per kind of traffic, created on demand.
struct CurlConnections {
    private let poller: EventPoller
    private let maximumIdle: Int
    private let maximumStreams: Int
    /// Indexed by the kind of traffic.
    private var multis: [CurlMulti?] = [nil, nil]

    init(poller: EventPoller, maximumIdle: Int, maximumStreams: Int) {
        self.poller = poller
        self.maximumIdle = maximumIdle
        self.maximumStreams = maximumStreams
    }

    /// libcurl needs to be called then even without events.
    var alarm: Moment? { multis.lazy.compactMap { $0?.alarm }.min() }

    /// The earliest time since which connections of either kind have had no transfer.
    var idleSince: Moment? { multis.lazy.compactMap { $0?.idleSince }.min() }

    func beginIteration() {
        for multi in multis { multi?.beginIteration() }
    }

    /// Returns `false` if libcurl rejects the transfer.
    mutating func add(_ handle: CurlHandle, _ traffic: CurlTraffic) -> Bool {
        let index = Int(traffic.rawValue)
        multis[index] =
            multis[index]
            ?? CurlMulti(
                traffic,
                poller: poller,
                maximumIdleConnections: maximumIdle,
                maximumStreams: maximumStreams
            )
        return multis[index]?.add(handle) ?? false
    }

    func remove(_ handle: CurlHandle, _ traffic: CurlTraffic, at now: Moment) {
        multis[Int(traffic.rawValue)]?.remove(handle, at: now)
    }

    /// Returns `false` if a transfer uses the connection.
    func wake(by event: EventPoller.Event) -> Bool {
        multis[Int(event.user)]?.wake(by: event) ?? true
    }

    func transfer(for event: EventPoller.Event) -> CurlTransfer? {
        multis[Int(event.user)]?.transfer(at: event.socket)
    }

    func act(on event: EventPoller.Event) {
        multis[Int(event.user)]?.act(on: event)
    }

    func ring(at now: Moment) {
        for multi in multis { multi?.ring(at: now) }
    }

    func nextFinished() -> (transfer: CurlTransfer, code: Int32)? {
        for multi in multis { if let finished = multi?.nextFinished() { return finished } }
        return nil
    }

    /// Returns whether no connections are left; libcurl closes idle ones only while it works on
    /// others, so this releases the whole multi handle.
    mutating func closeIdle(since limit: Moment) -> Bool {
        guard idleSince.map({ $0 <= limit }) ?? false else { return false }
        close { $0.idleSince.map { $0 <= limit } ?? false }
        return multis.allSatisfy { $0 == nil }
    }

    /// Closes connections that have no transfer.
    mutating func close(where isOver: (CurlMulti) -> Bool = { _ in true }) {
        for index in multis.indices where multis[index].map(isOver) ?? false { multis[index] = nil }
    }
}

/// A connection in the counters of its origin's activity.
///
/// libcurl closes a socket that it hasn't connected yet without a call to
/// ``CurlSockets/close(_:)``. Therefore the handle keeps the connections that it opens, and ends
/// those that aren't used.
final class CountedConnection {
    let socket: Int32
    var version: TLSProtocolVersion?
    private(set) var hasEnded = false
    private var isOpening = true
    private var isBusy = false
    private let activity: OriginActivity

    init(_ socket: Int32, _ activity: OriginActivity) {
        self.socket = socket
        self.activity = activity
        activity.update { $0.openingConnections += 1 }
    }

    func establish() {
        guard isOpening, !hasEnded else { return }
        isOpening = false
        activity.update { state in
            state.openingConnections -= 1
            state.idleConnections += 1
        }
    }

    func note(isBusy: Bool) {
        guard !isOpening, !hasEnded, isBusy != self.isBusy else { return }
        self.isBusy = isBusy
        activity.update { state in
            state.busyConnections += isBusy ? 1 : -1
            state.idleConnections -= isBusy ? 1 : -1
        }
    }

    /// Returns `false` if the connection was removed from the counters before.
    func end() -> Bool {
        guard !hasEnded else { return false }
        note(isBusy: false)
        establish()
        hasEnded = true
        activity.update { $0.idleConnections -= 1 }
        return true
    }
}
