import CCurl
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
    private let beginning = ContinuousClock.now
    private var count = 0
    /// The transfers that haven't waited for a socket yet.
    ///
    /// libcurl identifies a socket only when it waits for it. A response that arrives at once on a
    /// kept connection can fill the reader's buffer, or use up the transfer's turn, before that.
    private var unplaced: [ObjectIdentifier: CurlHandle] = [:]
    /// The handle that last waited for each socket, indexed by descriptor, which is always small.
    private var placed: [CurlHandle?] = []
    /// The time at which libcurl needs to be called even without events.
    private(set) var alarm: ContinuousClock.Instant?
    /// The time at which the last transfer ended, or `nil` while one is running.
    private(set) var idleSince: ContinuousClock.Instant?

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

    /// Starts driving a transfer, or returns `false` if libcurl rejects it.
    func add(_ handle: CurlHandle) -> Bool {
        guard handle.setSocketOwner(sockets), unsafe handle.join(multi) else { return false }
        unplaced[ObjectIdentifier(handle)] = handle
        count += 1
        idleSince = nil
        return true
    }

    /// Stops driving a transfer, whether or not it's finished.
    func remove(_ handle: CurlHandle, at now: ContinuousClock.Instant) {
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

    /// A Boolean value that indicates whether no transfer runs and the peers have closed all
    /// connections.
    var isOver: Bool { count == 0 && sockets.areOver }

    /// Handles an event on a connection, or returns `false` if a transfer uses it.
    func wake(by event: EventPoller.Event) -> Bool {
        sockets.wake(by: event) { transfer(at: $0) != nil || isTaken($0) }
    }

    /// Begins another iteration of the loop.
    func beginIteration() { sockets.beginIteration() }

    private func place(_ handle: CurlHandle, at socket: Int32) {
        handle.socket = socket
        while placed.count <= socket { placed.append(nil) }
        placed[Int(socket)] = handle
        if handle.transfer?.requestCount ?? 0 > 0 { sockets.connection(at: socket)?.note(isBusy: true) }
        if !unplaced.isEmpty { unplaced[ObjectIdentifier(handle)] = nil }
    }

    /// Returns whether a transfer that hasn't waited for a socket yet uses this one.
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

    /// Returns the running transfer that last waited for a socket, which others may share.
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

    /// Lets libcurl process an expired timer.
    func ring(at now: ContinuousClock.Instant) {
        guard let alarm, alarm <= now else { return }
        self.alarm = nil
        _ = unsafe ccurl_multi_act(multi, Int32(CCURL_SOCKET_TIMEOUT), 0)
    }

    /// Removes and returns a finished transfer with libcurl's result.
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
