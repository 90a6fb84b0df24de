import Networking
import Synchronization
import System

/// The socket and the thread of a ``LoopbackRedirectReceiver``, and what it waits for.
final class RedirectListener: Sendable {
    /// What is shared with the thread.
    struct State {
        /// The state of the request that an answer is waited for.
        var expected: Secret?
        var result: Result<String, any Error>?
        var waiter: CheckedContinuation<String, any Error>?
        /// How often somebody has come with another state.
        var foreignCount = 0
    }

    /// The address and the port.
    let host: String
    private let shared: SharedState
    private let thread: WorkerThread

    init(
        path: String,
        port: UInt16,
        pages: LoopbackRedirectReceiver.Pages,
        patience: Duration
    ) throws(OAuth2Error) {
        do {
            let shared = SharedState(poller: try EventPoller())
            let listener = try Socket.listening(port: port)
            let host = "127.0.0.1:\(try listener.port())"
            let connections = RedirectConnections(
                listener: listener,
                host: host,
                path: path,
                pages: pages,
                patience: patience,
                shared: shared
            )
            (self.host, self.shared) = (host, shared)
            thread = try WorkerThread { connections.run() }
        } catch {
            throw OAuth2Error(
                .receiverFailed,
                port == 0
                    ? "the program can't listen on 127.0.0.1; look at the cause"
                    : "the program can't listen on port \(port) of 127.0.0.1; is another one there?",
                cause: error
            )
        }
    }

    /// Waits for the query of the answer.
    func query(state: Secret, within timeout: Duration, timeSource: TimeSource) async throws -> String {
        try shared.expect(state)
        let timer = Task { [shared] in
            do { try await timeSource.sleep(timeout) } catch { return }
            shared.end { state in
                let others = state.foreignCount
                let hint =
                    others == 0
                    ? "" : "; \(others) answers to other requests were refused, so that the state may be lost"
                return OAuth2Error(.authorizationExpired, "nobody came back from the server in \(timeout)\(hint)")
            }
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { shared.wait($0) }
        } onCancel: {
            shared.end { _ in CancellationError() }
        }
    }

    func stop() {
        shared.end { _ in OAuth2Error(.receiverFailed, "the receiver was stopped") }
    }

    /// What the thread and those who wait tell each other.
    final class SharedState: Sendable {
        let poller: EventPoller
        private let state = Mutex(State())

        init(poller: EventPoller) {
            self.poller = poller
        }

        /// Whether there is nothing to wait for any more.
        var isOver: Bool { state.withLock { $0.result != nil } }

        var expected: Secret? { state.withLock { $0.expected } }

        func countForeign() { state.withLock { $0.foreignCount += 1 } }

        /// Notes what is waited for.
        func expect(_ secret: Secret) throws(OAuth2Error) {
            let isFirst = state.withLock { state in
                guard state.expected == nil, state.result == nil else { return false }
                state.expected = secret
                return true
            }
            guard isFirst else {
                throw OAuth2Error(.receiverFailed, "a receiver is for one answer; make another one")
            }
            poller.signal()
        }

        func wait(_ continuation: CheckedContinuation<String, any Error>) {
            let result = state.withLock { state in
                if state.result == nil { state.waiter = continuation }
                return state.result
            }
            if let result { continuation.resume(with: result) }
        }

        func deliver(_ query: String) { finish { _ in .success(query) } }

        func end(with error: (borrowing State) -> any Error) { finish { .failure(error($0)) } }

        private func finish(_ result: (borrowing State) -> Result<String, any Error>) {
            let (waiter, result) = state.withLock { state in
                guard state.result == nil else {
                    return (nil, nil) as (CheckedContinuation<String, any Error>?, Result<String, any Error>?)
                }
                let result = result(state)
                state.result = result
                defer { state.waiter = nil }
                return (state.waiter, result)
            }
            if let waiter, let result { waiter.resume(with: result) }
            poller.signal()
        }
    }
}
