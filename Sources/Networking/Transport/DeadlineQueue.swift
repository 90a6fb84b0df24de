/// A priority queue of the deadlines of requests with identifiers.
typealias DeadlineQueue = DeadlineHeap<UInt64>

/// A priority queue of request deadlines, earliest first.
///
/// Most requests end long before their deadlines. When their entries outnumber the live ones, the
/// queue drops them in bulk.
struct DeadlineHeap<Identifier> {
    private struct Entry {
        var deadline: ContinuousClock.Instant
        var identifier: Identifier
    }

    private var heap: [Entry] = []
    private var sweepCount = 64

    /// The number of entries, including those of ended requests.
    var count: Int { heap.count }

    /// Adds a deadline; `isLive` returns whether a previously added request is still running.
    mutating func insert(
        _ identifier: Identifier,
        deadline: ContinuousClock.Instant,
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

    /// The requests, in any order, including ended ones.
    var all: some Sequence<Identifier> { heap.lazy.map(\.identifier) }

    /// The earliest deadline.
    ///
    /// It may belong to an ended request, because an unneeded wake-up costs less than a check.
    var earliest: ContinuousClock.Instant? { heap.first?.deadline }

    /// Removes all entries, once no request is running.
    mutating func removeAll() {
        heap.removeAll(keepingCapacity: heap.count <= 1024)
    }

    /// Removes and returns a request whose deadline has passed; it may have ended.
    mutating func popExpired(at now: ContinuousClock.Instant) -> Identifier? {
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
