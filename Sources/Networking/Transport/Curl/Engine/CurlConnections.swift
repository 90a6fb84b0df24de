import System

/// The connections of an engine: one multi handle for each kind of traffic, made when it is needed.
struct CurlConnections {
    private let poller: EventPoller
    private let maximumIdle: Int
    private var brief: CurlMulti?
    private var held: CurlMulti?

    init(poller: EventPoller, maximumIdle: Int) {
        self.poller = poller
        self.maximumIdle = maximumIdle
    }

    /// When libcurl wants to be called, events or not.
    var alarm: ContinuousClock.Instant? { Self.sooner(brief?.alarm, held?.alarm) }

    /// Since when connections are kept without a transfer; of two kinds the one that waits longer.
    var idleSince: ContinuousClock.Instant? { Self.sooner(brief?.idleSince, held?.idleSince) }

    /// Begins to drive a transfer; false if libcurl refused.
    mutating func add(_ handle: CurlHandle, _ traffic: CurlTraffic) -> Bool {
        let multi = self[traffic] ?? CurlMulti(traffic, poller: poller, maximumIdleConnections: maximumIdle)
        switch traffic {
        case .brief: brief = multi
        case .held: held = multi
        }
        return multi?.add(handle) ?? false
    }

    /// Stops driving a transfer, finished or not.
    func remove(_ handle: CurlHandle, _ traffic: CurlTraffic, at now: ContinuousClock.Instant) {
        self[traffic]?.remove(handle, at: now)
    }

    /// Sees what an event means for a connection that no transfer uses; false if it is for one that does.
    func wake(by event: EventPoller.Event) -> Bool {
        CurlTraffic(rawValue: event.user).flatMap { self[$0] }?.wake(by: event) ?? true
    }

    /// The transfer that an event is for, or one of them.
    func transfer(for event: EventPoller.Event) -> CurlTransfer? {
        CurlTraffic(rawValue: event.user).flatMap { self[$0] }?.transfer(at: event.socket)
    }

    /// Moves the transfers of a socket on.
    func act(on event: EventPoller.Event) {
        CurlTraffic(rawValue: event.user).flatMap { self[$0] }?.act(on: event)
    }

    /// Moves the transfers on whose time has come.
    func ring(at now: ContinuousClock.Instant) {
        brief?.ring(at: now)
        held?.ring(at: now)
    }

    /// Takes a finished transfer and libcurl's result.
    func nextFinished() -> (transfer: CurlTransfer, code: Int32)? {
        brief?.nextFinished() ?? held?.nextFinished()
    }

    /// libcurl closes connections only when it is busy with others, so after a long rest all of them go with their owner.
    ///
    /// - Parameter limit: What is idle since then, or longer, is closed.
    /// - Returns: Whether nothing is left.
    mutating func closeIdle(since limit: ContinuousClock.Instant) -> Bool {
        guard idleSince.map({ $0 <= limit }) ?? false else { return false }
        if let since = brief?.idleSince, since <= limit { brief = nil }
        if let since = held?.idleSince, since <= limit { held = nil }
        return brief == nil && held == nil
    }

    /// Closes all; no transfer may be left.
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
