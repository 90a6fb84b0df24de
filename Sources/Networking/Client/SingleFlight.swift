import Foundation
import Synchronization

/// A cache of results of asynchronous work that runs the work once per key for all callers.
///
/// The work is a ``SharedTask``, so no caller's cancellation or deadline ends it. A cache whose
/// policy stores nothing only shares the work, and its owner decides when to start it.
package final class SingleFlightCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    package struct Policy: Sendable {
        /// Returns the time for which a value is fresh; the default is zero, which stores no value.
        package var lifetime: @Sendable (Value) -> Duration = { _ in .zero }
        /// The time for which an expired value is used if the work fails.
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

/// An asynchronous operation whose result many callers await.
///
/// The work runs in its own task. It continues when callers stop waiting, and isn't affected by
/// their cancellation or priority. A caller that is cancelled or reaches its deadline stops waiting
/// at once. A waiter for a plain `Task` would stay blocked until that task ends.
package final class SharedTask<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var waiters: [Int: CheckedContinuation<Value, any Error>] = [:]
        /// The errors of waiters that stopped waiting before they had a continuation.
        var abandoned: [Int: any Error] = [:]
        var nextWaiter = 0
    }

    private let state = Mutex(State())
    private let timeSource: TimeSource

    /// Starts the work.
    ///
    /// - Parameters:
    ///   - timeout: The maximum duration of the work. Afterwards the work is cancelled and fails
    ///     with `timedOut`. Pass `nil` for work that has its own limits.
    ///   - timeSource: The clocks.
    ///   - timeoutCause: Returns the timeout's cause, if known. Called before the cancellation.
    ///   - work: The work. A result after the timeout is dropped.
    package init(
        timeout: Duration?,
        timeSource: TimeSource,
        timeoutCause: (@Sendable () -> (any Error)?)? = nil,
        _ work: @escaping @Sendable () async throws -> Value
    ) {
        self.timeSource = timeSource
        // Detached from the first caller's task-local values and priority.
        let working = Task.detached { [self] in
            do { finish(.success(try await work())) } catch { finish(.failure(error)) }
        }
        guard let timeout else { return }
        let timer = Task.detached { [self] in
            do { try await timeSource.sleep(timeout) } catch { return }
            let message = "the shared work didn't finish within \(timeout)"
            if let cause = timeoutCause?() {
                finish(.failure(NetworkError(.timedOut, message, cause: cause)))
            } else {
                finish(.failure(NetworkError(.credential, .preparing, message)))
            }
            working.cancel()
        }
        Task.detached {
            await working.value
            timer.cancel()
        }
    }

    /// A Boolean value that indicates whether the work has ended; don't join a task that is over.
    package var isOver: Bool { state.withLock { $0.result != nil } }

    /// Waits for the result.
    ///
    /// - Parameter deadline: The time at which the caller stops waiting.
    /// - Returns: The result of the work.
    /// - Throws: What the work threw; `CancellationError` if the caller was cancelled;
    ///   ``NetworkError`` with the code `timedOut` at the deadline.
    package func value(until deadline: ContinuousClock.Instant? = nil) async throws -> Value {
        let waiter = state.withLock { state in
            defer { state.nextWaiter += 1 }
            return state.nextWaiter
        }
        let timer = deadline.map { deadline in
            Task {
                do { try await timeSource.sleep(deadline - timeSource.now()) } catch { return }
                release(
                    waiter,
                    with: NetworkError(.operation, .preparing, "the operation timed out before its credential arrived")
                )
            }
        }
        defer { timer?.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Value, any Error>? = state.withLock { state in
                    if let error = state.abandoned.removeValue(forKey: waiter) { return .failure(error) }
                    if state.result == nil { state.waiters[waiter] = continuation }
                    return state.result
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            release(waiter, with: CancellationError())
        }
    }

    /// Fails all waiters with an error; the work continues, and its result is dropped.
    package func abandon(with error: any Error) {
        finish(.failure(error))
    }

    private func release(_ waiter: Int, with error: any Error) {
        let continuation = state.withLock { state in
            let continuation = state.waiters.removeValue(forKey: waiter)
            if continuation == nil, state.result == nil { state.abandoned[waiter] = error }
            return continuation
        }
        continuation?.resume(throwing: error)
    }

    private func finish(_ result: Result<Value, any Error>) {
        let waiters = state.withLock { state in
            guard state.result == nil else { return [CheckedContinuation<Value, any Error>]() }
            state.result = result
            defer {
                state.waiters = [:]
                state.abandoned = [:]
            }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(with: result) }
    }
}
