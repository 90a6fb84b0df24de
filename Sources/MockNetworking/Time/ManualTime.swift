public import Foundation
public import Networking
import Synchronization

/// A time source that stands still until a test advances it, so that tests never really sleep.
///
/// ```swift
/// let time = ManualTime()
/// // A client with `time.timeSource` backs off after a failure.
/// let call = Task { try await client.makeRequest(request) }
/// try await time.waitForSleepers(count: 1)
/// time.advance(by: .seconds(2))
/// ```
///
/// The monotonic and the wall clock advance together. ``setDate(_:)`` changes only the wall clock,
/// like an administrator.
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

    /// Creates a time source that stands still.
    ///
    /// - Parameters:
    ///   - date: The initial date of the wall clock. The default is 2001-09-09T01:46:40Z.
    ///   - advancesWhenSleeping: Whether a sleep advances the time itself and returns at once, for
    ///     code with one sleep after the other. The default is `false`.
    public init(date: Date = Date(timeIntervalSince1970: 1_000_000_000), advancesWhenSleeping: Bool = false) {
        state = Mutex(State(now: .now, date: date))
        self.advancesWhenSleeping = advancesWhenSleeping
    }

    /// The time source to pass to the tested code.
    public var timeSource: TimeSource {
        TimeSource(now: { self.now }, date: { self.date }, sleep: { try await self.sleep(for: $0) })
    }

    /// The current time of the monotonic clock.
    public var now: ContinuousClock.Instant { state.withLock { $0.now } }

    /// The current date of the wall clock.
    public var date: Date { state.withLock { $0.date } }

    /// The durations of all sleeps so far, including canceled ones, in the order of their start.
    package var sleeps: [Duration] { state.withLock { $0.sleeps } }

    package var sleeperCount: Int { sleeping.value }

    /// Advances both clocks and wakes the tasks that are due, the earliest first.
    ///
    /// The tasks resume in that order, but then run concurrently. A task that sleeps again sleeps
    /// relative to the new time.
    ///
    /// - Parameter duration: The duration. A negative one has no effect.
    public func advance(by duration: Duration) {
        wake {
            guard duration > .zero else { return }
            $0.move(by: duration)
        }
    }

    /// Wakes the next task, and returns the duration of the advance, or `nil` if none wakes within
    /// the limit.
    @discardableResult
    package func advanceToNextSleeper(within limit: Duration? = nil) -> Duration? {
        wake { state -> Duration? in
            guard let next = state.sleepers.values.map(\.wakes).min() else { return nil }
            let distance = next - state.now
            if let limit, distance > limit { return nil }
            state.move(by: distance)
            return distance
        }
    }

    /// Sets the wall clock without affecting the monotonic clock or waking tasks.
    ///
    /// - Parameter date: The new date.
    public func setDate(_ date: Date) { state.withLock { $0.date = date } }

    /// Waits until at least the given number of tasks are sleeping.
    ///
    /// - Parameter count: The number of tasks.
    /// - Throws: `CancellationError` at once when the task is canceled.
    public func waitForSleepers(count: Int) async throws { try await sleeping.wait { $0 >= count } }

    /// Sleeps until the time has advanced far enough.
    ///
    /// - Parameter duration: The duration. With zero or less, this returns at once.
    /// - Throws: `CancellationError` at once when the task is canceled.
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
                // Checked under the lock: an earlier cancellation is detected here, and a later one
                // finds the sleeper.
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

    /// Ends all current and future sleeps with `CancellationError`, so that no task waits for a
    /// time that never comes.
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

    private func countSleepers() { sleeping.update { $0 = state.withLock { $0.sleepers.count } } }
}
