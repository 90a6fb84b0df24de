import Foundation
import Synchronization

/// A cache of results of asynchronous work that runs the work once per key for all callers.
///
/// The work is a ``SharedTask``, so no caller's cancellation or deadline ends it. A cache whose
/// policy stores nothing only shares the work, and its owner decides when to start it.
package final class SingleFlightCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The caching rules.
    package struct Policy: Sendable {
        /// Returns the time for which a value is fresh; the default is zero, which stores no value.
        package var lifetime: @Sendable (Value) -> Duration = { _ in .zero }
        /// The time for which an expired value is still used if the work fails.
        package var staleLifetime = Duration.zero
        /// Returns the pause before the next attempt after a failure, during which the stale value
        /// is used; `nil` if the failure must be reported despite a stale value.
        package var retryInterval: @Sendable (any Error) -> Duration? = { _ in nil }
        /// The maximum number of values of each kind; the least recently used value is evicted.
        package var capacity = 1_000
        /// Returns the kind of a value; a value evicts only values of its kind.
        package var kind: @Sendable (Value) -> Bool = { _ in true }
        /// The maximum duration of the work; `nil` for work that has its own limits.
        package var timeout: Duration?
        /// Returns the cause of a timeout, if known.
        package var timeoutCause: (@Sendable () -> (any Error)?)?

        /// Creates a policy that stores nothing.
        package init(timeout: Duration? = nil) {
            self.timeout = timeout
        }
    }

    private struct Entry {
        let value: Value
        let kind: Bool
        var freshUntil: ContinuousClock.Instant
        /// The earliest time of the next attempt after a failure.
        var nextAttempt: ContinuousClock.Instant?
        var used: UInt64
    }

    private enum Step {
        case use(Value)
        case join(SharedTask<Value>)
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        /// The running work; the number tells it from earlier work that ends late.
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

    package init(timeSource: TimeSource, policy: Policy = Policy()) {
        self.timeSource = timeSource
        self.policy = policy
    }

    package var count: Int { state.withLock { $0.entries.count } }

    /// Returns the cached value, or the result of running work or of the given work; a stale value
    /// if the work fails and the policy allows it.
    ///
    /// - Throws: What the work throws, and what ``SharedTask/value(until:)`` throws.
    package func value(
        for key: Key,
        until deadline: ContinuousClock.Instant? = nil,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let now = timeSource.now()
        // One critical section for both, so that no result can arrive in between.
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

    /// Joins or starts the work for a key, even if a value is cached.
    ///
    /// Work that has timed out but is still running is joined, too.
    package func task(
        for key: Key,
        _ work: @escaping @Sendable () async throws -> Value
    ) -> SharedTask<Value> {
        state.withLock { task(for: key, in: &$0, work) }
    }

    /// Returns the cached value if it can be used without work.
    package func kept(_ key: Key) -> Value? {
        let now = timeSource.now()
        return state.withLock { kept(key, at: now, in: &$0) }
    }

    /// Stores a value; the result of running work for the key is ignored.
    package func keep(_ value: Value, for key: Key) {
        let (now, lifetime) = (timeSource.now(), policy.lifetime(value))
        state.withLock { state in
            state.tasks[key] = nil
            keep(value, for: key, lifetime: lifetime, at: now, in: &state)
        }
    }

    /// Removes a key; running work continues only for callers that already wait for it.
    package func remove(_ key: Key) {
        state.withLock { state in
            state.entries[key] = nil
            state.tasks[key] = nil
        }
    }

    /// Removes a cached value if it satisfies a predicate.
    package func remove(_ key: Key, if predicate: (Value) -> Bool) {
        state.withLock { state in
            if let entry = state.entries[key], predicate(entry.value) { state.entries[key] = nil }
        }
    }

    /// Makes the next caller start the work; the stale value stays available if the work fails.
    package func expire(_ key: Key) {
        let now = timeSource.now()
        state.withLock { state in
            guard let entry = state.entries[key] else { return }
            state.entries[key]?.freshUntil = min(entry.freshUntil, now)
            state.entries[key]?.nextAttempt = nil
        }
    }

    /// Detaches and returns all running work, for the caller to abandon: no caller joins it, and
    /// its results aren't cached.
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

    /// - Returns: The stale value to use despite the error.
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
