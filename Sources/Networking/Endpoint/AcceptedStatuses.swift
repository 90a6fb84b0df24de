/// The statuses that the client doesn't treat as errors.
///
/// ```swift
/// var acceptedStatuses: AcceptedStatuses { 200..<400 }
/// var acceptedStatuses: AcceptedStatuses { [200, 404] }
/// ```
public struct AcceptedStatuses: Sendable, Hashable {
    fileprivate let ranges: [ClosedRange<Int>]

    /// The statuses 200…299, which are the default.
    public static let successful = Self(ranges: [200...299])
    /// Every status.
    public static let all = Self(ranges: [Int.min...Int.max])

    /// Returns the statuses of both sets.
    ///
    /// - Parameter other: The statuses to add.
    /// - Returns: The union.
    public func union(_ other: Self) -> Self {
        Self(ranges: ranges + other.ranges)
    }

    /// Returns whether a status is accepted.
    ///
    /// - Parameter status: The status.
    /// - Returns: `true` if the status is accepted.
    public func contains(_ status: Int) -> Bool {
        ranges.contains { $0.contains(status) }
    }
}

extension AcceptedStatuses: ExpressibleByArrayLiteral {
    /// Creates a set of single statuses.
    ///
    /// - Parameter elements: The statuses.
    public init(arrayLiteral elements: Int...) {
        ranges = elements.map { $0...$0 }
    }
}

extension AcceptedStatuses: CustomStringConvertible {
    /// The ranges in readable form, such as `200…299, 404`.
    public var description: String {
        if ranges.isEmpty { return "none" }
        return ranges.map { range in
            if range == Int.min...Int.max { return "all" }
            return range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)…\(range.upperBound)"
        }.joined(separator: ", ")
    }
}

// The operators are generic because Swift 6.2 prefers operators that aren't, even disfavored ones.

/// Returns the statuses from a lower bound up to, but not including, an upper bound.
///
/// - Parameters:
///   - lower: The first status.
///   - upper: The status after the last one.
/// - Returns: The accepted statuses.
@_disfavoredOverload  // Otherwise a bare `0..<10` would become statuses in every importing file.
public func ..< <Status: BinaryInteger>(lower: Status, upper: Status) -> AcceptedStatuses {
    let range: Range = Int(clamping: lower)..<Int(clamping: upper)
    return AcceptedStatuses(ranges: range.isEmpty ? [] : [ClosedRange(range)])
}

/// Returns the statuses from a lower bound through an upper bound.
///
/// - Parameters:
///   - lower: The first status.
///   - upper: The last status.
/// - Returns: The accepted statuses.
@_disfavoredOverload
public func ... <Status: BinaryInteger>(lower: Status, upper: Status) -> AcceptedStatuses {
    let range: ClosedRange = Int(clamping: lower)...Int(clamping: upper)
    return AcceptedStatuses(ranges: [range])
}
