public import Foundation
public import Networking
import Synchronization

/// A source of time that stands still until a test moves it, so that nothing in a test sleeps for real.
///
/// ```swift
/// let time = ManualTime()
/// let call = Task { try await client.makeRequest(request) }   // a client with time.timeSource
/// try await time.waitForSleepers(count: 1)                    // it backs off after a failure
/// time.advance(by: .seconds(2))
/// ```
///
/// The monotonic and the wall clock move together; ``setDate(_:)`` moves the wall clock alone, as an administrator does.
public final class ManualTime: Sendable {
    private struct Sleeper: Sendable {
        let wakes: ContinuousClock.Instant
        let order: UInt64
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now: ContinuousClock.Instant
        var date: Date
        var sleepers: [UInt64: Sleeper] = [:]
        var nextOrder: UInt64 = 0
        var sleeps: [Duration] = []
        var isOver = false

        mutating func move(by duration: Duration) {
            now = now.advanced(by: duration)
            date += duration / .seconds(1)
        }
    }

    private let state: Mutex<State>
    private let sleeping = Watched(0)
    private let advancesWhenSleeping: Bool

    /// Makes a source of time that stands still.
    ///
    /// - Parameters:
    ///   - date: The wall-clock time at which it starts. 2001-09-09T01:46:40Z by default.
    ///   - advancesWhenSleeping: Whether a sleep moves the time itself and returns at once, for code that sleeps one
    ///     time after the other. No by default.
    public init(date: Date = Date(timeIntervalSince1970: 1_000_000_000), advancesWhenSleeping: Bool = false) {
        state = Mutex(State(now: .now, date: date))
        self.advancesWhenSleeping = advancesWhenSleeping
    }

    /// The source of time for what is tested.
    public var timeSource: TimeSource {
        TimeSource(now: { self.now }, date: { self.date }, sleep: { try await self.sleep(for: $0) })
    }

    /// The monotonic time.
    public var now: ContinuousClock.Instant { state.withLock { $0.now } }

    /// The wall-clock time.
    public var date: Date { state.withLock { $0.date } }

    /// The durations of all sleeps so far, in the order in which they began; cancelled ones count.
    package var sleeps: [Duration] { state.withLock { $0.sleeps } }

    /// How many tasks sleep.
    package var sleeperCount: Int { sleeping.value }

    /// Moves both clocks and wakes those whose time has come, the earliest first.
    ///
    /// They are resumed in that order, and then run as concurrently as they like.
    /// A task that sleeps again sleeps from the new time on.
    ///
    /// - Parameter duration: How far; a negative one does nothing.
    public func advance(by duration: Duration) {
        wake {
            guard duration > .zero else { return }
            $0.move(by: duration)
        }
    }

    /// Moves both clocks to the moment at which the next sleeper wakes, and wakes it.
    ///
    /// - Returns: How far they were moved; `nil` if nobody sleeps.
    @discardableResult
    package func advanceToNextSleeper() -> Duration? {
        wake { state -> Duration? in
            guard let next = state.sleepers.values.map(\.wakes).min() else { return nil }
            let distance = next - state.now
            state.move(by: distance)
            return distance
        }
    }

    /// Sets the wall clock without moving the monotonic one or waking anyone.
    ///
    /// - Parameter date: The new wall-clock time.
    public func setDate(_ date: Date) {
        state.withLock { $0.date = date }
    }

    /// Waits until at least so many tasks sleep.
    ///
    /// - Parameter count: The number of tasks.
    /// - Throws: `CancellationError` at once when the task is cancelled.
    public func waitForSleepers(count: Int) async throws {
        try await sleeping.wait { $0 >= count }
    }

    /// Sleeps until the time has been moved far enough.
    ///
    /// - Parameter duration: How long; zero or less doesn't sleep.
    /// - Throws: `CancellationError` at once when the task is cancelled.
    public func sleep(for duration: Duration) async throws {
        let order = state.withLock { state in
            state.sleeps.append(duration)
            state.nextOrder += 1
            return state.nextOrder
        }
        try Task.checkCancellation()
        guard duration > .zero else { return }
        if advancesWhenSleeping { return advance(by: duration) }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // Read under the lock: a cancellation before this moment is seen here, a later one finds the sleeper.
                let isCancelled = state.withLock { state in
                    if Task.isCancelled || state.isOver { return true }
                    let sleeper = Sleeper(
                        wakes: state.now.advanced(by: duration),
                        order: order,
                        continuation: continuation
                    )
                    state.sleepers[order] = sleeper
                    return false
                }
                if isCancelled { return continuation.resume(throwing: CancellationError()) }
                countSleepers()
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: order) }
            countSleepers()
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Ends every sleep, present and future, with `CancellationError`, so that no task waits for a time that nobody moves any more.
    package func end() {
        let sleepers = state.withLock { state in
            state.isOver = true
            defer { state.sleepers = [:] }
            return state.sleepers.values
        }
        countSleepers()
        for sleeper in sleepers { sleeper.continuation.resume(throwing: CancellationError()) }
    }

    private func wake<Result: Sendable>(_ change: (inout State) -> Result) -> Result {
        let (result, ready) = state.withLock { state in
            let result = change(&state)
            let ready = state.sleepers.values.filter { $0.wakes <= state.now }
            for sleeper in ready { state.sleepers[sleeper.order] = nil }
            return (result, ready.sorted { ($0.wakes, $0.order) < ($1.wakes, $1.order) })
        }
        countSleepers()
        for sleeper in ready { sleeper.continuation.resume() }
        return result
    }

    private func countSleepers() {
        sleeping.update { $0 = state.withLock { $0.sleepers.count } }
    }
}
