import Glibc
import Synchronization
import System

/// The addresses of hosts' names, looked up with a bounded number of threads.
///
/// `getaddrinfo` blocks its thread for as long as the name servers take, and nothing can cancel it. Work has a budget therefore: at most
/// ``maximumThreads`` lookups run at once, and the others wait in line. Callers that ask for a name that is being looked up share that
/// lookup. One whose callers have all left counts until the system returns.
final class NameResolver: Sendable {
    /// A name to look up, and the address family to look for.
    struct Query: Hashable, Sendable {
        /// The name in lower case.
        let name: String
        let family: CurlTransport.AddressFamily.Wrapped
    }

    /// The addresses in the order in which to try them, or the reason why the lookup failed.
    typealias Answer = Result<[String], Failure>

    enum Failure: Error {
        /// The name has no usable address; the text is the system's.
        case noAddress(String)
        /// The process lacks what a lookup needs.
        case unavailable(NetworkError)
    }

    /// A caller's place in a lookup.
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
        /// The lookups that wait for a thread, oldest first.
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

    /// The process's resolver, which all transports share.
    static let shared = NameResolver { $0.systemAnswer }

    /// The most lookups that run at once.
    let maximumThreads: Int
    private let lookUp: @Sendable (Query) -> Answer
    private let state = Mutex(State())

    /// Makes a resolver.
    ///
    /// - Parameters:
    ///   - maximumThreads: The most lookups that run at once.
    ///   - lookUp: Looks a name up and returns when it has an answer.
    init(maximumThreads: Int = 32, _ lookUp: @escaping @Sendable (Query) -> Answer) {
        self.maximumThreads = maximumThreads
        self.lookUp = lookUp
    }

    /// The number of lookups that run.
    var runningCount: Int { state.withLock { $0.threads } }

    /// The number of callers that wait for an answer.
    var callerCount: Int { state.withLock { $0.lookups.values.reduce(0) { $0 + $1.callers.count } } }

    /// Looks a name up, or joins the lookup of the name.
    ///
    /// - Parameters:
    ///   - query: The name.
    ///   - deliver: Takes the answer, on another thread or, where no thread can be started, before this returns.
    /// - Returns: What ``leave(_:)`` takes.
    func resolve(_ query: Query, _ deliver: @escaping @Sendable (Answer) -> Void) -> Ticket {
        let (number, mustStart) = state.withLock { state in
            // `fork()` copies the counts, and none of the threads.
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

    /// Takes a caller out of a lookup; one that hasn't begun and has no callers left never begins.
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
            _ = try WorkerThread { [self] in
                var next: Query? = query
                while let query = next { next = finish(query, with: lookUp(query)) }
            }
        } catch {
            // Without any thread, the lookups in line wait for none.
            let failure = NetworkError(
                .transportUnavailable,
                "no thread could be started to look names up (error \(error.number))",
                isUnprocessed: true
            )
            var next: Query? = query
            while let query = next { next = finish(query, with: .failure(.unavailable(failure)), isThread: false) }
        }
    }

    /// Delivers an answer and takes the next lookup in line; `nil` ends the thread.
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
