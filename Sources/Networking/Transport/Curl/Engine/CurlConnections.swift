import SystemIO

/// The connections of an engine, with one multi handle per kind of traffic, created on demand.
struct CurlConnections {
    private let poller: EventPoller
    private let maximumIdle: Int
    private let maximumStreams: Int
    private var brief: CurlMulti?
    private var held: CurlMulti?

    init(poller: EventPoller, maximumIdle: Int, maximumStreams: Int) {
        self.poller = poller
        self.maximumIdle = maximumIdle
        self.maximumStreams = maximumStreams
    }

    /// The time at which libcurl needs to be called even without events.
    var alarm: ContinuousClock.Instant? { Self.sooner(brief?.alarm, held?.alarm) }

    /// The earliest time since which connections of either kind have had no transfer.
    var idleSince: ContinuousClock.Instant? { Self.sooner(brief?.idleSince, held?.idleSince) }

    /// Starts driving a transfer, or returns `false` if libcurl rejects it.
    mutating func add(_ handle: CurlHandle, _ traffic: CurlTraffic) -> Bool {
        let multi =
            self[traffic]
            ?? CurlMulti(
                traffic,
                poller: poller,
                maximumIdleConnections: maximumIdle,
                maximumStreams: maximumStreams
            )
        switch traffic {
        case .brief: brief = multi
        case .held: held = multi
        }
        return multi?.add(handle) ?? false
    }

    /// Stops driving a transfer, whether or not it's finished.
    func remove(_ handle: CurlHandle, _ traffic: CurlTraffic, at now: ContinuousClock.Instant) {
        self[traffic]?.remove(handle, at: now)
    }

    /// Handles an event on a connection, or returns `false` if a transfer uses it.
    func wake(by event: EventPoller.Event) -> Bool {
        CurlTraffic(rawValue: event.user).flatMap { self[$0] }?.wake(by: event) ?? true
    }

    /// Returns a transfer that the event is for.
    func transfer(for event: EventPoller.Event) -> CurlTransfer? {
        CurlTraffic(rawValue: event.user).flatMap { self[$0] }?.transfer(at: event.socket)
    }

    func act(on event: EventPoller.Event) {
        CurlTraffic(rawValue: event.user).flatMap { self[$0] }?.act(on: event)
    }

    /// Lets libcurl process expired timers.
    func ring(at now: ContinuousClock.Instant) {
        brief?.ring(at: now)
        held?.ring(at: now)
    }

    /// Removes and returns a finished transfer with libcurl's result.
    func nextFinished() -> (transfer: CurlTransfer, code: Int32)? {
        brief?.nextFinished() ?? held?.nextFinished()
    }

    /// Closes connections that have been idle too long.
    ///
    /// libcurl closes them only while it works on others, so this releases the whole multi handle.
    ///
    /// - Parameter limit: The latest start of the idle time.
    /// - Returns: `true` if it closed connections and none are left.
    mutating func closeIdle(since limit: ContinuousClock.Instant) -> Bool {
        guard idleSince.map({ $0 <= limit }) ?? false else { return false }
        if let since = brief?.idleSince, since <= limit { brief = nil }
        if let since = held?.idleSince, since <= limit { held = nil }
        return brief == nil && held == nil
    }

    /// Releases the connections of either kind if their peers have closed all of them.
    mutating func closeEnded() {
        if brief?.isOver ?? false { brief = nil }
        if held?.isOver ?? false { held = nil }
    }

    /// Closes all connections, once no transfer is running.
    mutating func close() {
        brief = nil
        held = nil
    }

    private subscript(_ traffic: CurlTraffic) -> CurlMulti? {
        switch traffic {
        case .brief: brief
        case .held: held
        }
    }

    private static func sooner(
        _ left: ContinuousClock.Instant?,
        _ right: ContinuousClock.Instant?
    ) -> ContinuousClock.Instant? {
        guard let left, let right else { return left ?? right }
        return min(left, right)
    }
}
