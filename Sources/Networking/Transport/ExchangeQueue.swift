/// A queue that limits the number of running requests, both per origin and in total.
///
/// Requests to one origin start in the order they were added. Origins take turns, so a busy origin
/// can't starve the others. The queue skips a waiting request that has ended when its turn comes.
struct ExchangeQueue {
    /// The requests to one origin, in a class so that lookups don't copy it.
    private final class Line {
        var active = 0
        /// A slice, because removing the first element of an array moves the others.
        var waiting: ArraySlice<UInt64> = []
        var isListed = false

        var isUnused: Bool { waiting.isEmpty && active == 0 }
    }

    private let maximumPerOrigin: Int
    private let maximum: Int
    private var active = 0
    private var lines: [HTTPOrigin: Line] = [:]
    /// The number of known origins at which unused ones are removed.
    private var sweepCount = 64
    /// The origins that have a waiting request and capacity for it, each listed once.
    private var turns: ArraySlice<Line> = []

    init(maximumPerOrigin: Int, maximum: Int) {
        self.maximumPerOrigin = max(1, maximumPerOrigin)
        self.maximum = max(1, maximum)
    }

    /// The number of known origins, including those without requests.
    var originCount: Int { lines.count }

    /// Starts a request, until ``release(_:)``, if there's capacity and none is waiting.
    mutating func enter(_ origin: HTTPOrigin) -> Bool {
        guard active < maximum, turns.isEmpty else { return false }
        let line = line(of: origin)
        // An origin with capacity and a waiting request would be in `turns`.
        guard line.active < maximumPerOrigin else { return false }
        line.active += 1
        active += 1
        return true
    }

    mutating func append(_ identifier: UInt64, origin: HTTPOrigin) {
        let line = line(of: origin)
        line.waiting.append(identifier)
        list(line)
    }

    /// A Boolean value that indicates whether ``next(where:)`` may return a request.
    var hasTurn: Bool { active < maximum && !turns.isEmpty }

    /// Starts and returns the next request, which counts until ``release(_:)``.
    mutating func next(where isWaiting: (UInt64) -> Bool) -> UInt64? {
        while active < maximum, !turns.isEmpty {
            let line = turns.removeFirst()
            var found: UInt64?
            while found == nil, let identifier = line.waiting.popFirst() {
                found = isWaiting(identifier) ? identifier : nil
            }
            line.isListed = false
            // Releases the memory of a long queue.
            if line.waiting.isEmpty { line.waiting = [] }
            if found != nil {
                line.active += 1
                active += 1
            }
            list(line)
            if let found { return found }
        }
        return nil
    }

    /// Releases the capacity used by a request that ``enter(_:)`` or ``next(where:)`` started.
    mutating func release(_ origin: HTTPOrigin) {
        let line = line(of: origin)
        guard line.active > 0 else { return }
        line.active -= 1
        active -= 1
        list(line)
    }

    private mutating func line(of origin: HTTPOrigin) -> Line {
        if let line = lines[origin] { return line }
        if lines.count >= sweepCount {
            lines = lines.filter { !$1.isUnused }
            sweepCount = max(64, lines.count * 2)
        }
        let line = Line()
        lines[origin] = line
        return line
    }

    private mutating func list(_ line: Line) {
        guard !line.waiting.isEmpty, !line.isListed, line.active < maximumPerOrigin else { return }
        line.isListed = true
        turns.append(line)
    }
}
