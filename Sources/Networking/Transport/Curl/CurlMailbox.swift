import Synchronization

/// What other threads tell the engine's.
///
/// The engine is only signalled when it sleeps, so that a burst of submissions costs one wake-up.
final class CurlMailbox: Sendable {
    /// What came since the engine last looked.
    struct Mail {
        var submissions: [CurlSubmission] = []
        var cancellations: [UInt64] = []
        var isClosing = false

        var isEmpty: Bool { submissions.isEmpty && cancellations.isEmpty && !isClosing }
    }

    private struct State {
        var mail = Mail()
        var isSleeping = false
        var hasStopped = false
        var closers: [CheckedContinuation<Void, Never>] = []

        /// Whether the engine must be signalled, which happens once for each sleep.
        mutating func wake() -> Bool {
            defer { isSleeping = false }
            return isSleeping
        }
    }

    let poller: EventPoller
    private let state = Mutex(State())

    init(poller: EventPoller) {
        self.poller = poller
    }

    /// Hands an exchange to the engine, which then owes it an outcome.
    func submit(_ submission: CurlSubmission) {
        let (isAccepted, mustSignal) = state.withLock { state in
            guard !state.mail.isClosing else { return (false, false) }
            state.mail.submissions.append(submission)
            return (true, state.wake())
        }
        if mustSignal { poller.signal() }
        if !isAccepted { submission.end(.failure(.transportClosed)) }
    }

    /// Asks the engine to give up an exchange; it may have ended already or come later.
    func cancel(_ identifier: UInt64) {
        let mustSignal = state.withLock { state in
            guard !state.mail.isClosing else { return false }
            state.mail.cancellations.append(identifier)
            return state.wake()
        }
        if mustSignal { poller.signal() }
    }

    /// Asks the engine to stop; the continuation is resumed when it has.
    func close(_ closer: CheckedContinuation<Void, Never>? = nil) {
        let (hasStopped, mustSignal) = state.withLock { state in
            state.mail.isClosing = true
            if let closer, !state.hasStopped { state.closers.append(closer) }
            return (state.hasStopped, state.wake())
        }
        if mustSignal { poller.signal() }
        if hasStopped { closer?.resume() }
    }

    /// Takes what came; for the engine.
    func collect() -> Mail {
        state.withLock { state in
            state.isSleeping = false
            let mail = state.mail
            state.mail = Mail(isClosing: mail.isClosing)
            return mail
        }
    }

    /// Announces that the engine will wait; false if it must look at its mail instead.
    func prepareToSleep() -> Bool {
        state.withLock { state in
            state.isSleeping = state.mail.isEmpty
            return state.isSleeping
        }
    }

    /// Announces that the engine has stopped.
    func stopped() {
        let closers = state.withLock { state in
            state.hasStopped = true
            defer { state.closers = [] }
            return state.closers
        }
        for closer in closers { closer.resume() }
    }
}

extension NetworkError {
    static var transportClosed: Self { Self(.closed, "the transport was closed") }
}
