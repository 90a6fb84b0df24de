public import Foundation

/// Where time comes from and how waiting is done; replaced in tests so that they need not wait.
public struct TimeSource: Sendable {
    /// The monotonic time, which also advances while the machine is suspended; deadlines and lifetimes use it.
    public var now: @Sendable () -> ContinuousClock.Instant
    /// The wall-clock time; only what is written into tokens uses it.
    public var date: @Sendable () -> Date
    /// Waits for a duration; throws `CancellationError` at once when the task is cancelled.
    public var sleep: @Sendable (Duration) async throws -> Void

    /// Makes a source of time.
    ///
    /// - Parameters:
    ///   - now: The monotonic time.
    ///   - date: The wall-clock time.
    ///   - sleep: Waits for a duration and throws when the task is cancelled.
    public init(
        now: @escaping @Sendable () -> ContinuousClock.Instant,
        date: @escaping @Sendable () -> Date,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.now = now
        self.date = date
        self.sleep = sleep
    }

    /// The machine's clocks.
    public static let system = TimeSource(
        now: { ContinuousClock.now },
        date: { Date() },
        sleep: { try await Task.sleep(for: $0, clock: .continuous) }
    )
}
