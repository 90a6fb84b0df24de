import Glibc
internal import OpenSSLCrypto
import Synchronization
import SystemIO

/// A resolver that looks up host names with a limited number of threads.
///
/// `getaddrinfo` blocks its thread for as long as the name servers take and can't be cancelled.
/// Therefore at most ``maximumThreads`` lookups run at once and others wait. Callers that request a
/// name while it's being looked up share the lookup. A lookup without remaining callers counts
/// until the system returns.
///
/// libcurl's own resolver can't do that. Before 8.20, it starts a thread for each transfer, without
/// a limit and also for the same name, and since then, it has a limit per multi handle. Before
/// 7.87, removing a transfer waits until the system returns, which would stop the engine's thread.
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

    private struct State {
        var process = getpid()
        /// The callers of each lookup that's running or waiting.
        var lookups: [Query: [UInt64: @Sendable (Answer) -> Void]] = [:]
        /// The lookups that are waiting for a thread, oldest first.
        var line: [Query] = []
        var threads = 0
        var lastNumber: UInt64 = 0
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

    var callerCount: Int { state.withLock { $0.lookups.values.reduce(0) { $0 + $1.count } } }

    /// Looks up a name, or joins a lookup that has already started; `deliver` receives the answer
    /// on another thread or, if no thread can be started, before this method returns.
    func resolve(_ query: Query, _ deliver: @escaping @Sendable (Answer) -> Void) -> Ticket {
        let (number, mustStart) = state.withLock { state in
            // `fork()` copies the counts but not the threads.
            if state.process != getpid() { state = State() }
            state.lastNumber += 1
            let isNew = state.lookups[query] == nil
            state.lookups[query, default: [:]][state.lastNumber] = deliver
            let mustStart = isNew && state.threads < maximumThreads
            if mustStart { state.threads += 1 } else if isNew { state.line.append(query) }
            return (state.lastNumber, mustStart)
        }
        if mustStart { start(query) }
        return Ticket(query: query, number: number)
    }

    /// A waiting lookup without callers leaves the queue.
    func leave(_ ticket: Ticket) {
        state.withLock { state in
            state.lookups[ticket.query]?[ticket.number] = nil
            guard let callers = state.lookups[ticket.query], callers.isEmpty,
                let index = state.line.firstIndex(of: ticket.query)
            else { return }
            state.line.remove(at: index)
            state.lookups[ticket.query] = nil
        }
    }

    private func start(_ query: Query) {
        do throws(SystemFailure) {
            _ = try WorkerThread(named: "name-lookup") { [self] in
                run(query, isThread: true) { query in query.ordered(lookUp(query)) }
            }
        } catch {
            let failure = NetworkError(
                .transportUnavailable,
                "can't start a thread to look up names (error \(error.number))",
                isUnprocessed: true
            )
            run(query, isThread: false) { _ in .failure(.unavailable(failure)) }
        }
    }

    /// Answers a lookup and then those that are waiting.
    private func run(_ query: Query, isThread: Bool, _ answer: (Query) -> Answer) {
        var current: Query? = query
        while let query = current {
            let answer = answer(query)
            let callers = state.withLock { state in
                // If no thread is running, nothing else would ever start the waiting lookups.
                let goesOn = (isThread || state.threads == 1) && !state.line.isEmpty
                current = goesOn ? state.line.removeFirst() : nil
                if !goesOn { state.threads -= 1 }
                return state.lookups.removeValue(forKey: query) ?? [:]
            }
            for deliver in callers.values { deliver(answer) }
        }
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
        text.utf8.contains(UInt8(ascii: ":")) || IPAddress(resolving: text) != nil
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
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let size = socklen_t(text.count)
        let code = unsafe getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, size, nil, 0, NI_NUMERICHOST)
        let address = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return code == 0 && !address.utf8.contains(UInt8(ascii: "%")) ? address : nil
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
