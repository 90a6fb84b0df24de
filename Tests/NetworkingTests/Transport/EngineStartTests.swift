import Foundation
import FoundationNetworking
import Glibc
import MockNetworking
import Synchronization
import TestSupport
import Testing

@testable import Networking

@Suite("CurlEngine start", .limitedConcurrency, .tags(.concurrency))
struct EngineStartTests {
    @Test("Creates no thread or descriptor for clients that never send a request")
    func unused() async {
        await #expect(processExitsWith: .success) {
            try await Task.sleep(for: .milliseconds(1))
            let before = ProcessState.now
            let clients = (0..<50).map { _ in NetworkClient() }
            let transport = try CurlTransport()
            let after = ProcessState.now
            try require(after.threads <= before.threads + 4 && after.descriptors <= before.descriptors + 4)
            await transport.close()
            let error = await failure { _ = try await transport.get(URL(string: "http://127.0.0.1:1/")!) }
            try require(error?.code == .closed)
            withExtendedLifetime(clients) {}
        }
    }

    private func makeEngine() -> CurlEngine {
        let configuration = CurlTransport.Configuration(proxy: .none)
        return CurlEngine(0, configuration: configuration, admission: CurlAdmission(configuration))
    }

    @Test("Starts the engine once for concurrent first requests")
    func firstRequest() async throws {
        let engine = makeEngine()
        #expect(!engine.isRunning)
        await withThrowingTaskGroup { group in
            for _ in 0..<8 { group.addTask { try engine.start() } }
        }
        #expect(engine.isRunning)
        await engine.close(after: .zero)
        let closed = makeEngine()
        await closed.close(after: .seconds(60))
        try closed.start()
        #expect(!closed.isRunning)
    }

    @Test("Rejects a started transport in another process")
    func otherProcess() async throws {
        // Not a real `fork()`, because a sanitizer's runtime doesn't survive it.
        let engine = makeEngine()
        try engine.start()
        try engine.start()
        #expect(throws: NetworkError(.transportUnavailable, "")) { try engine.start(in: getpid() + 1) }
        await engine.close(after: .zero)
    }

    @Test("Reports a lack of descriptors and recovers when some are available", .shows("Q12"))
    func descriptors() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer.start()
            server.on(.get, "/", .text("x"))
            let url = server.url(for: "/")
            let used = try CurlTransport(configuration: .init(proxy: .none))
            var held = try await used.open(url)
            _ = try await held.body.collect(upTo: 10)
            let fresh = try CurlTransport(configuration: .init(proxy: .none))
            var limit = rlimit()
            try require(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            var low = limit
            low.rlim_cur = 0
            try require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &low) == 0)
            // One has no poller yet, and the other needs another connection.
            for transport in [fresh, used] {
                let error = await failure { _ = try await transport.get(url) }
                try require(error?.code == .transportUnavailable)
                try require(error?.message.contains("EMFILE") == true)
                try require(error?.message.contains("RLIMIT_NOFILE") == true)
            }
            let name = NameResolver.Query(name: "name.invalid", family: .any)
            guard case .failure(.unavailable(let error)) = name.systemAnswer else { exit(3) }
            try require(error.message.contains("EMFILE"))
            try require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            for transport in [fresh, used] { try require(try await transport.get(url).status == 200) }
            held = try await used.open(url)
            try require(held.status == 200)
            await server.stop()
        }
    }

    @Test("Names the exhausted descriptor limit and the setting to raise")
    func descriptorLimits() {
        for (number, words) in [(EMFILE, ["(EMFILE)", "RLIMIT_NOFILE"]), (ENFILE, ["(ENFILE)", "fs.file-max"])] {
            #expect(NetworkError.isDescriptorLimit(number))
            let error = NetworkError.noDescriptor(number, "can't connect to a.example")
            #expect(error.code == .transportUnavailable)
            #expect(error.isUnprocessed)
            for word in words { #expect(error.message.contains(word)) }
        }
        #expect(!NetworkError.isDescriptorLimit(ENOMEM))
        let other = NetworkError.noDescriptor(ENOMEM, "can't connect to a.example")
        #expect(other.code == .transportUnavailable && other.isUnprocessed)
        #expect(!other.message.contains("FILE"))
    }

    @Test("Programs that the process starts don't inherit an engine's descriptors", .shows("N8", "Q6"))
    func inheritance() async {
        await #expect(processExitsWith: .success) {
            func inheritable() -> Set<Int32> {
                Set((3..<1024).filter { fcntl($0, F_GETFD) >= 0 && fcntl($0, F_GETFD) & FD_CLOEXEC == 0 })
            }
            let before = inheritable()
            let server = try LoopbackServer.start()
            server.on(.get, "/", .text("x"))
            let transport = try CurlTransport(configuration: .init(proxy: .none))
            // A host name, so that a lookup happens, and both kinds of connections.
            let url = URL(string: "http://localhost:\(server.port)/")!
            _ = try await transport.get(url)
            let stream = try await transport.open(url)
            let error = await failure { _ = try await transport.get(URL(string: "http://name.invalid/")!) }
            try require(error?.code == .cannotResolveHost)
            try require(inheritable().subtracting(before).isEmpty)
            stream.body.cancel()
            await transport.close()
            await server.stop()
        }
    }

    @Test("Fails every request with the reason if the engine isn't available", .shows("N19"))
    func unavailable() async throws {
        let reason = NetworkError(.transportUnavailable, "install libcurl 4")
        let transport = UnavailableTransport.unless { () throws(NetworkError) in throw reason }
        let client = NetworkClient(transport: transport)
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        for _ in 0..<2 {
            let error = await failure { _ = try await client.makeRequest(URLRequest(url: url)) }
            #expect(error?.code == .transportUnavailable)
            #expect(error?.message == reason.message)
        }
        let streamed = await failure { _ = try await transport.open(url) }
        #expect(streamed?.isUnprocessed == true)
        #expect(streamed?.code == .transportUnavailable)
        #expect(NetworkClient().transport is CurlTransport)
    }
}

/// A resolver that answers from a table, records its queries and can be paused.
final class StubResolver: Sendable {
    private struct State {
        var isOpen: Bool
        var names: [String] = []
        var families: [CurlTransport.AddressFamily] = []
        var running = 0
        var most = 0
    }

    private let state: Mutex<State>
    private let addresses: [String: [String]]

    /// - Parameters:
    ///   - addresses: The addresses of the names that exist.
    ///   - isOpen: Whether lookups complete at once rather than after ``open()``. The default is
    ///     `true`.
    init(_ addresses: [String: [String]], isOpen: Bool = true) {
        self.addresses = addresses
        state = Mutex(State(isOpen: isOpen))
    }

    var names: [String] { state.withLock(\.names) }
    var families: [CurlTransport.AddressFamily] { state.withLock(\.families) }
    var most: Int { state.withLock(\.most) }

    func open() { state.withLock { $0.isOpen = true } }

    func makeResolver(maximumThreads: Int = 32) -> NameResolver {
        NameResolver(maximumThreads: maximumThreads) { [self] in answer($0) }
    }

    private func answer(_ query: NameResolver.Query) -> NameResolver.Answer {
        state.withLock { state in
            state.names.append(query.name)
            state.families.append(query.family)
            state.running += 1
            state.most = max(state.most, state.running)
        }
        while !state.withLock(\.isOpen) { usleep(500) }
        state.withLock { $0.running -= 1 }
        return addresses[query.name].map(Result.success) ?? .failure(.noAddress("no such name"))
    }
}

/// Waits until a condition is true because of another thread.
func waitUntil(_ condition: () -> Bool) async throws {
    while !condition() { try await Task.sleep(for: .milliseconds(1)) }
}

extension CurlTransport.Configuration {
    init(_ resolver: NameResolver, proxy: CurlTransport.ProxySelection = .none) {
        self.init(proxy: proxy)
        self.resolver = resolver
    }
}

@Suite("Connecting", .limitedConcurrency, .tags(.concurrency))
struct ConnectingTests {
    /// A port that neither accepts nor rejects further connections, so that connecting to it never
    /// completes.
    final class FullPort: Sendable {
        let port: Int
        private let sockets: [Int32]

        /// - Parameter port6: The port on the IPv6 loopback address, or `nil` for any port on the
        ///   IPv4 one.
        init(port6: Int? = nil) throws {
            if let port6 {
                var address = sockaddr_in6()
                address.sin6_family = sa_family_t(AF_INET6)
                address.sin6_addr = in6addr_loopback
                address.sin6_port = in_port_t(port6).bigEndian
                sockets = try Self.fill(AF_INET6, &address)
                port = port6
            } else {
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
                sockets = try Self.fill(AF_INET, &address)
                port = Int(UInt16(bigEndian: address.sin_port))
            }
        }

        deinit {
            for socket in sockets { close(socket) }
        }

        var url: URL { URL(string: "http://127.0.0.1:\(port)/")! }

        /// Opens a listener without a backlog and more connections than it accepts.
        private static func fill<Address>(_ family: Int32, _ address: inout Address) throws -> [Int32] {
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            var length = socklen_t(MemoryLayout<Address>.size)
            return try unsafe withUnsafeMutablePointer(to: &address) { pointer in
                try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    let listener = socket(family, kind, 0)
                    guard unsafe bind(listener, address, length) == 0, listen(listener, 0) == 0,
                        unsafe getsockname(listener, address, &length) == 0
                    else {
                        close(listener)
                        throw TCPPeer.Gone()
                    }
                    var sockets = [listener]
                    for _ in 0..<4 {
                        sockets.append(socket(family, kind, 0))
                        _ = unsafe connect(sockets[sockets.count - 1], address, length)
                    }
                    return sockets
                }
            }
        }
    }

    @Test("Applies the connect timeout and the deadline to a host that doesn't respond")
    func timeouts() async throws {
        let full = try FullPort()
        let connect = NetworkError.Timeout(limit: .connect, phase: .connecting)
        let refused = await failure(expecting: connect) { limit in
            try await withCurl(.init(connectTimeout: limit, proxy: .none)) { _ = try await $0.get(full.url) }
        }
        #expect(refused?.code == .cannotConnect)
        #expect(refused?.timeout == connect)
        try await withCurl { transport in
            let deadline = NetworkError.Timeout(limit: .deadline, phase: .connecting)
            let error = await failure(expecting: deadline) { limit in
                _ = try await transport.get(full.url, .init(deadline: .now + limit))
            }
            #expect(error?.timeout == deadline)
        }
    }

    @Test("Applies the connect timeout to a proxy that doesn't respond", arguments: [false, true])
    func silentProxy(isSOCKS: Bool) async throws {
        try await withPeer(TCPPeer.silence) { proxy in
            var configuration = CurlTransport.Configuration(connectTimeout: .milliseconds(50))
            let location = "127.0.0.1:\(proxy.port)"
            configuration.proxy =
                isSOCKS ? .socks5(URL(string: "socks5://\(location)")!) : .http(URL(string: "http://\(location)")!)
            try await withCurl(configuration) { transport in
                let error = await failure { _ = try await transport.get(URL(string: "https://origin.invalid/")!) }
                #expect(error?.code == .cannotConnect)
                #expect(error?.timeout?.limit == .connect)
            }
        }
    }

    @Test("Cancelling while connecting ends the request and starts the next one")
    func cancelled() async throws {
        let full = try FullPort()
        let silent = try TCPPeer { try $0.waitForClose() }
        defer { silent.stop() }
        try await withPeer(answering: TCPPeer.hello) { peer in
            let configuration = CurlTransport.Configuration(
                connectTimeout: .seconds(600),
                maximumConnections: 1,
                proxy: .none
            )
            try await withCurl(configuration) { transport in
                for url in [full.url, URL(string: "https://127.0.0.1:\(silent.port)/")!] {
                    let task = Task { try await transport.get(url) }
                    try await Task.sleep(for: .milliseconds(20))
                    task.cancel()
                    await #expect(throws: CancellationError.self) { try await task.value }
                }
                let response = try await transport.get(peer.url)
                #expect(response.status == 200)
            }
        }
    }

    // RFC 8305: an address that doesn't respond costs a head start, not the connect timeout.
    @Test("Connects over IPv4 if IPv6 doesn't respond")
    func racing() async throws {
        try await withPeer(answering: TCPPeer.hello) { peer in
            // Without IPv6, there's nothing to race.
            guard let full = try? FullPort(port6: peer.port) else { return }
            var configuration = CurlTransport.Configuration(connectTimeout: .seconds(600), proxy: .none)
            configuration.happyEyeballsDelay = .milliseconds(300)
            configuration.resolverEntries = [
                .init(host: "both.invalid", port: full.port, addresses: ["::1", "127.0.0.1"])
            ]
            try await withCurl(configuration) { transport in
                let response = try await transport.get(URL(string: "http://both.invalid:\(full.port)/")!)
                #expect(response.status == 200)
            }
        }
    }
}
