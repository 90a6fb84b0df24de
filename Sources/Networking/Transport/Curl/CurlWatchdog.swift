import Dispatch
import Synchronization

/// The keeper of deadlines and cancellations while an engine's thread is busy.
///
/// The thread itself ends requests, because only it knows their state. But it also decodes bodies
/// and parses certificates, so a peer can keep it busy. If a request has no outcome ``patience``
/// after its time, its caller gets the outcome from here, and the thread drops the request later.
final class CurlWatchdog: Sendable {
    static let patience = Duration.milliseconds(100)
    /// Limits how long a timer outlives its requests.
    private static let longestPause = Duration.seconds(60)
    /// No deadline; adding an arbitrary duration to an instant can overflow.
    private static let never = Duration.seconds(31_536_000)
    private static let queue = DispatchQueue(label: "http-watchdog")

    /// The request's body isn't kept in memory once the request has ended.
    private struct Entry {
        weak let exchange: CurlExchange?
        let recipient: CurlSubmission.Recipient

        /// `nil` if the request has an outcome.
        var submission: CurlSubmission? {
            guard let exchange, !exchange.isOver else { return nil }
            return CurlSubmission(exchange: exchange, recipient: recipient)
        }
    }

    private struct State {
        var requests = DeadlineHeap<Entry>()
        var hasCancellations = false
        /// The time at which all requests end because the transport is closed.
        var closing: Moment?
        var closers: [CurlCloser] = []
        var next: Moment?
    }

    private let admission: CurlAdmission
    private let state = Mutex(State())

    init(_ admission: CurlAdmission) {
        self.admission = admission
    }

    /// Ends a request that has no outcome by its deadline.
    func watch(_ submission: CurlSubmission) {
        let exchange = submission.exchange
        let deadline = min(exchange.limits.end ?? .now + Self.never, .now + Self.never) + Self.patience
        state.withLock { state in
            // The transport may have been closed since the engine accepted the request.
            let time = min(deadline, state.closing ?? deadline)
            add(submission, at: time, &state)
            check(at: time, &state)
        }
    }

    private func add(_ submission: CurlSubmission, at time: Moment, _ state: inout State) {
        let entry = Entry(exchange: submission.exchange, recipient: submission.recipient)
        state.requests.insert(entry, deadline: time) { $0.submission != nil }
    }

    /// Ends the cancelled requests that don't end soon.
    func noteCancellation() {
        state.withLock { state in
            state.hasCancellations = true
            check(at: .now + Self.patience, &state)
        }
    }

    /// Ends all requests at a time, and then resumes a caller that waits for an engine to close.
    func close(at time: Moment, _ closer: CurlCloser) {
        let time = time + Self.patience
        state.withLock { state in
            state.closing = min(state.closing ?? time, time)
            state.closers.append(closer)
            check(at: time, &state)
        }
    }

    private func check(at time: Moment, _ state: inout State) {
        let now = Moment.now
        let time = min(time, now + Self.longestPause)
        guard state.next.map({ time < $0 }) ?? true else { return }
        state.next = time
        let delay = DispatchTimeInterval.milliseconds((time - now).milliseconds)  // reason: our own clock
        Self.queue.asyncAfter(deadline: .now() + delay) { [weak self] in
            self?.check()
        }
    }

    private func check() {
        let now = Moment.now
        let (ended, closers) = state.withLock { state -> ([(CurlSubmission, any Error)], [CurlCloser]) in
            // Timers have their own clock. A much later check has a timer of its own.
            if let next = state.next, next <= now + .milliseconds(5) { state.next = nil }
            var ended = expired(at: now, &state)
            var next: Moment?
            if state.hasCancellations {
                state.hasCancellations = false
                for submission in state.requests.all.compactMap(\.submission) {
                    guard let time = submission.exchange.cancelTime.map({ $0 + Self.patience }) else { continue }
                    if time <= now {
                        ended.append((submission, CancellationError()))
                    } else {
                        state.hasCancellations = true
                        next = min(next ?? time, time)
                    }
                }
            }
            var closers: [CurlCloser] = []
            if let closing = state.closing, closing <= now {
                ended += state.requests.all.compactMap(\.submission).map { ($0, NetworkError.transportClosed) }
                swap(&closers, &state.closers)
            }
            state.requests.sweep { $0.submission != nil }
            let times = [next, state.requests.earliest, state.closing.flatMap { $0 > now ? $0 : nil }]
            if let time = times.compactMap(\.self).min() { check(at: time, &state) }
            return (ended, closers)
        }
        for (submission, error) in ended {
            submission.fail(error)
            admission.post(.cancel(submission.exchange.identifier), for: submission.exchange.identifier)
        }
        for closer in closers { closer.resume(hasEnded: false) }
    }

    private func expired(at now: Moment, _ state: inout State) -> [(CurlSubmission, any Error)] {
        var ended: [(CurlSubmission, any Error)] = []
        var others: [CurlSubmission] = []
        while let entry = state.requests.popExpired(at: now) {
            guard let submission = entry.submission else { continue }
            let exchange = submission.exchange
            if let deadline = exchange.limits.end, deadline <= now, !submission.isBeyondDeadline {
                ended.append((submission, NetworkError.missedDeadline(exchange, exchange.phase)))
            } else {
                others.append(submission)
            }
        }
        for submission in others { add(submission, at: now + Self.never, &state) }
        return ended
    }
}

final class CurlCloser: Sendable {
    private let continuation: CheckedContinuation<Bool, Never>
    private let isResumed = Atomic<Bool>(false)

    init(_ continuation: CheckedContinuation<Bool, Never>) {
        self.continuation = continuation
    }

    /// Has no effect after the first call; `hasEnded` is about the engine's loop.
    func resume(hasEnded: Bool) {
        guard !isResumed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        continuation.resume(returning: hasEnded)
    }
}
