import CCurl
import Glibc
import System

/// The sockets of a multi handle: what they are watched for, and whether anybody uses them.
///
/// A connection that rests between two exchanges stays watched as it was, so that its next exchange costs no system call. When something
/// comes on it meanwhile, that answers no request, and so is no response
/// ([RFC 9112 §9.2](https://www.rfc-editor.org/rfc/rfc9112#section-9.2)): an attacker who can make a server send too much would
/// otherwise choose what the next request is answered with. The connection is ended. Newer releases of libcurl look before they use a
/// connection again; 7.88 does not.
///
/// It makes and closes the sockets, so that it never touches one that is somebody else's by now. Those that libcurl makes for itself, to
/// resolve names, are watched exactly as libcurl says.
final class CurlSockets {
    private struct State: OptionSet {
        let rawValue: UInt8
        /// It was made by ``make(_:)`` and is open.
        static let isOurs = Self(rawValue: 1)
        /// libcurl waits for it.
        static let isUsed = Self(rawValue: 2)
        /// It belongs to a connection whose exchange is over and on which nothing may come.
        static let isResting = Self(rawValue: 4)
        static let isWatchedForReading = Self(rawValue: 8)
        static let isWatchedForWriting = Self(rawValue: 16)
        static let isWatched: Self = [.isWatchedForReading, .isWatchedForWriting]
    }

    private let poller: EventPoller
    private let traffic: CurlTraffic
    /// By descriptor, which the system keeps small.
    private var states: [State] = []

    init(poller: EventPoller, traffic: CurlTraffic) {
        self.poller = poller
        self.traffic = traffic
    }

    /// Makes a socket for libcurl; negative if there is none.
    func make(_ kind: UnsafePointer<ccurl_socket_kind>) -> Int32 {
        let socket = unsafe ccurl_make_socket(kind)
        guard socket >= 0 else { return socket }
        while states.count <= socket { states.append([]) }
        states[Int(socket)] = .isOurs
        return socket
    }

    /// Closes a socket for libcurl.
    func close(_ socket: Int32) {
        // Closing alone does not end the watching if a forked process has a copy.
        if !self[socket].isDisjoint(with: .isWatched) { watch(socket, []) }
        if self[socket].contains(.isOurs) { states[Int(socket)] = [] }
        _ = Glibc.close(socket)
    }

    /// Watches a socket for libcurl; no longer if there is nothing to watch for.
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
            // Most connections are used again soon. That one can be written to is no news, and would be told all the time.
            wanted = state.contains(.isWatchedForWriting) ? .isWatchedForReading : state.intersection(.isWatched)
        }
        if wanted != state.intersection(.isWatched) { watch(socket, wanted) }
        states[Int(socket)] = wanted.union(isUsed ? [.isOurs, .isUsed] : .isOurs)
    }

    /// Guards the socket of a connection whose exchange is over, if it is open and in nobody's use.
    func rest(_ socket: Int32) {
        guard self[socket].isSuperset(of: .isOurs), !self[socket].contains(.isUsed) else { return }
        if !self[socket].contains(.isWatchedForReading) { watch(socket, .isWatchedForReading) }
        states[Int(socket)] = [.isOurs, .isResting, .isWatchedForReading]
    }

    /// Sees what an event means for a socket that libcurl does not wait for; libcurl itself notices if it is the connection's end.
    ///
    /// - Parameters:
    ///   - socket: The socket.
    ///   - isTaken: Whether a transfer has the connection of a socket that was at rest, although libcurl has not waited for it yet.
    /// - Returns: Whether that is all that the event meant.
    func wake(_ socket: Int32, isTaken: (Int32) -> Bool) -> Bool {
        let state = self[socket]
        guard state.contains(.isOurs), !state.contains(.isUsed) else { return false }
        watch(socket, [])
        states[Int(socket)] = .isOurs
        if state.contains(.isResting), !isTaken(socket) { endIfReadable(socket) }
        return true
    }

    /// The port at this end of a connection; `nil` if it has none, as a Unix-domain socket.
    static func localPort(of socket: Int32) -> Int? {
        var address = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let code = unsafe withUnsafeMutableBytes(of: &address) { bytes in
            guard let start = bytes.baseAddress else { return Int32(-1) }
            return unsafe getsockname(socket, start.assumingMemoryBound(to: sockaddr.self), &size)
        }
        // IPv4 and IPv6 have it in the same place.
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

    /// Ends a connection on which octets wait, so that libcurl finds it dead when it wants to use it again.
    private func endIfReadable(_ socket: Int32) {
        var octet: UInt8 = 0
        if unsafe recv(socket, &octet, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0 { end(socket) }
    }

    /// Ends a connection even while data arrives on it, if its socket was made here.
    func end(_ socket: Int32) {
        guard self[socket].contains(.isOurs) else { return }
        // Dissolves a TCP connection, with a reset, and throws away what waits. Other sockets can't; they are read empty.
        var nobody = sockaddr()
        nobody.sa_family = sa_family_t(AF_UNSPEC)
        if unsafe connect(socket, &nobody, socklen_t(MemoryLayout<sockaddr>.size)) == 0 { return }
        shutdown(socket, Int32(SHUT_RDWR))
        unsafe withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 1) { buffer in
            while unsafe recv(socket, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)) > 0 {}
        }
    }
}
