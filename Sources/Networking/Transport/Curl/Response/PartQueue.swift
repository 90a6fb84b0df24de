import Foundation

/// A queue of body parts that are consumed in order, in pieces of any size.
struct PartQueue {
    private var parts: ArraySlice<Data> = []
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
        while rest > 0 {
            let first = parts.startIndex
            let slice = parts[first].prefix(rest)
            slices.append(slice)
            rest -= slice.count
            if slice.count < parts[first].count {
                parts[first] = parts[first].dropFirst(slice.count)
            } else {
                // The slice of parts would keep removed elements in memory, so release the part.
                parts[first] = Data()
                parts.removeFirst()
            }
        }
        return slices
    }
}
