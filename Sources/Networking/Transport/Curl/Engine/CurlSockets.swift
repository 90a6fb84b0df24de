import CCurl
import Glibc
import System

/// The sockets of a multi handle, with their watched conditions and whether they're in use.
///
/// A connection that's idle between two requests stays watched, so that its next request doesn't
/// need a system call. Data that arrives in the meantime doesn't belong to a request and isn't a
/// response ([RFC 9112 §9.2](https://www.rfc-editor.org/rfc/rfc9112#section-9.2)). If it were
/// accepted, an attacker who can make a server send too much could choose the response to the next
/// request. Therefore the connection is ended. Newer versions of libcurl check a connection before
/// reusing it; 7.88 doesn't.
///
/// This object creates and closes the sockets, so it never touches a descriptor that's been reused
/// elsewhere. Sockets that libcurl creates to resolve names are watched exactly as it requests.
final class CurlSockets {
    private struct State: OptionSet {
        let rawValue: UInt8
        /// The socket was created by ``make(_:)`` and is open.
        static let isOurs = Self(rawValue: 1)
        /// libcurl is waiting for the socket.
        static let isUsed = Self(rawValue: 2)
        /// The socket's connection is idle between requests and must not receive data.
        static let isResting = Self(rawValue: 4)
        static let isWatchedForReading = Self(rawValue: 8)
        static let isWatchedForWriting = Self(rawValue: 16)
        static let isWatched: Self = [.isWatchedForReading, .isWatchedForWriting]
    }

    private let poller: EventPoller
    private let traffic: CurlTraffic
    /// The states, indexed by descriptor, which is always small.
    private var states: [State] = []

    init(poller: EventPoller, traffic: CurlTraffic) {
        self.poller = poller
        self.traffic = traffic
    }

    /// Creates a socket for libcurl, or returns a negative number on failure.
    func make(_ kind: UnsafePointer<ccurl_socket_kind>) -> Int32 {
        let socket = unsafe ccurl_make_socket(kind)
        guard socket >= 0 else { return socket }
        while states.count <= socket { states.append([]) }
        states[Int(socket)] = .isOurs
        return socket
    }

    /// Closes a socket for libcurl.
    func close(_ socket: Int32) {
        // Closing the descriptor doesn't stop the watch if a forked process has a copy.
        if !self[socket].isDisjoint(with: .isWatched) { watch(socket, []) }
        if self[socket].contains(.isOurs) { states[Int(socket)] = [] }
        _ = Glibc.close(socket)
    }

    /// Watches a socket for libcurl, or stops if neither condition is requested.
    func use(_ socket: Int32, readable: Bool, writable: Bool) {
        let state = self[socket]
        var wanted: State = []
        if readable { wanted.insert(.isWatchedForReading) }
        if writable { wanted.insert(.isWatchedForWriting) }
        guard state.contains(.isOurs) else {
            return watch(socket, wanted)
        }
        let isUsed = !wanted.isEmpty
        if !isUsed {
            // Most connections are reused soon, so keep watching. A writable socket would cause
            // events all the time, so don't watch for that.
            wanted = state.contains(.isWatchedForWriting) ? .isWatchedForReading : state.intersection(.isWatched)
        }
        if wanted != state.intersection(.isWatched) { watch(socket, wanted) }
        states[Int(socket)] = wanted.union(isUsed ? [.isOurs, .isUsed] : .isOurs)
    }

    /// Guards the socket of an idle connection, if it's open and unused.
    func rest(_ socket: Int32) {
        guard self[socket].isSuperset(of: .isOurs), !self[socket].contains(.isUsed) else { return }
        if !self[socket].contains(.isWatchedForReading) { watch(socket, .isWatchedForReading) }
        states[Int(socket)] = [.isOurs, .isResting, .isWatchedForReading]
    }

    /// Handles an event on a socket that libcurl isn't waiting for.
    ///
    /// libcurl itself detects the end of a connection.
    ///
    /// - Parameters:
    ///   - socket: The socket.
    ///   - isTaken: A closure that returns whether a transfer uses an idle socket that libcurl
    ///     hasn't waited for yet.
    /// - Returns: `true` if the event needs no further handling.
    func wake(_ socket: Int32, isTaken: (Int32) -> Bool) -> Bool {
        let state = self[socket]
        guard state.contains(.isOurs), !state.contains(.isUsed) else { return false }
        watch(socket, [])
        states[Int(socket)] = .isOurs
        if state.contains(.isResting), !isTaken(socket) { endIfReadable(socket) }
        return true
    }

    /// Returns the local port of a connection, or `nil` for a Unix-domain socket.
    static func localPort(of socket: Int32) -> Int? {
        var address = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let code = unsafe withUnsafeMutableBytes(of: &address) { bytes in
            guard let start = bytes.baseAddress else { return Int32(-1) }
            return unsafe getsockname(socket, start.assumingMemoryBound(to: sockaddr.self), &size)
        }
        // The port has the same offset for IPv4 and IPv6.
        guard code == 0, [AF_INET, AF_INET6].contains(Int32(address.sin6_family)) else { return nil }
        return Int(UInt16(bigEndian: address.sin6_port))
    }

    private subscript(_ socket: Int32) -> State {
        states.indices.contains(Int(socket)) ? states[Int(socket)] : []
    }

    private func watch(_ socket: Int32, _ wanted: State) {
        var conditions: EventPoller.Condition = []
        if wanted.contains(.isWatchedForReading) { conditions.insert(.readable) }
        if wanted.contains(.isWatchedForWriting) { conditions.insert(.writable) }
        poller.watch(socket, of: traffic.rawValue, for: conditions)
    }

    /// Ends a connection that has received data, so that libcurl finds it dead.
    private func endIfReadable(_ socket: Int32) {
        var octet: UInt8 = 0
        if unsafe recv(socket, &octet, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0 { end(socket) }
    }

    /// Ends a connection even while it's receiving data, if this object created its socket.
    func end(_ socket: Int32) {
        guard self[socket].contains(.isOurs) else { return }
        // Resets a TCP connection and discards its data. Other sockets are drained instead.
        var nobody = sockaddr()
        nobody.sa_family = sa_family_t(AF_UNSPEC)
        if unsafe connect(socket, &nobody, socklen_t(MemoryLayout<sockaddr>.size)) == 0 { return }
        shutdown(socket, Int32(SHUT_RDWR))
        unsafe withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 1) { buffer in
            while unsafe recv(socket, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
        }
    }
}
