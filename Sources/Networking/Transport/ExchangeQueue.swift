/// A queue that limits the number of running requests, both per origin and in total.
///
/// Requests to one origin start in the order they were added. Origins take turns, so a busy origin
/// can't starve the others. The queue skips a waiting request that has ended when its turn comes.
struct ExchangeQueue {
    /// A class, so that lookups don't copy it.
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

    /// Includes the origins without requests.
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

    var hasTurn: Bool { active < maximum && !turns.isEmpty }

    /// The request counts until ``release(_:)``.
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

typealias DeadlineQueue = DeadlineHeap<UInt64>

/// A priority queue of request deadlines, earliest first.
///
/// Most requests end long before their deadlines. When their entries outnumber the live ones, the
/// queue drops them in bulk.
struct DeadlineHeap<Identifier> {
    private struct Entry {
        var deadline: Moment
        var identifier: Identifier
    }

    private var heap: [Entry] = []
    private var sweepCount = 64

    /// Includes the entries of ended requests.
    var count: Int { heap.count }

    /// `isLive` returns whether a previously added request is still running.
    mutating func insert(
        _ identifier: Identifier,
        deadline: Moment,
        where isLive: (Identifier) -> Bool
    ) {
        if heap.count >= sweepCount { sweep(isLive) }
        heap.append(Entry(deadline: deadline, identifier: identifier))
        siftUp(heap.count - 1)
    }

    /// Removes the entries of ended requests.
    mutating func sweep(_ isLive: (Identifier) -> Bool) {
        heap.removeAll { !isLive($0.identifier) }
        for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { siftDown(index) }
        sweepCount = max(64, heap.count * 2)
    }

    /// In any order, including ended requests.
    var all: some Sequence<Identifier> { heap.lazy.map(\.identifier) }

    /// It may belong to an ended request, because an unneeded wake-up costs less than a check.
    var earliest: Moment? { heap.first?.deadline }

    /// Only once no request is running.
    mutating func removeAll() {
        heap.removeAll(keepingCapacity: heap.count <= 1024)
    }

    /// The request may have ended.
    mutating func popExpired(at now: Moment) -> Identifier? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        siftDown(0)
        return first.identifier
    }

    private mutating func siftUp(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].deadline < heap[parent].deadline else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var parent = start
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].deadline < heap[smallest].deadline {
                smallest = child
            }
            guard smallest != parent else { return }
            heap.swapAt(parent, smallest)
            parent = smallest
        }
    }
}

/// The times of the events that a request's timeouts count from.
struct ExchangeTiming {
    /// The time of the last data transfer, or `nil` without a connection.
    private(set) var activity: Moment?
    /// The time at which the whole request was passed on, as far as the engine reports it.
    var requestSent: Moment?
    private(set) var firstByte: Moment?

    var hasFirstByte: Bool { firstByte != nil }

    mutating func begin(at now: Moment, isWhole: Bool) {
        activity = now
        requestSent = isWhole ? now : nil
    }

    /// The end of a wait for the caller counts like sent data.
    mutating func move(at now: Moment) {
        activity = now
    }

    mutating func receive(at now: Moment) {
        activity = now
        if firstByte == nil { firstByte = now }
    }

    /// Returns the limit that was exceeded first, or the time of the next check, if it's needed
    /// before something else happens.
    func check(
        at now: Moment,
        limits: HTTPTransportLimits,
        deadline: Moment? = nil,
        isCallersTurn: Bool = false
    ) -> (expired: NetworkError.Timeout.Limit?, next: Moment?) {
        var first: (limit: NetworkError.Timeout.Limit, end: Moment)? = deadline.map { (.deadline, $0) }
        func add(_ limit: NetworkError.Timeout.Limit, _ end: Moment) {
            if first.map({ end < $0.end }) ?? true { first = (limit, end) }
        }
        if let timeout = limits.firstByteTimeout, let requestSent, !hasFirstByte {
            add(.firstByte, requestSent + timeout)
        }
        if let timeout = limits.idleTimeout, let activity { add(.idle, (isCallersTurn ? now : activity) + timeout) }
        guard let first, first.end <= now else { return (nil, first?.end) }
        return (first.limit, nil)
    }
}
