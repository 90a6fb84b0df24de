import Foundation

/// A queue of body parts that are consumed in order, in pieces of any size.
struct PartQueue {
    private var parts: [Data] = []
    /// The total number of unconsumed bytes.
    private(set) var count = 0

    mutating func append(_ part: Data) {
        parts.append(part)
        count += part.count
    }

    /// Takes up to `limit` bytes.
    mutating func take(_ limit: Int) -> [Data] {
        var rest = min(limit, count)
        count -= rest
        var slices: [Data] = []
        var wholeCount = 0
        while rest > 0 {
            let slice = parts[wholeCount].prefix(rest)
            slices.append(slice)
            rest -= slice.count
            parts[wholeCount] = parts[wholeCount].dropFirst(slice.count)
            if parts[wholeCount].isEmpty { wholeCount += 1 }
        }
        parts.removeFirst(wholeCount)
        return slices
    }
}
