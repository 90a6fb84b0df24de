import Foundation
import Glibc
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
        var opened: RedirectSocket?
        do {
            let shared = SharedState(poller: try EventPoller())
            let socket = try RedirectSocket.listening(port: port)
            opened = socket
            let host = "127.0.0.1:\(socket.port)"
            (self.host, self.shared) = (host, shared)
            thread = try WorkerThread {
                var connections = RedirectConnections(
                    socket: socket,
                    host: host,
                    path: path,
                    pages: pages,
                    patience: patience
                )
                connections.run(shared)
                socket.close()
            }
        } catch {
            opened?.close()
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

/// The connections of a receiver; lives in its thread.
private struct RedirectConnections {
    private struct Visitor {
        let socket: RedirectSocket
        var octets: [UInt8] = []
        /// The end of the header section, if it is there.
        var head: Int?
        /// Whether the response is sent, and the connection only waits for the other side to end it.
        var isAnswered = false
        /// When the connection is given up.
        var deadline: ContinuousClock.Instant

        /// A rank by what closing the connection would lose: lowest if it is idle or answered, and highest if its request is complete.
        var rank: Int { isAnswered || octets.isEmpty ? 0 : head == nil ? 1 : 2 }
    }

    private static let maximumVisitors = 64

    let socket: RedirectSocket
    let host: String
    let path: String
    let pages: LoopbackRedirectReceiver.Pages
    /// How long somebody may take to ask.
    let patience: Duration
    private var visitors: [Int32: Visitor] = [:]
    /// Whether the answer has come, and only goodbyes are left.
    private var isClosing = false

    init(
        socket: RedirectSocket,
        host: String,
        path: String,
        pages: LoopbackRedirectReceiver.Pages,
        patience: Duration
    ) {
        self.socket = socket
        self.host = host
        self.path = path
        self.pages = pages
        self.patience = patience
    }

    mutating func run(_ shared: RedirectListener.SharedState) {
        shared.poller.watch(socket.number, of: 0, readable: true, writable: false)
        var events: [EventPoller.Event] = []
        while !(isClosing && visitors.values.allSatisfy { !$0.isAnswered }) {
            // A connection that says nothing is looked after once a second.
            shared.poller.wait(milliseconds: visitors.isEmpty ? -1 : 1_000, &events)
            for event in events {
                if event.socket == socket.number { admit(shared) } else { hear(event.socket, shared) }
            }
            if shared.isOver, !isClosing {
                isClosing = true
                shared.poller.watch(socket.number, of: 0, readable: false, writable: false)
            }
            let now = ContinuousClock.now
            for (number, visitor) in visitors {
                if visitor.deadline <= now {
                    dismiss(number, shared)
                } else if visitor.head != nil, !visitor.isAnswered {
                    consider(number, shared)
                }
            }
        }
        for number in visitors.keys { dismiss(number, shared) }
    }

    private mutating func admit(_ shared: RedirectListener.SharedState) {
        guard !isClosing else { return }
        while let visitor = socket.accept() {
            while visitors.count >= Self.maximumVisitors, let least = leastVisitor {
                // What it has sent in the meantime counts.
                let rank = visitors[least]?.rank
                attend(least, shared)
                if visitors[least]?.rank == rank { dismiss(least, shared) }
            }
            visitors[visitor.number] = Visitor(socket: visitor, deadline: .now + patience)
            shared.poller.watch(visitor.number, of: 0, readable: true, writable: false)
            attend(visitor.number, shared)
        }
    }

    /// Reads what there is, and answers if it is a request.
    private mutating func attend(_ number: Int32, _ shared: RedirectListener.SharedState) {
        hear(number, shared)
        if let visitor = visitors[number], visitor.head != nil, !visitor.isAnswered { consider(number, shared) }
    }

    /// The connection to close for another one: the oldest of those that have sent the least of a request.
    private var leastVisitor: Int32? {
        visitors.min { left, right in
            (left.value.rank, left.value.deadline) < (right.value.rank, right.value.deadline)
        }?.key
    }

    private mutating func hear(_ number: Int32, _ shared: RedirectListener.SharedState) {
        guard var visitor = visitors[number] else { return }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            switch visitor.socket.receive(into: &buffer) {
            case .octets(let count):
                // What comes after the request, or is too much of it, is read and dropped: else the response may get lost.
                if !visitor.isAnswered, visitor.head == nil { visitor.octets += buffer.prefix(count) }
                visitor.head = visitor.head ?? Self.end(of: visitor.octets)
                visitors[number] = visitor
                if visitor.head == nil, visitor.octets.count > RedirectRequest.maximumSize, !visitor.isAnswered {
                    answer(number, .refusal(431))
                    visitor.isAnswered = true
                }
            case .nothing:
                return
            case .end:
                dismiss(number, shared)
                return
            }
        }
    }

    /// Answers a request that is there, if it is known what is waited for.
    private mutating func consider(_ number: Int32, _ shared: RedirectListener.SharedState) {
        guard let visitor = visitors[number], let head = visitor.head else { return }
        guard head <= RedirectRequest.maximumSize else { return answer(number, .refusal(431)) }
        guard let request = RedirectRequest(visitor.octets[..<head]) else { return answer(number, .refusal(400)) }
        switch request.verdict(host: host, path: path, state: shared.expected) {
        case .answer(let query, let isRefusal):
            guard !shared.isOver else { return answer(number, .refusal(404)) }
            answer(number, RedirectResponse(status: 200, html: isRefusal ? pages.refused : pages.authorized))
            shared.deliver(query)
        case .early:
            break
        case .refused(let status):
            answer(number, .refusal(status))
        case .foreign:
            shared.countForeign()
            answer(number, .refusal(400))
        }
    }

    private mutating func answer(_ number: Int32, _ response: RedirectResponse) {
        guard let visitor = visitors[number] else { return }
        // A page is far smaller than what a new connection takes at once.
        visitor.socket.send(response.octets)
        visitor.socket.finishSending()
        visitors[number]?.isAnswered = true
        visitors[number]?.deadline = .now + .seconds(2)
    }

    private mutating func dismiss(_ number: Int32, _ shared: RedirectListener.SharedState) {
        guard let visitor = visitors.removeValue(forKey: number) else { return }
        shared.poller.watch(number, of: 0, readable: false, writable: false)
        visitor.socket.close()
    }

    /// Where the empty line begins that ends a header section.
    private static func end(of octets: [UInt8]) -> Int? {
        octets.firstRange(of: [0x0D, 0x0A, 0x0D, 0x0A])?.lowerBound
    }
}
