/// The statuses of a response that are not an error.
///
/// ```swift
/// var acceptedStatuses: AcceptedStatuses { 200..<400 }
/// var acceptedStatuses: AcceptedStatuses { [200, 404] }
/// ```
public struct AcceptedStatuses: Sendable, Hashable {
    private let ranges: [ClosedRange<Int>]

    fileprivate init(ranges: [ClosedRange<Int>]) {
        self.ranges = ranges
    }

    /// 200…299, what is accepted unless something else is asked for.
    public static let successful = Self(ranges: [200...299])
    /// Every status.
    public static let all = Self(ranges: [Int.min...Int.max])

    /// Accepts more statuses.
    ///
    /// - Parameter other: What is accepted too.
    /// - Returns: What accepts both.
    public func union(_ other: Self) -> Self {
        Self(ranges: ranges + other.ranges)
    }

    /// Whether a status is accepted.
    ///
    /// - Parameter status: The status.
    /// - Returns: Whether it is.
    public func contains(_ status: Int) -> Bool {
        ranges.contains { $0.contains(status) }
    }
}

extension AcceptedStatuses: ExpressibleByArrayLiteral {
    /// Accepts single statuses.
    ///
    /// - Parameter elements: The statuses.
    public init(arrayLiteral elements: Int...) {
        ranges = elements.map { $0...$0 }
    }
}

extension AcceptedStatuses: CustomStringConvertible {
    /// The ranges, for a person to read: `200…299, 404`.
    public var description: String {
        if ranges.isEmpty { return "none" }
        return ranges.map { range in
            if range == Int.min...Int.max { return "all" }
            return range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)…\(range.upperBound)"
        }.joined(separator: ", ")
    }
}

/// Accepts the statuses from one up to another, which isn't accepted.
///
/// - Parameters:
///   - lower: The first status.
///   - upper: The status after the last one.
/// - Returns: What accepts these.
@_disfavoredOverload  // or `0..<10` alone would be statuses wherever this module is imported
public func ..< (lower: Int, upper: Int) -> AcceptedStatuses {
    let range: Range = lower..<upper
    return AcceptedStatuses(ranges: range.isEmpty ? [] : [ClosedRange(range)])
}

/// Accepts the statuses from one to another.
///
/// - Parameters:
///   - lower: The first status.
///   - upper: The last status.
/// - Returns: What accepts these.
@_disfavoredOverload
public func ... (lower: Int, upper: Int) -> AcceptedStatuses {
    let range: ClosedRange = lower...upper
    return AcceptedStatuses(ranges: [range])
}
