import SystemIO

/// The connections of an engine, with one multi handle per kind of traffic, created on demand.
struct CurlConnections {
    private let poller: EventPoller
    private let maximumIdle: Int
    private let maximumStreams: Int
    /// The multi handles, indexed by the kind of traffic.
    private var multis: [CurlMulti?] = [nil, nil]

    init(poller: EventPoller, maximumIdle: Int, maximumStreams: Int) {
        self.poller = poller
        self.maximumIdle = maximumIdle
        self.maximumStreams = maximumStreams
    }

    /// The time at which libcurl needs to be called even without events.
    var alarm: ContinuousClock.Instant? { multis.lazy.compactMap { $0?.alarm }.min() }

    /// The earliest time since which connections of either kind have had no transfer.
    var idleSince: ContinuousClock.Instant? { multis.lazy.compactMap { $0?.idleSince }.min() }

    /// Begins another iteration of the loop.
    func beginIteration() {
        for multi in multis { multi?.beginIteration() }
    }

    /// Starts driving a transfer, or returns `false` if libcurl rejects it.
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

    /// Stops driving a transfer, whether or not it's finished.
    func remove(_ handle: CurlHandle, _ traffic: CurlTraffic, at now: ContinuousClock.Instant) {
        multis[Int(traffic.rawValue)]?.remove(handle, at: now)
    }

    /// Handles an event on a connection, or returns `false` if a transfer uses it.
    func wake(by event: EventPoller.Event) -> Bool {
        multis[Int(event.user)]?.wake(by: event) ?? true
    }

    /// Returns a transfer that the event is for.
    func transfer(for event: EventPoller.Event) -> CurlTransfer? {
        multis[Int(event.user)]?.transfer(at: event.socket)
    }

    func act(on event: EventPoller.Event) {
        multis[Int(event.user)]?.act(on: event)
    }

    /// Lets libcurl process expired timers.
    func ring(at now: ContinuousClock.Instant) {
        for multi in multis { multi?.ring(at: now) }
    }

    /// Removes and returns a finished transfer with libcurl's result.
    func nextFinished() -> (transfer: CurlTransfer, code: Int32)? {
        for multi in multis { if let finished = multi?.nextFinished() { return finished } }
        return nil
    }

    /// Closes connections that have been idle since `limit`, and returns whether none are left.
    ///
    /// libcurl closes them only while it works on others, so this releases the whole multi handle.
    mutating func closeIdle(since limit: ContinuousClock.Instant) -> Bool {
        guard idleSince.map({ $0 <= limit }) ?? false else { return false }
        close { $0.idleSince.map { $0 <= limit } ?? false }
        return multis.allSatisfy { $0 == nil }
    }

    /// Closes connections that have no transfer, by default all of them.
    mutating func close(where isOver: (CurlMulti) -> Bool = { _ in true }) {
        for index in multis.indices where multis[index].map(isOver) ?? false { multis[index] = nil }
    }
}
