import Networking
import Synchronization
import SystemIO

/// The socket, the thread and the expected response of a ``LoopbackRedirectReceiver``.
final class RedirectListener: Sendable {
    /// The state shared with the thread.
    struct State {
        var expected: ExpectedRedirect?
        var result: Result<String, any Error>?
        var waiter: CheckedContinuation<String, any Error>?
        /// The number of responses with another `state`.
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
            thread = try WorkerThread(named: "redirect") { connections.run() }
        } catch {
            throw OAuth2Error(
                .receiverFailed,
                port == 0
                    ? "the program can't listen on 127.0.0.1; see the cause"
                    : "the program can't listen on port \(port) of 127.0.0.1; another process may be using it",
                cause: error
            )
        }
    }

    /// Waits for the query of the response.
    func query(
        of redirect: ExpectedRedirect,
        within timeout: Duration,
        timeSource: TimeSource
    ) async throws -> String {
        try shared.expect(redirect)
        let timer = Task { [shared] in
            do { try await timeSource.sleep(timeout) } catch { return }
            shared.end { state in
                let others = state.foreignCount
                let hint =
                    others == 0
                    ? ""
                    : "; rejected responses with another state: \(others), so the state may be lost; encrypted ones need "
                        + "a verifier with a decrypter"
                return OAuth2Error(.authorizationExpired, "received no authorization response within \(timeout)\(hint)")
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

    /// The state that the thread shares with the waiting task.
    final class SharedState: Sendable {
        let poller: EventPoller
        private let state = Mutex(State())

        init(poller: EventPoller) {
            self.poller = poller
        }

        /// A Boolean value that indicates whether the wait has ended.
        var isOver: Bool { state.withLock { $0.result != nil } }

        var expected: ExpectedRedirect? { state.withLock { $0.expected } }

        func countForeign() { state.withLock { $0.foreignCount += 1 } }

        /// Sets the expected response.
        func expect(_ redirect: ExpectedRedirect) throws(OAuth2Error) {
            let isFirst = state.withLock { state in
                guard state.expected == nil, state.result == nil else { return false }
                state.expected = redirect
                return true
            }
            guard isFirst else {
                throw OAuth2Error(.receiverFailed, "a receiver receives only one response; create another one")
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
