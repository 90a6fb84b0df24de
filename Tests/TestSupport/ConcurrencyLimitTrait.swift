import Glibc
public import Testing

/// Limits how many tests run at once, and how long each may take.
///
/// Swift Testing starts all tests at the same time, thousands of them on a few cores. Every
/// suspension of a test would then wait for a turn behind all the others, long enough for timeouts
/// to pass. So every suite has this trait, in one of two forms: tests that wait for sockets,
/// processes or other threads share 12 permits, and tests that only compute have one for each core.
///
/// With the environment variable `UNIT_TESTS`, tests that wait are skipped (by Swift 6.3 and
/// later).
public struct ConcurrencyLimitTrait: SuiteTrait, TestTrait, TestScoping {
    private static let waiting = FIFOSemaphore(count: 12)
    private static let computing = FIFOSemaphore(count: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    private static let isUnitRun = unsafe getenv("UNIT_TESTS") != nil

    /// A Boolean value that indicates whether the tests only compute.
    var computes: Bool
    /// The maximum duration of one test case, without the wait for its permit.
    var timeLimit: Duration

    /// A Boolean value that indicates whether the current task has a permit. Suites can be nested.
    @TaskLocal private static var hasPermit = false

    public var isRecursive: Bool { true }

    public func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

    @concurrent
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        #if compiler(>=6.3)
            if Self.isUnitRun, !computes { try Test.cancel("UNIT_TESTS selects the tests that don't wait") }
        #endif
        guard !Self.hasPermit else { return try await function() }
        let permits = computes ? Self.computing : Self.waiting
        await permits.acquire()
        defer { permits.release() }
        let timeLimit = timeLimit
        try await Self.$hasPermit.withValue(true) {
            try await withoutActuallyEscaping(function) { function in
                let body = Task { try await function() }
                let alarm = Task {
                    try await Task.sleep(for: timeLimit)
                    Issue.record("The test didn't end within \(timeLimit).", sourceLocation: test.sourceLocation)
                    body.cancel()
                }
                defer { alarm.cancel() }
                try await withTaskCancellationHandler {
                    try await body.value
                } onCancel: {
                    body.cancel()
                }
            }
        }
    }
}

extension Trait where Self == ConcurrencyLimitTrait {
    /// Runs as many of these tests at once as the machine has cores, each for at most 20 minutes.
    public static var computing: Self { Self(computes: true, timeLimit: .seconds(1200)) }

    /// Runs only a few of these tests at once, each for at most 20 minutes. The limit is for tests
    /// that hang: sanitizers and busy machines make tests up to a hundred times slower.
    public static var limitedConcurrency: Self { limitedConcurrency(timeLimit: .seconds(1200)) }

    /// Runs only a few of these tests at once.
    ///
    /// - Parameter timeLimit: The maximum duration of one test case.
    public static func limitedConcurrency(timeLimit: Duration) -> Self {
        Self(computes: false, timeLimit: timeLimit)
    }
}
