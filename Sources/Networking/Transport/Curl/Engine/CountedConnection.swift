internal import OpenSSLCrypto

/// A connection in the counters of its origin's activity.
///
/// libcurl closes a socket that it hasn't connected yet without a call to
/// ``CurlSockets/close(_:)``. Therefore the handle keeps the connections that it opens, and ends
/// those that aren't used.
final class CountedConnection {
    let socket: Int32
    /// The TLS version, once it's known.
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

    /// Counts the connection as established.
    func establish() {
        guard isOpening, !hasEnded else { return }
        isOpening = false
        activity.update { state in
            state.openingConnections -= 1
            state.idleConnections += 1
        }
    }

    /// Counts the connection as used by a transfer or idle.
    func note(isBusy: Bool) {
        guard !isOpening, !hasEnded, isBusy != self.isBusy else { return }
        self.isBusy = isBusy
        activity.update { state in
            state.busyConnections += isBusy ? 1 : -1
            state.idleConnections -= isBusy ? 1 : -1
        }
    }

    /// Removes the connection from the counters; returns `false` if that has happened before.
    func end() -> Bool {
        guard !hasEnded else { return false }
        note(isBusy: false)
        establish()
        hasEnded = true
        activity.update { $0.idleConnections -= 1 }
        return true
    }
}
