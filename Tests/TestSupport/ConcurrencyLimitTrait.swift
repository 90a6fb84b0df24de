public import Testing

/// Lets only so many tests run at a time.
///
/// Swift Testing starts all tests at once, thousands of them on a few cores. Whoever suspends then waits until all others have had their
/// turn, half a minute and more: long enough for servers to hang up and for clocks to look wrong.
public struct ConcurrencyLimitTrait: SuiteTrait, TestTrait, TestScoping {
    /// Few enough for each to come soon, many enough for those that wait for real time to wait side by side.
    private static let places = FIFOSemaphore(count: 32)

    /// Whether the task has its turn already, for suites within suites.
    @TaskLocal private static var isTaken = false

    /// Every test of a suite has a turn of its own.
    public var isRecursive: Bool { true }

    public func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

    @concurrent
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        guard !Self.isTaken else { return try await function() }
        await Self.places.take()
        defer { Self.places.giveBack() }
        try await Self.$isTaken.withValue(true) { try await function() }
    }
}

extension Trait where Self == ConcurrencyLimitTrait {
    /// Only so many of these tests run at a time.
    public static var limitedConcurrency: Self { Self() }
}
