import Glibc
import Synchronization
import SystemIO

/// A resolver that looks up host names with a limited number of threads.
///
/// `getaddrinfo` blocks its thread for as long as the name servers take and can't be cancelled.
/// Therefore at most ``maximumThreads`` lookups run at once and others wait. Callers that request a
/// name while it's being looked up share the lookup. A lookup without remaining callers counts
/// until the system returns.
final class NameResolver: Sendable {
    /// A name to look up and the address family to return.
    struct Query: Hashable, Sendable {
        /// The name in lowercase.
        let name: String
        let family: CurlTransport.AddressFamily
    }

    /// The addresses in the order to try them, or the reason that the lookup failed.
    typealias Answer = Result<[String], Failure>

    enum Failure: Error {
        /// The name has no usable address, with the system's error message.
        case noAddress(String)
        /// The process lacks the resources for a lookup.
        case unavailable(NetworkError)
    }

    /// A caller's registration with a lookup.
    struct Ticket {
        fileprivate let query: Query
        fileprivate let number: UInt64
    }

    private struct Lookup {
        var isRunning = false
        var callers: [UInt64: @Sendable (Answer) -> Void] = [:]
    }

    private struct State {
        var process = getpid()
        var lookups: [Query: Lookup] = [:]
        /// The lookups that are waiting for a thread, oldest first.
        var line: [Query] = []
        var threads = 0
        var lastNumber: UInt64 = 0

        mutating func next() -> Query? {
            guard !line.isEmpty else { return nil }
            let query = line.removeFirst()
            lookups[query]?.isRunning = true
            return query
        }
    }

    /// The process-wide resolver, which all transports share.
    static let shared = NameResolver { $0.systemAnswer }

    /// The maximum number of lookups that run at once.
    let maximumThreads: Int
    private let lookUp: @Sendable (Query) -> Answer
    private let state = Mutex(State())

    /// Creates a resolver; `lookUp` blocks until it has an answer.
    init(maximumThreads: Int = 32, _ lookUp: @escaping @Sendable (Query) -> Answer) {
        self.maximumThreads = maximumThreads
        self.lookUp = lookUp
    }

    /// The number of running lookups.
    var runningCount: Int { state.withLock { $0.threads } }

    /// The number of callers that are waiting for an answer.
    var callerCount: Int { state.withLock { $0.lookups.values.reduce(0) { $0 + $1.callers.count } } }

    /// Looks up a name, or joins a lookup that has already started.
    ///
    /// `deliver` receives the answer on another thread or, if no thread can be started, before this
    /// method returns. The ticket is for ``leave(_:)``.
    func resolve(_ query: Query, _ deliver: @escaping @Sendable (Answer) -> Void) -> Ticket {
        let (number, mustStart) = state.withLock { state in
            // `fork()` copies the counts but not the threads.
            if state.process != getpid() { state = State() }
            state.lastNumber += 1
            var lookup = state.lookups[query] ?? Lookup()
            let isNew = lookup.callers.isEmpty && !lookup.isRunning
            lookup.callers[state.lastNumber] = deliver
            let mustStart = isNew && state.threads < maximumThreads
            if mustStart {
                state.threads += 1
                lookup.isRunning = true
            } else if isNew {
                state.line.append(query)
            }
            state.lookups[query] = lookup
            return (state.lastNumber, mustStart)
        }
        if mustStart { start(query) }
        return Ticket(query: query, number: number)
    }

    /// Removes a caller from a lookup, and a waiting lookup without callers from the queue.
    func leave(_ ticket: Ticket) {
        state.withLock { state in
            guard var lookup = state.lookups[ticket.query] else { return }
            lookup.callers[ticket.number] = nil
            let isOver = lookup.callers.isEmpty && !lookup.isRunning
            if isOver { state.line.removeAll { $0 == ticket.query } }
            state.lookups[ticket.query] = isOver ? nil : lookup
        }
    }

    private func start(_ query: Query) {
        do throws(SystemFailure) {
            _ = try WorkerThread(named: "name-lookup") { [self] in
                var next: Query? = query
                while let query = next { next = finish(query, with: query.ordered(lookUp(query))) }
            }
        } catch {
            // If no thread is running, nothing would ever start the waiting lookups.
            let failure = NetworkError(
                .transportUnavailable,
                "can't start a thread to look up names (error \(error.number))",
                isUnprocessed: true
            )
            var next: Query? = query
            while let query = next { next = finish(query, with: .failure(.unavailable(failure)), isThread: false) }
        }
    }

    /// Delivers an answer and returns the next waiting lookup, or `nil` to end the thread.
    private func finish(_ query: Query, with answer: Answer, isThread: Bool = true) -> Query? {
        let (callers, next) = state.withLock { state in
            let callers = state.lookups.removeValue(forKey: query)?.callers ?? [:]
            let next = isThread || state.threads == 1 ? state.next() : nil
            if next == nil { state.threads -= 1 }
            return (callers, next)
        }
        for deliver in callers.values { deliver(answer) }
        return next
    }
}
