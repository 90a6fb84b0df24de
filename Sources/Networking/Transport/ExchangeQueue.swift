/// Who may use a connection next: at most so many exchanges for each origin and altogether.
///
/// Exchanges of one origin go in the order in which they came; origins take turns, so that a busy one can't starve
/// the others. A waiting exchange that has ended meanwhile is skipped when its turn comes.
struct ExchangeQueue {
    /// The exchanges of one origin; an object, so that an exchange looks it up and does not copy it.
    private final class Line {
        let origin: HTTPOrigin
        var active = 0
        var waiting: [UInt64] = []
        var first = 0
        var isListed = false

        init(origin: HTTPOrigin) {
            self.origin = origin
        }

        var isEmpty: Bool { first == waiting.count }
        var isUnused: Bool { isEmpty && active == 0 }

        func popFirst() -> UInt64? {
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
    /// How many origins are known before unused ones are forgotten.
    private var sweepCount = 64
    /// The origin that was asked for last, which is often the next, too.
    private var recent: Line?
    /// The origins that have a waiting exchange and room for it, each once.
    private var turns: [Line] = []

    init(maximumPerOrigin: Int, maximum: Int) {
        self.maximumPerOrigin = max(1, maximumPerOrigin)
        self.maximum = max(1, maximum)
    }

    /// The origins that are known, those without exchanges included.
    var originCount: Int { lines.count }

    /// Lets an exchange begin without waiting, if nobody waits and there is room; its place is free again after ``release(_:)``.
    mutating func enter(_ origin: HTTPOrigin) -> Bool {
        guard active < maximum, turns.isEmpty else { return false }
        let line = line(of: origin)
        // An origin with room and somebody waiting has its turn.
        guard line.active < maximumPerOrigin else { return false }
        line.active += 1
        active += 1
        return true
    }

    /// Puts an exchange at the end of its origin's line.
    mutating func append(_ identifier: UInt64, origin: HTTPOrigin) {
        let line = line(of: origin)
        line.waiting.append(identifier)
        list(line)
    }

    /// Whether ``next(where:)`` may have an exchange.
    var hasTurn: Bool { active < maximum && !turns.isEmpty }

    /// Takes the next exchange that may begin; its place is free again after ``release(_:)``.
    mutating func next(where isWaiting: (UInt64) -> Bool) -> UInt64? {
        while active < maximum, !turns.isEmpty {
            let line = turns.removeFirst()
            var found: UInt64?
            while found == nil, let identifier = line.popFirst() {
                found = isWaiting(identifier) ? identifier : nil
            }
            line.isListed = false
            if found != nil {
                line.active += 1
                active += 1
            }
            list(line)
            if let found { return found }
        }
        return nil
    }

    /// Gives back the place of an exchange that ``enter(_:)`` or ``next(where:)`` let begin.
    mutating func release(_ origin: HTTPOrigin) {
        let line = line(of: origin)
        guard line.active > 0 else { return }
        line.active -= 1
        active -= 1
        list(line)
    }

    private mutating func line(of origin: HTTPOrigin) -> Line {
        if let recent, recent.origin == origin { return recent }
        let line = lines[origin] ?? add(origin)
        recent = line
        return line
    }

    private mutating func add(_ origin: HTTPOrigin) -> Line {
        if lines.count >= sweepCount {
            lines = lines.filter { !$1.isUnused }
            sweepCount = max(64, lines.count * 2)
        }
        let line = Line(origin: origin)
        lines[origin] = line
        return line
    }

    private mutating func list(_ line: Line) {
        guard !line.isEmpty, !line.isListed, line.active < maximumPerOrigin else { return }
        line.isListed = true
        turns.append(line)
    }
}
