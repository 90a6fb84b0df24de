public import Testing

/// A trait that limits the number of concurrent tests to 32.
///
/// Swift Testing starts all tests at once, thousands of them on a few cores. A test that suspends
/// then waits half a minute or more for its next turn. Meanwhile, servers close connections and
/// deadlines pass.
public struct ConcurrencyLimitTrait: SuiteTrait, TestTrait, TestScoping {
    /// The permits of all tests: few enough for short waits, and enough for tests that sleep.
    private static let places = FIFOSemaphore(count: 32)

    /// A Boolean value that indicates whether an enclosing suite already took a permit.
    @TaskLocal private static var isTaken = false

    /// Always `true`: each test of a suite takes a permit.
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
    /// Limits the number of concurrent tests to 32.
    public static var limitedConcurrency: Self { Self() }
}
