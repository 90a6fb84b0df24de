import Foundation
import Synchronization

/// A cache of results of asynchronous work that runs the work once per key for all callers.
///
/// The work is a ``SharedTask``, so no caller's cancellation or deadline ends it. A cache whose
/// policy stores nothing only shares the work, and its owner decides when to start it.
package final class SingleFlightCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The work for a key, given its latest value, which may have expired.
    package typealias Work = @Sendable (_ latest: Value?) async throws -> Value

    package struct Policy: Sendable {
        /// Returns the time for which a value is fresh; the default is zero, which stores no value.
        package var lifetime: @Sendable (Value) -> Duration = { _ in .zero }
        /// The work that runs in the background from some time before the end of the lifetime, at
        /// most half of it, while callers use the value; `nil` if they wait from the end.
        package var refresh: (ahead: Duration, work: Work)?
        /// The time for which an expired value is used if the work fails.
        package var staleLifetime = Duration.zero
        /// Returns the pause after a failure, numbered from 1, during which the stale value is
        /// used; `nil` if the failure must be reported despite a stale value.
        package var pause: @Sendable (any Error, _ number: Int) -> Duration? = { _, _ in nil }
        /// The minimum time between a success and work for callers that need another value.
        package var cooldown = Duration.zero
        /// A Boolean value that indicates whether the latest outcome is kept: a failure is thrown
        /// during its pause, and an expired value is available to the work.
        package var keepsOutcomes = false
        /// The maximum number of values of each kind, and of keys without a value; the least
        /// recently used one is evicted.
        package var capacity = 1_000
        /// Returns the kind of a value; a value evicts only values of its kind.
        package var kind: @Sendable (Value) -> Bool = { _ in true }
        /// The maximum duration of the work; `nil` for work that has its own limits.
        package var timeout: Duration?
        /// Returns the error to throw for a timeout.
        package var timeoutError: @Sendable (NetworkError) -> any Error = { $0 }

        /// Creates a policy that stores nothing.
        package init(timeout: Duration? = nil) {
            self.timeout = timeout
        }
    }

    /// The latest outcome for a key, which decides what its callers do.
    package struct Entry {
        package enum Step {
            case use(Value)
            /// Use this value, and start the work in the background.
            case useAndStart(Value)
            /// Wait for the work, and start it unless it's running.
            case wait
            case fail(any Error)
        }

        package private(set) var value: Value?
        /// The error of the latest work, if there's a pause after it.
        package private(set) var failure: (any Error)?
        private var failureCount = 0
        private var aheadFrom: ContinuousClock.Instant
        private var freshUntil: ContinuousClock.Instant
        /// The earliest time of the next work after a failure, or for callers that need another
        /// value.
        private var pausedUntil: ContinuousClock.Instant
        fileprivate var kind: Bool?

        /// Creates an entry without an outcome.
        package init(at now: ContinuousClock.Instant) {
            (aheadFrom, freshUntil, pausedUntil) = (now, now, now)
        }

        package init(_ value: Value, lifetime: Duration, at now: ContinuousClock.Instant, _ policy: Policy) {
            self.value = value
            kind = policy.kind(value)
            freshUntil = now + lifetime
            aheadFrom = freshUntil - min(policy.refresh?.ahead ?? .zero, lifetime / 2)
            pausedUntil = now + policy.cooldown
        }

        package func isStale(at now: ContinuousClock.Instant) -> Bool { value != nil && now >= freshUntil }

        package func step(
            at now: ContinuousClock.Instant,
            isRunning: @autoclosure () -> Bool,
            _ policy: Policy
        ) -> Step {
            guard let value, now < freshUntil + policy.staleLifetime else {
                guard policy.keepsOutcomes, !isRunning(), now < pausedUntil, let failure else { return .wait }
                return .fail(failure)
            }
            if now < aheadFrom { return .use(value) }
            if failure == nil, now >= freshUntil { return .wait }
            if failure != nil, now < pausedUntil { return .use(value) }
            guard policy.refresh != nil else { return .wait }
            return isRunning() ? .use(value) : .useAndStart(value)
        }

        /// For a caller that needs another value than an outdated one.
        package func step(
            at now: ContinuousClock.Instant,
            isRunning: Bool,
            unless isOutdated: (Value) -> Bool
        ) -> Step {
            if let value, !isOutdated(value) { return .use(value) }
            guard !isRunning, now < pausedUntil else { return .wait }
            if let failure { return .fail(failure) }
            return value.map(Step.use) ?? .wait
        }

        package mutating func fail(_ error: any Error, at now: ContinuousClock.Instant, _ policy: Policy) {
            guard let pause = policy.pause(error, failureCount + 1) else {
                (failure, failureCount) = (nil, 0)
                return
            }
            (failure, failureCount) = (error, failureCount + 1)
            pausedUntil = now + pause
        }

        /// Returns the value to use although its callers waited for work that failed.
        fileprivate func spare(at now: ContinuousClock.Instant, _ policy: Policy) -> Value? {
            now < (failure == nil ? freshUntil : freshUntil + policy.staleLifetime) ? value : nil
        }

        fileprivate mutating func expire(at now: ContinuousClock.Instant) {
            freshUntil = min(freshUntil, now)
            aheadFrom = min(aheadFrom, now)
            pausedUntil = min(pausedUntil, now)
        }
    }

    /// An object, because an access for writing to a dictionary allocates.
    private final class Slot {
        var entry: Entry
        var used: UInt64

        init(_ entry: Entry, used: UInt64) {
            (self.entry, self.used) = (entry, used)
        }

        /// The order of eviction.
        func rank(at now: ContinuousClock.Instant) -> (Int, UInt64) { (entry.isStale(at: now) ? 0 : 1, used) }
    }

    private enum Answer {
        case use(Value)
        case join(SharedTask<Value>)
        case fail(any Error)
    }

    private struct State {
        var slots: [Key: Slot] = [:]
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

    package var count: Int { state.withLock { $0.slots.count { $0.value.entry.value != nil } } }

    /// Returns the latest outcome for a key, even an expired one.
    package func entry(_ key: Key) -> Entry? { state.withLock { $0.slots[key]?.entry } }

    /// Returns the cached value, or the result of running work or of the given work; a stale value
    /// if the work fails and the policy allows it.
    ///
    /// A caller that can't use a certain value passes a predicate. It gets another value, the same
    /// one if it's too early for work, or the work's failure.
    ///
    /// - Throws: What the work throws, and what ``SharedTask/value(until:)`` throws.
    package func value(
        for key: Key,
        unless isOutdated: ((Value) -> Bool)? = nil,
        until deadline: ContinuousClock.Instant? = nil,
        _ work: @escaping Work
    ) async throws -> Value {
        let now = timeSource.now()
        // One critical section for all, so that no result can arrive in between.
        let answer: Answer = state.withLock { state in
            let slot = state.slots[key]
            let entry = slot?.entry ?? Entry(at: now)
            let step =
                if let isOutdated {
                    entry.step(at: now, isRunning: state.tasks[key] != nil, unless: isOutdated)
                } else {
                    entry.step(at: now, isRunning: state.tasks[key] != nil, policy)
                }
            if let slot, let value = value(for: key, in: slot, after: step, &state) { return .use(value) }
            if case .fail(let error) = step { return .fail(error) }
            return .join(task(for: key, in: &state, work))
        }
        switch answer {
        case .use(let value): return value
        case .fail(let error): throw error
        case .join(let task):
            do { return try await task.value(until: deadline) } catch {
                // Unless the task is over, only the caller has stopped waiting.
                let end = timeSource.now()
                guard task.isOver, isOutdated == nil,
                    let value = state.withLock({ $0.slots[key]?.entry.spare(at: end, policy) })
                else { throw error }
                return value
            }
        }
    }

    /// Returns the cached value if it can be used without waiting, and starts the policy's work if
    /// it's due.
    package func kept(_ key: Key) -> Value? {
        let now = timeSource.now()
        return state.withLock { state in
            guard let slot = state.slots[key] else { return nil }
            let step = slot.entry.step(at: now, isRunning: state.tasks[key] != nil, policy)
            return value(for: key, in: slot, after: step, &state)
        }
    }

    /// Joins or starts the work for a key, even if a value is cached.
    package func task(for key: Key, _ work: @escaping Work) -> SharedTask<Value> {
        state.withLock { task(for: key, in: &$0, work) }
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
            state.slots[key] = nil
            state.tasks[key] = nil
        }
    }

    /// Removes a cached value if it satisfies a predicate.
    package func remove(_ key: Key, if predicate: (Value) -> Bool) {
        state.withLock { state in
            if let value = state.slots[key]?.entry.value, predicate(value) { state.slots[key] = nil }
        }
    }

    /// Makes the next caller start the work; the stale value stays available if the work fails.
    package func expire(_ key: Key) {
        let now = timeSource.now()
        state.withLock { $0.slots[key]?.entry.expire(at: now) }
    }

    /// Detaches and returns all running work, for the caller to abandon: no caller joins it, and
    /// its results aren't cached.
    package func removeTasks() -> [SharedTask<Value>] {
        state.withLock { state in
            defer { state.tasks = [:] }
            return state.tasks.values.map(\.task)
        }
    }

    /// Returns the value to use without waiting.
    private func value(for key: Key, in slot: Slot, after step: Entry.Step, _ state: inout State) -> Value? {
        switch step {
        case .use(let value), .useAndStart(let value):
            slot.used = state.next()
            if case .useAndStart = step, let work = policy.refresh?.work { _ = task(for: key, in: &state, work) }
            return value
        case .wait, .fail: return nil
        }
    }

    private func task(for key: Key, in state: inout State, _ work: @escaping Work) -> SharedTask<Value> {
        if let running = state.tasks[key]?.task { return running }
        let (number, latest) = (state.next(), state.slots[key]?.entry.value)
        let task = SharedTask(
            timeout: policy.timeout,
            timeSource: timeSource,
            timeoutError: { [self] error in end(key, number, with: policy.timeoutError(error)) }
        ) { [self] in
            do {
                let value = try await work(latest)
                end(key, number, with: value)
                return value
            } catch {
                throw end(key, number, with: error)
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

    /// - Returns: The error.
    private func end(_ key: Key, _ number: UInt64, with error: any Error) -> any Error {
        let now = timeSource.now()
        state.withLock { state in
            guard state.tasks[key]?.number == number else { return }
            state.tasks[key] = nil
            guard var entry = state.slots[key]?.entry ?? (policy.keepsOutcomes ? Entry(at: now) : nil) else { return }
            entry.fail(error, at: now, policy)
            insert(entry, for: key, at: now, in: &state)
        }
        return error
    }

    private func keep(
        _ value: Value,
        for key: Key,
        lifetime: Duration,
        at now: ContinuousClock.Instant,
        in state: inout State
    ) {
        state.slots[key] = nil
        guard lifetime + policy.staleLifetime > .zero || policy.keepsOutcomes else { return }
        insert(Entry(value, lifetime: lifetime, at: now, policy), for: key, at: now, in: &state)
    }

    private func insert(_ entry: Entry, for key: Key, at now: ContinuousClock.Instant, in state: inout State) {
        guard policy.capacity > 0 else { return }
        if state.slots[key] == nil, state.slots.count >= policy.capacity {
            let others = state.slots.lazy.filter { $0.value.entry.kind == entry.kind }
            if others.count >= policy.capacity,
                let oldest = others.min(by: { $0.value.rank(at: now) < $1.value.rank(at: now) })
            {
                state.slots[oldest.key] = nil
            }
        }
        state.slots[key] = Slot(entry, used: state.next())
    }
}
