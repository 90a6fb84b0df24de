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
    struct Query: Hashable, Sendable {
        /// In lowercase.
        let name: String
        let family: CurlTransport.AddressFamily
    }

    /// The addresses are in the order to try them.
    typealias Answer = Result<[String], Failure>

    enum Failure: Error {
        /// The text is the system's error message.
        case noAddress(String)
        /// The process lacks the resources for a lookup.
        case unavailable(NetworkError)
    }

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

    /// All transports of the process share it.
    static let shared = NameResolver { $0.systemAnswer }

    let maximumThreads: Int
    private let lookUp: @Sendable (Query) -> Answer
    private let state = Mutex(State())

    /// `lookUp` blocks until it has an answer.
    init(maximumThreads: Int = 32, _ lookUp: @escaping @Sendable (Query) -> Answer) {
        self.maximumThreads = maximumThreads
        self.lookUp = lookUp
    }

    var runningCount: Int { state.withLock { $0.threads } }

    var callerCount: Int { state.withLock { $0.lookups.values.reduce(0) { $0 + $1.callers.count } } }

    /// Looks up a name, or joins a lookup that has already started; `deliver` receives the answer
    /// on another thread or, if no thread can be started, before this method returns.
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

    /// A waiting lookup without callers leaves the queue.
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

    /// Returns the next waiting lookup, or `nil` to end the thread.
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

extension NameResolver.Query {
    /// For each family; an answer may have thousands.
    private static let maximumCount = 16

    /// In the order of [RFC 6724](https://www.rfc-editor.org/rfc/rfc6724), without addresses that
    /// need a zone, because a URL can't specify one.
    var systemAnswer: NameResolver.Answer {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = systemFamily
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(name, nil, &hints, &list)
        guard code == 0 else {
            // Without a socket for the query, the system reports that the name has no address.
            if let number = NetworkError.missingDescriptor {
                return .failure(.unavailable(.noDescriptor(number, "can't look up names")))
            }
            return .failure(.noAddress(unsafe gai_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"))
        }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [String] = []
        var counts: [Int32: Int] = [:]
        var entry = unsafe list
        while let current = unsafe entry {
            let family = unsafe current.pointee.ai_family
            if let text = unsafe Self.text(of: current.pointee), counts[family, default: 0] < Self.maximumCount,
                !addresses.contains(text)
            {
                counts[family, default: 0] += 1
                addresses.append(text)
            }
            unsafe entry = current.pointee.ai_next
        }
        guard !addresses.isEmpty else { return .failure(.noAddress("all of its addresses need a zone")) }
        return .success(addresses)
    }

    /// Accepts an address in any form that the system reads, such as `127.1`.
    static func isAddress(_ text: String) -> Bool {
        if text.utf8.contains(UInt8(ascii: ":")) { return true }
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = AI_NUMERICHOST
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(text, nil, &hints, &list) == 0 else { return false }
        unsafe freeaddrinfo(list)
        return true
    }

    private var systemFamily: Int32 {
        switch family {
        case .ipv4: return AF_INET
        case .ipv6: return AF_INET6
        case .any, .ipv4First, .ipv6First:
            // Without IPv6 in the kernel, a query for IPv6 addresses is wasted.
            let probe = socket(AF_INET6, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            guard probe >= 0 else { return AF_INET }
            close(probe)
            return AF_UNSPEC
        }
    }

    private static func text(of entry: addrinfo) -> String? {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { buffer in
            guard let start = buffer.baseAddress,
                unsafe getnameinfo(
                    entry.ai_addr,
                    entry.ai_addrlen,
                    start,
                    socklen_t(buffer.count),
                    nil,
                    0,
                    NI_NUMERICHOST
                ) == 0
            else { return nil }
            let text = unsafe String(cString: start)
            return text.utf8.contains(UInt8(ascii: "%")) ? nil : text
        }
    }

    /// Sorts the addresses in the order to try them, which is otherwise the resolver's.
    func ordered(_ answer: NameResolver.Answer) -> NameResolver.Answer {
        switch family {
        case .any, .ipv4, .ipv6: answer
        case .ipv4First: answer.map { $0.filter { !$0.contains(":") } + $0.filter { $0.contains(":") } }
        case .ipv6First: answer.map { $0.filter { $0.contains(":") } + $0.filter { !$0.contains(":") } }
        }
    }
}
