import Synchronization

/// The counters of an origin's connections and requests.
///
/// Engines change them, and any thread may read them. Counters that belong together can differ for
/// a moment.
final class OriginActivity: Sendable {
    /// A number that any thread can change.
    struct Counter: ~Copyable, Sendable {
        private let number = Atomic<Int>(0)

        var value: Int { number.load(ordering: .relaxed) }

        func add(_ count: Int) {
            number.wrappingAdd(count, ordering: .relaxed)
        }
    }

    // Current numbers.
    let connections = Counter()
    let openingConnections = Counter()
    let busyConnections = Counter()
    let runningRequests = Counter()
    let runningLookups = Counter()
    // Totals.
    let requests = Counter()
    let openedConnections = Counter()
    let lookups = Counter()
    let handshakes = Counter()
    let resumedHandshakes = Counter()
    let bytesSent = Counter()
    let bytesReceived = Counter()
    private let isListed = Atomic<Bool>(true)

    /// A Boolean value that indicates whether the activity is still part of snapshots.
    var isCurrent: Bool { isListed.load(ordering: .relaxed) }

    /// Ends the use of an activity without connections and requests, or returns `false` if it has
    /// any.
    func retire() -> Bool {
        guard connections.value == 0, runningRequests.value == 0, runningLookups.value == 0 else { return false }
        isListed.store(false, ordering: .relaxed)
        return true
    }

    /// Returns the state without the queue.
    func state(of origin: HTTPOrigin) -> ConnectionPoolState.Origin {
        let opening = max(openingConnections.value, 0)
        let busy = max(busyConnections.value, 0)
        var state = ConnectionPoolState.Origin(scheme: origin.scheme, host: origin.host, port: origin.port)
        state.openingConnections = opening
        state.busyConnections = busy
        state.idleConnections = max(connections.value - opening - busy, 0)
        state.runningRequests = max(runningRequests.value, 0)
        state.runningLookups = max(runningLookups.value, 0)
        state.requests = requests.value
        state.openedConnections = openedConnections.value
        state.lookups = lookups.value
        state.handshakes = handshakes.value
        state.resumedHandshakes = resumedHandshakes.value
        state.bytesSent = bytesSent.value
        state.bytesReceived = bytesReceived.value
        return state
    }
}
