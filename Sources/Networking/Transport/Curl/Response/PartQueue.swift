import Foundation

/// A queue of body parts that are consumed in order, in pieces of any size.
struct PartQueue {
    private var parts: [Data] = []
    /// The index of the first part with unconsumed bytes; `offset` is the number consumed.
    private var first = 0
    private var offset = 0
    /// The total number of unconsumed bytes.
    private(set) var count = 0

    mutating func append(_ part: Data) {
        parts.append(part)
        count += part.count
    }

    /// Takes up to `limit` bytes.
    mutating func take(_ limit: Int) -> [Data] {
        var (slices, taken): ([Data], Int) = ([], 0)
        while taken < limit, first < parts.count {
            let part = parts[first]
            let start = part.startIndex + offset
            let step = min(limit - taken, part.endIndex - start)
            slices.append(part[start..<(start + step)])
            taken += step
            offset += step
            if offset == part.count { dropFirst() }
        }
        count -= taken
        return slices
    }

    private mutating func dropFirst() {
        parts[first] = Data()
        first += 1
        offset = 0
        if first == parts.count {
            parts.removeAll(keepingCapacity: true)
            first = 0
        } else if first >= 64, first * 2 >= parts.count {
            parts.removeFirst(first)
            first = 0
        }
    }
}
