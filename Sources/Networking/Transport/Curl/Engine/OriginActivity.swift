import Synchronization

/// The state of an origin's connections and requests, except for the queue.
///
/// Engines change it, and any thread may read it.
final class OriginActivity: Sendable {
    private let value: Mutex<ConnectionPoolState.Origin>

    init(_ origin: HTTPOrigin) {
        value = Mutex(ConnectionPoolState.Origin(scheme: origin.scheme, host: origin.host, port: origin.port))
    }

    var state: ConnectionPoolState.Origin { value.withLock(\.self) }

    /// A Boolean value that indicates whether there are neither connections nor requests.
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
