/// The limit of a transfer's bandwidth in one direction.
///
/// libcurl has such a limit, too, but version 7.88 receives up to a hundred parts before it checks
/// the limit.
struct CurlPace: Equatable {
    /// The part of a second for which an unused bandwidth can be used later.
    private static let credit = Duration.milliseconds(100)

    private let rate: Int
    /// The time from which the next part may be transferred.
    private var next: ContinuousClock.Instant?

    /// Creates a limit in bytes per second, or returns `nil` without one.
    init?(_ rate: Int?) {
        guard let rate else { return nil }
        self.rate = rate
    }

    /// Returns the time from which a part may be transferred, or `nil` if it may be now.
    func wait(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        next.flatMap { $0 > now ? $0 : nil }
    }

    /// Records that a part was transferred.
    mutating func spend(_ count: Int, at now: ContinuousClock.Instant) {
        let start = max(next ?? now, now - Self.credit)
        next = start + .seconds(1) * (Double(count) / Double(rate))
    }
}

extension CurlTransfer {
    /// Returns whether the limit of a direction allows another part now.
    ///
    /// If it doesn't, the transfer rests until it does.
    func isDue(_ pace: CurlPace?) -> Bool {
        guard let end = pace?.wait(at: loopState.now) else { return true }
        paceEnd = end
        isOutOfTurn = true
        loopState.touch(self)
        return false
    }
}
