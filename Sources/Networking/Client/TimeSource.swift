public import Foundation

/// The clocks and the sleep function of a client; tests replace them to run without waiting.
public struct TimeSource: Sendable {
    /// Returns the monotonic time for deadlines and lifetimes.
    ///
    /// It also advances during system suspend.
    public var now: @Sendable () -> ContinuousClock.Instant
    /// Returns the wall-clock time, which only tokens' claims use.
    public var date: @Sendable () -> Date
    /// Waits for a duration; throws `CancellationError` at once if the task is cancelled.
    public var sleep: @Sendable (Duration) async throws -> Void

    /// Creates a source of time.
    ///
    /// - Parameters:
    ///   - now: Returns the monotonic time.
    ///   - date: Returns the wall-clock time.
    ///   - sleep: Waits for a duration. Throws `CancellationError` if the task is cancelled.
    public init(
        now: @escaping @Sendable () -> ContinuousClock.Instant,
        date: @escaping @Sendable () -> Date,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.now = now
        self.date = date
        self.sleep = sleep
    }

    /// The system's clocks.
    public static let system = TimeSource(
        now: { ContinuousClock.now },
        date: { Date() },
        sleep: { try await Task.sleep(for: $0, clock: .continuous) }
    )
}
