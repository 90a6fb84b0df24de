import Foundation
import Networking
import Synchronization
import SystemIO

/// The socket, the thread and the expected response of a ``LoopbackRedirectReceiver``.
final class RedirectListener: Sendable {
    struct State {
        var expected: ExpectedRedirect?
        var result: Result<String, any Error>?
        var waiter: CheckedContinuation<String, any Error>?
        /// The number of responses with another `state`.
        var foreignCount = 0
    }

    let host: String
    private let shared: SharedState
    private let thread: WorkerThread

    init(path: String, port: UInt16, pages: LoopbackRedirectReceiver.Pages, patience: Duration) throws(OAuth2Error) {
        do {
            let listener = try Socket.listening(port: port)
            let (number, host) = (listener.number, "127.0.0.1:\(try listener.port())")
            let shared = SharedState(poller: try EventPoller(), listener: listener)
            let connections = RedirectConnections(
                listener: number,
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

    func query(of redirect: ExpectedRedirect, within timeout: Duration, timeSource: TimeSource) async throws -> String {
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

    final class SharedState: Sendable {
        let poller: EventPoller
        private let state = Mutex(State())
        /// Closed with the result, so that another receiver can listen on the port at once.
        private let listener: Mutex<Socket?>

        init(poller: EventPoller, listener: consuming Socket) {
            self.poller = poller
            self.listener = Mutex(listener)
        }

        func accept() throws(SystemFailure) -> Socket? {
            try listener.withLock { listener throws(SystemFailure) in try listener?.accept() }
        }

        var isOver: Bool { state.withLock { $0.result != nil } }

        var expected: ExpectedRedirect? { state.withLock { $0.expected } }

        func countForeign() { state.withLock { $0.foreignCount += 1 } }

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
            listener.withLock { $0 = nil }
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

/// The connections of a receiver, which belong to its thread.
final class RedirectConnections {
    private final class Visitor {
        let socket: Socket
        var reader: RequestHeadReader
        var size = 0
        var head: RequestHead?
        var isDone = false
        var deadline: ContinuousClock.Instant

        init(_ socket: consuming Socket, _ limits: RequestHeadReader.Limits, deadline: ContinuousClock.Instant) {
            self.socket = socket
            self.deadline = deadline
            reader = RequestHeadReader(limits: limits)
        }

        /// The priority for keeping the connection, highest if its request is complete.
        var rank: Int { isDone || size == 0 ? 0 : head == nil ? 1 : 2 }
    }

    private static let maximumVisitors = 64
    /// The maximum size of a request's head, in bytes.
    private static let maximumSize = 16 << 10

    private let listener: Int32
    private let host: String
    private let path: String
    private let pages: LoopbackRedirectReceiver.Pages
    /// The timeout for a client to send its request.
    private let patience: Duration
    private let shared: RedirectListener.SharedState
    private var visitors: [Int32: Visitor] = [:]
    private var buffer = [UInt8](repeating: 0, count: 4_096)
    private var isClosing = false

    init(
        listener: Int32,
        host: String,
        path: String,
        pages: LoopbackRedirectReceiver.Pages,
        patience: Duration,
        shared: RedirectListener.SharedState
    ) {
        self.listener = listener
        self.host = host
        self.path = path
        self.pages = pages
        self.patience = patience
        self.shared = shared
    }

    func run() {
        shared.poller.watch(listener, for: .readable)
        var events: [EventPoller.Event] = []
        while !(isClosing && visitors.values.allSatisfy { !$0.isDone }) {
            // Check idle connections once a second.
            shared.poller.wait(milliseconds: visitors.isEmpty ? -1 : 1_000, &events)
            for event in events {
                if event.socket == listener {
                    admit()
                } else if let visitor = visitors[event.socket] {
                    hear(visitor)
                }
            }
            isClosing = shared.isOver
            let now = ContinuousClock.now
            for visitor in visitors.values {
                if visitor.deadline <= now { dismiss(visitor) } else { consider(visitor) }
            }
        }
        for visitor in visitors.values { dismiss(visitor) }
    }

    private func admit() {
        guard !isClosing else { return }
        while true {
            let visitor: Visitor
            do {
                guard let socket = try shared.accept() else { return }
                let limits = RequestHeadReader.Limits(line: Self.maximumSize, fields: Self.maximumSize, emptyLines: 0)
                visitor = Visitor(socket, limits, deadline: .now + patience)
            } catch { return }
            while visitors.count >= Self.maximumVisitors, let least = leastVisitor {
                // It may have sent more in the meantime.
                let rank = least.rank
                attend(least)
                if least.rank == rank { dismiss(least) }
            }
            visitors[visitor.socket.number] = visitor
            shared.poller.watch(visitor.socket.number, for: .readable)
            attend(visitor)
        }
    }

    private func attend(_ visitor: Visitor) {
        hear(visitor)
        consider(visitor)
    }

    /// The connection to close for a new one: the oldest of those with the lowest rank.
    private var leastVisitor: Visitor? {
        visitors.values.min { left, right in (left.rank, left.deadline) < (right.rank, right.deadline) }
    }

    private func hear(_ visitor: Visitor) {
        while true {
            switch visitor.socket.receive(into: &buffer) {
            case .transferred(let count):
                // Drop bytes after the request or beyond the limit, or the response may get lost.
                if !visitor.isDone, visitor.head == nil { read(buffer[..<count], of: visitor) }
            case .wouldBlock: return
            case .ended, .failed: return dismiss(visitor)
            }
        }
    }

    private func read(_ bytes: ArraySlice<UInt8>, of visitor: Visitor) {
        do throws(RequestFault) {
            var input = bytes
            visitor.head = try visitor.reader.readHead(from: &input)
            visitor.size += bytes.count - input.count
            guard visitor.size <= Self.maximumSize else { throw RequestFault(431, "the head is too long") }
        } catch {
            answer(visitor, .refusal([414, 431].contains(error.status) ? 431 : 400))
        }
    }

    private func consider(_ visitor: Visitor) {
        guard let head = visitor.head, !visitor.isDone else { return }
        switch RedirectVerdict.on(head, host: host, path: path, expecting: shared.expected) {
        case .answer(let query, let isRefusal):
            guard !shared.isOver else { return answer(visitor, .refusal(404)) }
            answer(visitor, RedirectResponse(status: 200, html: isRefusal ? pages.refused : pages.authorized))
            shared.deliver(query)
        case .early:
            break
        case .refused(let status):
            answer(visitor, .refusal(status))
        case .foreign:
            shared.countForeign()
            answer(visitor, .refusal(400))
        }
    }

    private func answer(_ visitor: Visitor, _ response: RedirectResponse) {
        // A page is far smaller than a new connection's send buffer.
        _ = visitor.socket.send(response.bytes.bytes)
        visitor.socket.finishSending()
        visitor.isDone = true
        visitor.deadline = .now + .seconds(2)
    }

    private func dismiss(_ visitor: Visitor) {
        shared.poller.watch(visitor.socket.number, for: [])
        visitors[visitor.socket.number] = nil
        visitor.isDone = true
    }
}
