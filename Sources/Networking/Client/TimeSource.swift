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
    public init(
        now: @escaping @Sendable () -> ContinuousClock.Instant,
        date: @escaping @Sendable () -> Date,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.now = now
        self.date = date
        self.sleep = sleep
    }

    package var moment: Moment { Moment(now()) }

    /// The system's clocks.
    public static let system = TimeSource(
        now: { ContinuousClock.now },
        date: { Date() },
        sleep: { try await Task.sleep(for: min($0, Duration.tenYears), clock: .continuous) }
    )
}

extension Duration {
    /// The longest duration that is waited for or stored: clocks and sums trap on much longer ones.
    package static let tenYears = Duration.seconds(86_400 * 3_650)
}

/// An instant of the continuous clock, as a value whose layout the compiler knows.
///
/// A copy of a `ContinuousClock.Instant` is a call into the standard library, and so is a copy of
/// any type that contains one.
package struct Moment: Comparable, Sendable {
    private static let origin = ContinuousClock.now

    private let offset: Duration

    package init(_ instant: ContinuousClock.Instant) { self.init(offset: Self.origin.duration(to: instant)) }

    private init(offset: Duration) { self.offset = offset }

    package static var now: Self { Self(ContinuousClock.now) }
    package var instant: ContinuousClock.Instant { Self.origin + offset }

    package static func < (left: Self, right: Self) -> Bool { left.offset < right.offset }
    package static func + (moment: Self, duration: Duration) -> Self { Self(offset: moment.offset + duration) }
    package static func - (moment: Self, duration: Duration) -> Self { Self(offset: moment.offset - duration) }
    package static func - (end: Self, start: Self) -> Duration { end.offset - start.offset }
}
