import CCurl
import Glibc

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
    let traffic: CurlTraffic
    /// By descriptor, which the system keeps small.
    private var states: [State] = []
    /// Which transfer had a connection last, by descriptor: a transfer may be taken leave of when the next one has its connection already,
    /// and rests in the middle of its body because nobody reads it.
    private var users: [ObjectIdentifier?] = []

    init(poller: EventPoller, traffic: CurlTraffic) {
        self.poller = poller
        self.traffic = traffic
    }

    /// Makes a socket for libcurl; negative if there is none.
    func make(_ kind: UnsafePointer<ccurl_socket_kind>) -> Int32 {
        let socket = unsafe ccurl_make_socket(kind)
        guard socket >= 0 else { return socket }
        while states.count <= socket {
            states.append([])
            users.append(nil)
        }
        states[Int(socket)] = .isOurs
        users[Int(socket)] = nil
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
        guard state.contains(.isOurs) else {
            return poller.watch(socket, of: traffic.rawValue, readable: readable, writable: writable)
        }
        var wanted: State = []
        if readable { wanted.insert(.isWatchedForReading) }
        if writable { wanted.insert(.isWatchedForWriting) }
        let isUsed = !wanted.isEmpty
        if !isUsed {
            // Most connections are used again soon. That one can be written to is no news, and would be told all the time.
            wanted = state.contains(.isWatchedForWriting) ? .isWatchedForReading : state.intersection(.isWatched)
        }
        if wanted != state.intersection(.isWatched) { watch(socket, wanted) }
        states[Int(socket)] = wanted.union(isUsed ? [.isOurs, .isUsed] : .isOurs)
    }

    /// Notes which transfer has a socket.
    func note(_ user: ObjectIdentifier, of socket: Int32) {
        if users.indices.contains(Int(socket)) { users[Int(socket)] = user }
    }

    /// Guards the socket of a connection whose exchange is over, if it is open and in nobody's use.
    func rest(_ socket: Int32, after user: ObjectIdentifier) {
        guard self[socket].isSuperset(of: .isOurs), !self[socket].contains(.isUsed), users[Int(socket)] == user else {
            return
        }
        users[Int(socket)] = nil
        if !self[socket].contains(.isWatchedForReading) { watch(socket, .isWatchedForReading) }
        states[Int(socket)] = [.isOurs, .isResting, .isWatchedForReading]
    }

    /// Sees what an event means for a socket that libcurl does not wait for; libcurl itself notices if it is the connection's end.
    ///
    /// - Parameters:
    ///   - socket: The socket.
    ///   - isNobodys: Whether what comes on a resting socket can be no running transfer's.
    /// - Returns: Whether that is all that the event meant.
    func wake(_ socket: Int32, isNobodys: Bool) -> Bool {
        let state = self[socket]
        guard state.contains(.isOurs), !state.contains(.isUsed) else { return false }
        watch(socket, [])
        states[Int(socket)] = .isOurs
        if state.contains(.isResting), isNobodys { endIfReadable(socket) }
        return true
    }

    private subscript(_ socket: Int32) -> State {
        states.indices.contains(Int(socket)) ? states[Int(socket)] : []
    }

    private func watch(_ socket: Int32, _ wanted: State) {
        poller.watch(
            socket,
            of: traffic.rawValue,
            readable: wanted.contains(.isWatchedForReading),
            writable: wanted.contains(.isWatchedForWriting)
        )
    }

    /// Ends a connection on which octets wait, so that libcurl finds it dead when it wants to use it again.
    private func endIfReadable(_ socket: Int32) {
        var octet: UInt8 = 0
        guard unsafe recv(socket, &octet, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0 else { return }
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
