import Synchronization
import System

/// What other threads tell the engine's.
///
/// The engine is only signalled when it sleeps, so that a burst of submissions costs one wake-up.
final class CurlMailbox: Sendable {
    /// What came since the engine last looked.
    struct Mail {
        var submissions: [CurlSubmission] = []
        var cancellations: [UInt64] = []
        /// Exchanges whose reader made room or whose body's next part is there.
        var resumptions: [UInt64] = []
        /// The resolver's answers for exchanges that wait for a name's addresses.
        var answers: [(identifier: UInt64, answer: NameResolver.Answer)] = []
        /// When the engine stops even if exchanges still run; `nil` if it was not told to stop.
        var closing: ContinuousClock.Instant?

        var isEmpty: Bool { submissions.isEmpty && cancellations.isEmpty && resumptions.isEmpty && answers.isEmpty }

        /// Forgets what came and keeps the room for what comes, if that is not much.
        mutating func empty() {
            submissions.removeAll(keepingCapacity: submissions.count <= 256)
            cancellations.removeAll(keepingCapacity: cancellations.count <= 256)
            resumptions.removeAll(keepingCapacity: resumptions.count <= 256)
            answers.removeAll(keepingCapacity: answers.count <= 256)
        }
    }

    private struct State {
        var mail = Mail()
        /// Whether the engine does not know yet when it has to stop.
        var isClosingNews = false
        var isSleeping = false
        var hasStopped = false
        var closers: [CheckedContinuation<Void, Never>] = []
        /// The poller that the engine sleeps in; `nil` while the engine doesn't run.
        var poller: EventPoller?

        /// Returns the poller to signal, once for each sleep; `nil` if the engine is awake.
        mutating func wake() -> EventPoller? {
            defer { isSleeping = false }
            return isSleeping ? poller : nil
        }
    }

    private let state = Mutex(State())

    /// Sets what wakes the engine up, before its thread starts.
    func attach(_ poller: EventPoller?) {
        state.withLock { $0.poller = poller }
    }

    /// Hands an exchange to the engine, which then owes it an outcome.
    func submit(_ submission: CurlSubmission) {
        let (isAccepted, sleeper) = state.withLock { state -> (Bool, EventPoller?) in
            guard state.mail.closing == nil else { return (false, nil) }
            state.mail.submissions.append(submission)
            return (true, state.wake())
        }
        sleeper?.signal()
        if !isAccepted { submission.refuse(.transportClosed) }
    }

    /// Asks the engine to give up an exchange; it may have ended already or come later.
    func cancel(_ identifier: UInt64) {
        tell { $0.cancellations.append(identifier) }
    }

    /// Tells the engine that an exchange which it paused can go on.
    func resume(_ identifier: UInt64) {
        tell { $0.resumptions.append(identifier) }
    }

    /// Tells the engine what the resolver found for an exchange.
    func answer(_ identifier: UInt64, with answer: NameResolver.Answer) {
        tell { $0.answers.append((identifier, answer)) }
    }

    /// Asks the engine to stop when all exchanges have ended, at last at a time; the continuation is resumed when it has.
    func close(at deadline: ContinuousClock.Instant = .now, _ closer: CheckedContinuation<Void, Never>? = nil) {
        let (hasStopped, sleeper) = state.withLock { state in
            state.mail.closing = min(state.mail.closing ?? deadline, deadline)
            state.isClosingNews = true
            if let closer, !state.hasStopped { state.closers.append(closer) }
            return (state.hasStopped, state.wake())
        }
        sleeper?.signal()
        if hasStopped { closer?.resume() }
    }

    private func tell(_ write: (inout Mail) -> Void) {
        let sleeper = state.withLock { state -> EventPoller? in
            guard !state.hasStopped else { return nil }
            write(&state.mail)
            return state.wake()
        }
        sleeper?.signal()
    }

    /// Takes what came, in exchange for what was taken before and is done with; for the engine.
    func collect(_ mail: inout Mail) {
        // Outside of the lock, because submissions are let go of.
        mail.empty()
        state.withLock { state in
            state.isSleeping = false
            state.isClosingNews = false
            mail.closing = state.mail.closing
            swap(&mail, &state.mail)
        }
    }

    /// Announces that the engine will wait; false if it must look at its mail instead.
    func prepareToSleep() -> Bool {
        state.withLock { state in
            state.isSleeping = state.mail.isEmpty && !state.isClosingNews
            return state.isSleeping
        }
    }

    /// Announces that the engine has stopped.
    func stopped() {
        let closers = state.withLock { state in
            state.hasStopped = true
            state.mail = Mail(closing: state.mail.closing)
            defer { state.closers = [] }
            return state.closers
        }
        for closer in closers { closer.resume() }
    }
}

extension NetworkError {
    static var transportClosed: Self { Self(.closed, "the transport was closed") }
}
