/// When an exchange has taken too long, and why; it only counts, and whoever holds it has the clock.
struct URLSessionTimes {
    enum Overrun: Equatable { case deadline, firstByte, idle }

    private let limits: HTTPTransportLimits
    /// When the exchange was asked for.
    let submitted: ContinuousClock.Instant
    /// When URLSession got it; `nil` while it waits in line.
    private(set) var started: ContinuousClock.Instant?
    /// When the response's header came.
    private(set) var answered: ContinuousClock.Instant?
    private var lastSent: ContinuousClock.Instant?
    private var lastMove: ContinuousClock.Instant?

    init(limits: HTTPTransportLimits, submitted: ContinuousClock.Instant) {
        self.limits = limits
        self.submitted = submitted
    }

    mutating func start(at now: ContinuousClock.Instant) {
        started = now
        lastSent = now
        lastMove = now
    }

    mutating func noteSent(at now: ContinuousClock.Instant) {
        lastSent = now
        lastMove = now
    }

    mutating func noteReceived(at now: ContinuousClock.Instant) {
        if answered == nil { answered = now }
        lastMove = now
    }

    /// When each of the limits that hold now is exceeded if nothing happens until then.
    private var ends: [(end: ContinuousClock.Instant, overrun: Overrun)] {
        var ends: [(ContinuousClock.Instant, Overrun)] = []
        if let deadline = limits.deadline { ends.append((deadline, .deadline)) }
        if answered == nil, let lastSent, let timeout = limits.firstByteTimeout {
            ends.append((lastSent + timeout, .firstByte))
        }
        if let lastMove, let timeout = limits.idleTimeout { ends.append((lastMove + timeout, .idle)) }
        return ends
    }

    /// When to look again; `nil` if nothing is limited.
    var nextCheck: ContinuousClock.Instant? { ends.map(\.end).min() }

    /// Which limit is exceeded; of several the one that was exceeded first.
    func overrun(at now: ContinuousClock.Instant) -> Overrun? {
        ends.filter { $0.end <= now }.min { $0.end < $1.end }?.overrun
    }

    /// What to tell the caller of an overrun.
    func error(_ overrun: Overrun, origin: HTTPOrigin) -> NetworkError {
        let limit: NetworkError.Timeout.Limit =
            switch overrun {
            case .deadline: .deadline
            case .firstByte: .firstByte
            case .idle: .idle
            }
        return .timedOut(limit, of: limits, phase, origin)
    }

    /// What the exchange is doing, as far as URLSession tells.
    private var phase: NetworkError.Timeout.Phase {
        if started == nil { return .queued }
        return answered == nil ? .firstByte : .receiving
    }
}
