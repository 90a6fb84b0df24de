import CCurl
import Glibc
import SystemIO

/// The kinds of traffic, which don't share connections.
enum CurlTraffic: UInt32 {
    /// Requests that never wait for the caller; with HTTP/2, many share a connection.
    case brief
    /// Requests that may wait for a reader or for the next part of a body.
    ///
    /// While such a request runs, no other shares its connection: libcurl before 8.1 stops a whole
    /// HTTP/2 connection when one stream waits, and later versions buffer megabytes for it.
    case held
}

/// A multi handle with its connections and the transfers that it drives on the engine's thread.
///
/// A poller and a clock trigger all of its work. The handle is freed with this object, after its
/// last transfer is removed.
@safe final class CurlMulti {
    private let multi: OpaquePointer
    private let traffic: CurlTraffic
    private let sockets: CurlSockets
    private let beginning = Moment.now
    private var count = 0
    /// The transfers that haven't waited for a socket yet.
    ///
    /// libcurl identifies a socket only when it waits for it. A response that arrives at once on a
    /// kept connection can fill the reader's buffer, or use up the transfer's turn, before that.
    private var unplaced: [ObjectIdentifier: CurlHandle] = [:]
    /// The handle that last waited for each socket, indexed by descriptor, which is always small.
    private var placed: [CurlHandle?] = []
    /// libcurl needs to be called then even without events.
    private(set) var alarm: Moment?
    private(set) var idleSince: Moment?

    init?(_ traffic: CurlTraffic, poller: EventPoller, maximumIdleConnections: Int, maximumStreams: Int) {
        guard let multi = unsafe ccurl_multi_init() else { return nil }
        unsafe self.multi = multi
        self.traffic = traffic
        sockets = CurlSockets(poller: poller, traffic: traffic)
        let sharing = traffic == .brief ? CCURL_PIPE_MULTIPLEX : CCURL_PIPE_NOTHING
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        let codes = [
            unsafe ccurl_multi_set_long(multi, CCURL_MULTI_PIPELINING, Int(sharing)),
            unsafe ccurl_multi_set_long(multi, CCURL_MULTI_MAXCONNECTS, maximumIdleConnections),
            unsafe ccurl_multi_set_long(multi, CCURL_MULTI_MAX_CONCURRENT_STREAMS, maximumStreams),
            unsafe ccurl_multi_set_socket_function(
                multi,
                { easy, socket, interest, context, _ in
                    guard let multi = unsafe CurlMulti.behind(context) else { return 0 }
                    let isRemoved = Int(interest) == CCURL_POLL_REMOVE
                    if let easy = unsafe easy, let handle = unsafe CurlHandle.of(easy) {
                        if !isRemoved { multi.place(handle, at: socket) }
                        if multi.traffic == .held { handle.transfer?.note(isWaiting: !isRemoved) }
                    }
                    multi.sockets.use(
                        socket,
                        readable: !isRemoved && Int(interest) & CCURL_POLL_IN != 0,
                        writable: !isRemoved && Int(interest) & CCURL_POLL_OUT != 0
                    )
                    return 0
                },
                context
            ),
            unsafe ccurl_multi_set_timer_function(
                multi,
                { _, milliseconds, context in
                    unsafe CurlMulti.behind(context)?.setAlarm(milliseconds: milliseconds)
                    return 0
                },
                context
            ),
        ]
        guard codes.allSatisfy({ $0 == Int32(CCURL_OK) }) else { return nil }
    }

    deinit {
        // Closing connections must not call back into this object during deinitialization.
        _ = unsafe ccurl_multi_set_socket_function(multi, nil, nil)
        _ = unsafe ccurl_multi_set_timer_function(multi, nil, nil)
        _ = unsafe ccurl_multi_cleanup(multi)
    }

    func add(_ handle: CurlHandle) -> Bool {
        guard handle.setSocketOwner(sockets), unsafe handle.join(multi) else { return false }
        unplaced[ObjectIdentifier(handle)] = handle
        count += 1
        idleSince = nil
        return true
    }

    func remove(_ handle: CurlHandle, at now: Moment) {
        unsafe handle.leave(multi)
        unplaced[ObjectIdentifier(handle)] = nil
        if let socket = handle.socket.map(Int.init), placed[socket] === handle { placed[socket] = nil }
        // With HTTP/2, a server may send at any time, and libcurl reads the data.
        if let socket = handle.socket, handle.transfer?.head.version.hasPrefix("HTTP/1") ?? false {
            sockets.rest(socket)
        }
        count -= 1
        if let socket = handle.socket {
            let isBusy = transfer(at: socket) != nil || sockets.isUsed(socket)
            sockets.connection(at: socket)?.note(isBusy: isBusy)
        }
        for connection in handle.takeOpenings() { sockets.noteEnd(of: connection) }
        if count == 0 { idleSince = now }
    }

    /// No transfer runs, and the peers have closed all connections.
    var isOver: Bool { count == 0 && sockets.areOver }

    /// Returns `false` if a transfer uses the connection.
    func wake(by event: EventPoller.Event) -> Bool {
        sockets.wake(by: event) { transfer(at: $0) != nil || isTaken($0) }
    }

    func beginIteration() { sockets.beginIteration() }

    private func place(_ handle: CurlHandle, at socket: Int32) {
        handle.socket = socket
        while placed.count <= socket { placed.append(nil) }
        placed[Int(socket)] = handle
        if handle.transfer?.requestCount ?? 0 > 0 { sockets.connection(at: socket)?.note(isBusy: true) }
        if !unplaced.isEmpty { unplaced[ObjectIdentifier(handle)] = nil }
    }

    /// A transfer may use the socket that hasn't waited for it yet.
    private func isTaken(_ socket: Int32) -> Bool {
        guard !unplaced.isEmpty else { return false }
        // Unix-domain sockets can't be told apart. Assume it's in use, so as not to end the wrong
        // one.
        guard let port = Socket.localPort(of: socket) else { return true }
        guard let handle = unplaced.values.first(where: { $0.number(CCURL_INFO_LOCAL_PORT) == Int(port) }) else {
            return false
        }
        place(handle, at: socket)
        return true
    }

    /// Others may share the socket.
    func transfer(at socket: Int32) -> CurlTransfer? {
        guard placed.indices.contains(Int(socket)), let handle = placed[Int(socket)], handle.socket == socket else {
            return nil
        }
        return handle.transfer
    }

    func act(on event: EventPoller.Event) {
        let events =
            (event.conditions.contains(.readable) ? CCURL_READABLE : 0)
            | (event.conditions.contains(.writable) ? CCURL_WRITABLE : 0)
        let transfer = transfer(at: event.socket)
        transfer?.loopState.acting = transfer
        defer { transfer?.loopState.acting = nil }
        _ = unsafe ccurl_multi_act(multi, event.socket, Int32(events))
    }

    func ring(at now: Moment) {
        guard let alarm, alarm <= now else { return }
        self.alarm = nil
        _ = unsafe ccurl_multi_act(multi, Int32(CCURL_SOCKET_TIMEOUT), 0)
    }

    func nextFinished() -> (transfer: CurlTransfer, code: Int32)? {
        var code: Int32 = 0
        while let easy = unsafe ccurl_multi_next_finished(multi, &code) {
            if let transfer = unsafe CurlHandle.of(easy)?.transfer { return (transfer, code) }
        }
        return nil
    }

    private func setAlarm(milliseconds: Int) {
        switch milliseconds {
        case ..<0: alarm = nil
        // Any time in the past works, and reading the clock isn't necessary.
        case 0: alarm = beginning
        default: alarm = .now + .milliseconds(milliseconds)  // reason: an integer
        }
    }

    private static func behind(_ context: UnsafeMutableRawPointer?) -> CurlMulti? {
        unsafe context.map { unsafe Unmanaged<CurlMulti>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// The sockets of a multi handle, with their watched conditions and whether they're in use.
///
/// A connection that's idle between two requests stays watched, so that its next request doesn't
/// need a system call. Data that arrives in the meantime doesn't belong to a request and isn't a
/// response ([RFC 9112 §9.2](https://www.rfc-editor.org/rfc/rfc9112#section-9.2)). If it were
/// accepted, an attacker who can make a server send too much could choose the response to the next
/// request. Therefore the connection is closed. Newer versions of libcurl check a connection for
/// data before reusing it; 7.88 doesn't.
///
/// This object creates and closes the sockets, so it never touches a descriptor that's been reused
/// elsewhere. Sockets that libcurl creates to resolve names are watched exactly as it requests.
final class CurlSockets {
    private struct State: OptionSet {
        let rawValue: UInt8
        /// The socket was created by ``make(_:)`` and is open.
        static let isOurs = Self(rawValue: 1)
        static let isUsed = Self(rawValue: 2)
        /// The socket's connection is idle between requests and must not receive data.
        static let isResting = Self(rawValue: 4)
        static let isWatchedForReading = Self(rawValue: 8)
        static let isWatchedForWriting = Self(rawValue: 16)
        /// The socket is watched for the end of the connection only.
        static let isWatchedForEnd = Self(rawValue: 32)
        static let isMuted = Self(rawValue: 64)
        static let isWatched: Self = [.isWatchedForReading, .isWatchedForWriting, .isWatchedForEnd]
    }

    private let poller: EventPoller
    private let traffic: CurlTraffic
    /// Indexed by descriptor, which is always small.
    private var states: [State] = []
    /// The connections that this object created, indexed by descriptor.
    private var connections: [CountedConnection?] = []
    /// The local ports of the connections that libcurl closed in the loop's current iteration.
    private var closedPorts: Set<UInt16> = []
    private var liveCount = 0
    private var hasEndedConnections = false
    var areOver: Bool { hasEndedConnections && liveCount == 0 }

    init(poller: EventPoller, traffic: CurlTraffic) {
        self.poller = poller
        self.traffic = traffic
    }

    /// Returns a negative number on failure.
    func make(_ kind: UnsafePointer<ccurl_socket_kind>, for activity: OriginActivity) -> Int32 {
        let socket = unsafe ccurl_make_socket(kind)
        guard socket >= 0 else { return socket }
        while states.count <= socket { states.append([]) }
        states[Int(socket)] = .isOurs
        while connections.count <= socket { connections.append(nil) }
        // The descriptor was closed without a call.
        if let ended = connections[Int(socket)] { noteEnd(of: ended) }
        connections[Int(socket)] = CountedConnection(socket, activity)
        liveCount += 1
        return socket
    }

    func close(_ socket: Int32) {
        // Closing the descriptor doesn't stop the watch if a forked process has a copy.
        if !self[socket].isDisjoint(with: .isWatched) { watch(socket, []) }
        if let connection = connection(at: socket) { noteEnd(of: connection) }
        if let port = Socket.localPort(of: socket) { closedPorts.insert(port) }
        if self[socket].contains(.isOurs) { states[Int(socket)] = [] }
        _ = Glibc.close(socket)
    }

    func beginIteration() {
        if !closedPorts.isEmpty { closedPorts.removeAll() }
    }

    /// Only in the loop's current iteration.
    func hasClosed(_ connection: CurlConnectionName) -> Bool {
        closedPorts.contains(UInt16(truncatingIfNeeded: connection.localPort))
    }

    /// Stops watching if neither condition is requested.
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

    /// libcurl 8.5 waits for data although the transfer is paused, and would keep them in memory.
    func mute(_ socket: Int32) {
        guard self[socket].isSuperset(of: [.isUsed, .isWatchedForReading]) else { return }
        states[Int(socket)].remove(.isWatchedForReading)
        watch(socket, self[socket])
        states[Int(socket)].insert(.isMuted)
    }

    func unmute(_ socket: Int32) {
        guard self[socket].isSuperset(of: [.isUsed, .isMuted]) else { return }
        states[Int(socket)].remove(.isMuted)
        states[Int(socket)].insert(.isWatchedForReading)
        watch(socket, self[socket])
    }

    /// Guards the socket of an idle connection, if it's open and unused.
    func rest(_ socket: Int32) {
        guard self[socket].isSuperset(of: .isOurs), !self[socket].contains(.isUsed) else { return }
        if !self[socket].contains(.isWatchedForReading) { watch(socket, .isWatchedForReading) }
        states[Int(socket)] = [.isOurs, .isResting, .isWatchedForReading]
    }

    func connection(at socket: Int32) -> CountedConnection? {
        connections.indices.contains(Int(socket)) ? connections[Int(socket)] : nil
    }

    /// The socket may be closed.
    func noteEnd(of connection: CountedConnection) {
        guard connection.end() else { return }
        liveCount -= 1
        let index = Int(connection.socket)
        if connections[index] === connection { connections[index] = nil }
    }

    /// Returns `false` if libcurl is waiting for the event.
    ///
    /// libcurl itself detects the end of a connection. `isTaken` returns whether a transfer uses a
    /// socket that libcurl isn't waiting for.
    func wake(by event: EventPoller.Event, isTaken: (Int32) -> Bool) -> Bool {
        let socket = event.socket
        let state = self[socket]
        guard state.contains(.isOurs), !state.contains(.isUsed) else { return false }
        let mustEnd = state.contains(.isResting) || event.conditions.contains(.hangUp)
        if mustEnd, !isTaken(socket) {
            watch(socket, [])
            states[Int(socket)] = .isOurs
            endUnused(socket)
        } else {
            watch(socket, event.conditions.contains(.hangUp) ? [] : .isWatchedForEnd)
            states[Int(socket)] = event.conditions.contains(.hangUp) ? .isOurs : [.isOurs, .isWatchedForEnd]
        }
        return true
    }

    func isUsed(_ socket: Int32) -> Bool { self[socket].contains(.isUsed) }

    private subscript(_ socket: Int32) -> State {
        states.indices.contains(Int(socket)) ? states[Int(socket)] : []
    }

    private func watch(_ socket: Int32, _ wanted: State) {
        var conditions: EventPoller.Condition = []
        if wanted.contains(.isWatchedForReading) { conditions.formUnion([.readable, .hangUp]) }
        if wanted.contains(.isWatchedForEnd) { conditions.insert(.hangUp) }
        if wanted.contains(.isWatchedForWriting) { conditions.insert(.writable) }
        poller.watch(socket, of: traffic.rawValue, for: conditions)
    }

    /// The connection has received data or its peer has closed it; libcurl must find it dead.
    private func endUnused(_ socket: Int32) {
        var octet: UInt8 = 0
        let count = unsafe recv(socket, &octet, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        guard count >= 0 || errno != EAGAIN else { return }
        if count > 0 { discard(socket) } else { shutdown(socket, Int32(SHUT_RDWR)) }
        hasEndedConnections = true
        if let connection = connection(at: socket) { noteEnd(of: connection) }
    }

    /// Leaves a socket that's at its end in the connection's place: libcurl 7.88 would take a
    /// socket that was reset, or that has received data, for an open connection.
    private func discard(_ socket: Int32) {
        var pair: [Int32] = [-1, -1]
        guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
            return end(socket)
        }
        _ = Glibc.close(pair[1])
        if dup2(pair[0], socket) < 0 { end(socket) }
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        _ = Glibc.close(pair[0])
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
