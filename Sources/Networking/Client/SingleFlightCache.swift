import Foundation
import Synchronization

/// A cache of results of asynchronous work, by key: however many callers need a result, the work runs once.
///
/// The work is a ``SharedTask``, so no caller's cancellation or deadline ends it. A cache that keeps nothing shares the
/// work alone; its owner decides when work starts.
package final class SingleFlightCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The rules for what is kept.
    package struct Policy: Sendable {
        /// Returns how long a value is fresh; zero by default, so that no value is kept.
        package var lifetime: @Sendable (Value) -> Duration = { _ in .zero }
        /// How long after that a value is used while the work fails.
        package var staleLifetime = Duration.zero
        /// Returns how long a failure delays the next attempt while there is a stale value; `nil` for a failure that
        /// stale values don't help against.
        package var retryInterval: @Sendable (any Error) -> Duration? = { _ in nil }
        /// The maximum number of values of each kind; the one that was used longest ago makes room.
        package var capacity = 1_000
        /// Returns the kind of a value: values don't displace those of other kinds.
        package var kind: @Sendable (Value) -> Bool = { _ in true }
        /// The maximum duration of the work; `nil` for work that has its own limits.
        package var timeout: Duration?
        /// Returns the reason for a timeout, if it is known.
        package var timeoutCause: (@Sendable () -> (any Error)?)?

        /// Makes a policy that keeps nothing.
        ///
        /// - Parameter timeout: The maximum duration of the work.
        package init(timeout: Duration? = nil) {
            self.timeout = timeout
        }
    }

    private struct Entry {
        let value: Value
        let kind: Bool
        var freshUntil: ContinuousClock.Instant
        /// The time before which no caller asks again after a failure.
        var nextAttempt: ContinuousClock.Instant?
        /// The number of the latest use.
        var used: UInt64
    }

    private enum Step {
        case use(Value)
        case join(SharedTask<Value>)
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        /// The work under way; its number tells it from earlier work that ends late.
        var tasks: [Key: (number: UInt64, task: SharedTask<Value>)] = [:]
        /// Counts uses and tasks.
        var uses: UInt64 = 0

        mutating func next() -> UInt64 {
            uses += 1
            return uses
        }
    }

    private let policy: Policy
    private let timeSource: TimeSource
    private let state = Mutex(State())

    /// Makes an empty cache.
    ///
    /// - Parameters:
    ///   - timeSource: The source of time.
    ///   - policy: The rules for what is kept.
    package init(timeSource: TimeSource, policy: Policy = Policy()) {
        self.timeSource = timeSource
        self.policy = policy
    }

    /// The number of values that are kept.
    package var count: Int { state.withLock { $0.entries.count } }

    /// Returns the value that is kept, or waits for work that makes it.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - deadline: When this caller stops waiting.
    ///   - work: The work, if none is under way.
    /// - Returns: The value; a stale one if the work has failed and the policy allows it.
    /// - Throws: What the work throws, and what ``SharedTask/value(until:)`` throws.
    package func value(
        for key: Key,
        until deadline: ContinuousClock.Instant? = nil,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let now = timeSource.now()
        // One lock for both: a result must not come in between.
        let step: Step = state.withLock { state in
            if let value = kept(key, at: now, in: &state) { return .use(value) }
            if state.tasks[key]?.task.isOver == true { state.tasks[key] = nil }
            return .join(task(for: key, in: &state, work))
        }
        switch step {
        case .use(let value): return value
        case .join(let task): return try await task.value(until: deadline)
        }
    }

    /// Joins the work for a key or starts it, whatever is kept.
    ///
    /// Work that has timed out and still runs is joined, too.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - work: The work, if none is under way.
    /// - Returns: The work.
    package func task(
        for key: Key,
        _ work: @escaping @Sendable () async throws -> Value
    ) -> SharedTask<Value> {
        state.withLock { task(for: key, in: &$0, work) }
    }

    /// Returns the value that is kept, if it can be used without asking.
    ///
    /// - Parameter key: The key.
    /// - Returns: The value.
    package func kept(_ key: Key) -> Value? {
        let now = timeSource.now()
        return state.withLock { kept(key, at: now, in: &$0) }
    }

    /// Keeps a value in place of what work for the key under way makes.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The key.
    package func keep(_ value: Value, for key: Key) {
        let (now, lifetime) = (timeSource.now(), policy.lifetime(value))
        state.withLock { state in
            state.tasks[key] = nil
            keep(value, for: key, lifetime: lifetime, at: now, in: &state)
        }
    }

    /// Forgets a key; work under way is for those who wait for it already.
    ///
    /// - Parameter key: The key.
    package func remove(_ key: Key) {
        state.withLock { state in
            state.entries[key] = nil
            state.tasks[key] = nil
        }
    }

    /// Forgets a value that is kept, if it is still the one that is meant.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - predicate: Returns whether the value is meant.
    package func remove(_ key: Key, if predicate: (Value) -> Bool) {
        state.withLock { state in
            if let entry = state.entries[key], predicate(entry.value) { state.entries[key] = nil }
        }
    }

    /// Makes the next caller start the work; a stale value remains in case it fails.
    ///
    /// - Parameter key: The key.
    package func expire(_ key: Key) {
        let now = timeSource.now()
        state.withLock { state in
            guard let entry = state.entries[key] else { return }
            state.entries[key]?.freshUntil = min(entry.freshUntil, now)
            state.entries[key]?.nextAttempt = nil
        }
    }

    /// Detaches all work that is under way: no caller joins it, and its results aren't kept.
    ///
    /// - Returns: The work, for the caller to abandon.
    package func removeTasks() -> [SharedTask<Value>] {
        state.withLock { state in
            defer { state.tasks = [:] }
            return state.tasks.values.map(\.task)
        }
    }

    private func kept(_ key: Key, at now: ContinuousClock.Instant, in state: inout State) -> Value? {
        guard let entry = state.entries[key] else { return nil }
        let isStale = now >= entry.freshUntil
        guard !isStale || now < entry.freshUntil + policy.staleLifetime else {
            state.entries[key] = nil
            return nil
        }
        guard !isStale || entry.nextAttempt.map({ now < $0 }) ?? false else { return nil }
        let use = state.next()
        state.entries[key]?.used = use
        return entry.value
    }

    private func task(
        for key: Key,
        in state: inout State,
        _ work: @escaping @Sendable () async throws -> Value
    ) -> SharedTask<Value> {
        if let running = state.tasks[key]?.task { return running }
        let number = state.next()
        let task = SharedTask(
            timeout: policy.timeout,
            timeSource: timeSource,
            timeoutCause: policy.timeoutCause
        ) { [self] in
            do {
                let value = try await work()
                end(key, number, with: value)
                return value
            } catch {
                guard let stale = end(key, number, with: error) else { throw error }
                return stale
            }
        }
        state.tasks[key] = (number, task)
        return task
    }

    private func end(_ key: Key, _ number: UInt64, with value: Value) {
        let (now, lifetime) = (timeSource.now(), policy.lifetime(value))
        state.withLock { state in
            guard state.tasks[key]?.number == number else { return }
            state.tasks[key] = nil
            keep(value, for: key, lifetime: lifetime, at: now, in: &state)
        }
    }

    /// - Returns: The value that is used in spite of the error.
    private func end(_ key: Key, _ number: UInt64, with error: any Error) -> Value? {
        let now = timeSource.now()
        let pause = policy.retryInterval(error)
        return state.withLock { state in
            guard state.tasks[key]?.number == number else { return nil }
            state.tasks[key] = nil
            guard let pause, let entry = state.entries[key], now < entry.freshUntil + policy.staleLifetime else {
                return nil
            }
            state.entries[key]?.nextAttempt = now + pause
            return entry.value
        }
    }

    private func keep(
        _ value: Value,
        for key: Key,
        lifetime: Duration,
        at now: ContinuousClock.Instant,
        in state: inout State
    ) {
        state.entries[key] = nil
        guard lifetime + policy.staleLifetime > .zero, policy.capacity > 0 else { return }
        let kind = policy.kind(value)
        if state.entries.count >= policy.capacity {
            let others = state.entries.lazy.filter { $0.value.kind == kind }
            if others.count >= policy.capacity {
                let oldest = others.min { left, right in
                    (left.value.freshUntil > now ? left.value.used : 0)
                        < (right.value.freshUntil > now ? right.value.used : 0)
                }
                if let oldest { state.entries[oldest.key] = nil }
            }
        }
        state.entries[key] = Entry(value: value, kind: kind, freshUntil: now + lifetime, used: state.next())
    }
}
