/// The timeouts of a request, for which the owner supplies the time.
struct URLSessionTimes {
    enum Overrun: Equatable { case deadline, firstByte, idle }

    private let limits: HTTPTransportLimits
    /// The time at which the request was submitted.
    let submitted: ContinuousClock.Instant
    /// The time at which URLSession received the request, or `nil` while it's queued.
    private(set) var started: ContinuousClock.Instant?
    /// The time at which the response's header arrived.
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

    /// The time at which each active limit will be exceeded if nothing happens before then.
    private var ends: [(end: ContinuousClock.Instant, overrun: Overrun)] {
        var ends: [(ContinuousClock.Instant, Overrun)] = []
        let isBeyondDeadline = answered != nil && limits.streamsBody && limits.deadlineEndsWithHeader
        if let deadline = limits.deadline, !isBeyondDeadline { ends.append((deadline, .deadline)) }
        if answered == nil, let lastSent, let timeout = limits.firstByteTimeout {
            ends.append((lastSent + timeout, .firstByte))
        }
        if let lastMove, let timeout = limits.idleTimeout { ends.append((lastMove + timeout, .idle)) }
        return ends
    }

    /// The time of the next check, or `nil` if no limit is active.
    var nextCheck: ContinuousClock.Instant? { ends.map(\.end).min() }

    /// Returns the limit that was exceeded first, or `nil` if none was.
    func overrun(at now: ContinuousClock.Instant) -> Overrun? {
        ends.filter { $0.end <= now }.min { $0.end < $1.end }?.overrun
    }

    /// Returns the error to report for an exceeded limit.
    func error(_ overrun: Overrun, origin: HTTPOrigin) -> NetworkError {
        let limit: NetworkError.Timeout.Limit =
            switch overrun {
            case .deadline: .deadline
            case .firstByte: .firstByte
            case .idle: .idle
            }
        return .timedOut(limit, of: limits, phase, origin)
    }

    /// The current phase of the request, as far as URLSession reports it.
    private var phase: NetworkError.Timeout.Phase {
        if started == nil { return .queued }
        return answered == nil ? .firstByte : .receiving
    }
}
