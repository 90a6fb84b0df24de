/// A queue of request deadlines, earliest first.
///
/// Most requests end long before their deadlines. When their entries outnumber the live ones, the
/// queue drops them in bulk.
struct DeadlineQueue {
    /// The entries in order; a new one is usually the latest, and so is appended.
    private var entries: ArraySlice<(deadline: ContinuousClock.Instant, identifier: UInt64)> = []
    private var sweepCount = 64

    /// The number of entries, including those of ended requests.
    var count: Int { entries.count }

    /// Adds a deadline; `isLive` returns whether a previously added request is still running.
    mutating func insert(_ identifier: UInt64, deadline: ContinuousClock.Instant, where isLive: (UInt64) -> Bool) {
        if entries.count >= sweepCount {
            entries.removeAll { !isLive($0.identifier) }
            sweepCount = max(64, entries.count * 2)
        }
        var (low, high) = (entries.startIndex, entries.endIndex)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].deadline <= deadline { low = middle + 1 } else { high = middle }
        }
        entries.insert((deadline, identifier), at: low)
    }

    /// The earliest deadline.
    ///
    /// It may belong to an ended request, because an unneeded wake-up costs less than a check.
    var earliest: ContinuousClock.Instant? { entries.first?.deadline }

    /// Removes all entries, once no request is running.
    mutating func removeAll() {
        entries.removeAll(keepingCapacity: entries.count <= 1024)
    }

    /// Removes and returns a request whose deadline has passed; it may have ended.
    mutating func popExpired(at now: ContinuousClock.Instant) -> UInt64? {
        guard let first = entries.first, first.deadline <= now else { return nil }
        return entries.removeFirst().identifier
    }
}
