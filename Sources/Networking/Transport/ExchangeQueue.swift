/// Who may use a connection next: at most so many exchanges for each origin and altogether.
///
/// Exchanges of one origin go in the order in which they came; origins take turns, so that a busy one can't starve
/// the others. A waiting exchange that has ended meanwhile is skipped when its turn comes.
struct ExchangeQueue {
    private struct Line {
        var active = 0
        var waiting: [UInt64] = []
        var first = 0
        var isListed = false

        var isEmpty: Bool { first == waiting.count }

        mutating func popFirst() -> UInt64? {
            guard first < waiting.count else { return nil }
            let identifier = waiting[first]
            first += 1
            if first == waiting.count {
                waiting.removeAll(keepingCapacity: waiting.capacity <= 256)
                first = 0
            } else if first >= 1024, first * 2 >= waiting.count {
                waiting.removeFirst(first)
                first = 0
            }
            return identifier
        }
    }

    private let maximumPerOrigin: Int
    private let maximum: Int
    private var active = 0
    private var lines: [HTTPOrigin: Line] = [:]
    /// The origins that have a waiting exchange and room for it, each once.
    private var turns: [HTTPOrigin] = []

    init(maximumPerOrigin: Int, maximum: Int) {
        self.maximumPerOrigin = max(1, maximumPerOrigin)
        self.maximum = max(1, maximum)
    }

    /// Puts an exchange at the end of its origin's line.
    mutating func append(_ identifier: UInt64, origin: HTTPOrigin) {
        lines[origin, default: Line()].waiting.append(identifier)
        list(origin)
    }

    /// Takes the next exchange that may begin; its place is free again after ``release(_:)``.
    mutating func next(where isWaiting: (UInt64) -> Bool) -> UInt64? {
        while active < maximum, !turns.isEmpty {
            let origin = turns.removeFirst()
            var found: UInt64?
            while found == nil, let identifier = lines[origin]?.popFirst() {
                found = isWaiting(identifier) ? identifier : nil
            }
            lines[origin]?.isListed = false
            if found != nil {
                lines[origin]?.active += 1
                active += 1
            }
            settle(origin)
            if let found { return found }
        }
        return nil
    }

    /// Gives back the place of an exchange that ``next(where:)`` returned.
    mutating func release(_ origin: HTTPOrigin) {
        guard let line = lines[origin], line.active > 0 else { return }
        lines[origin]?.active -= 1
        active -= 1
        settle(origin)
    }

    private mutating func settle(_ origin: HTTPOrigin) {
        guard let line = lines[origin] else { return }
        if line.isEmpty, line.active == 0 {
            lines[origin] = nil
        } else {
            list(origin)
        }
    }

    private mutating func list(_ origin: HTTPOrigin) {
        guard let line = lines[origin], !line.isEmpty, !line.isListed, line.active < maximumPerOrigin else { return }
        lines[origin]?.isListed = true
        turns.append(origin)
    }
}
