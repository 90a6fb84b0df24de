import Foundation
import FoundationNetworking
import Glibc
import MockNetworking
import TestSupport
import Testing

@testable import Networking

/// The start of the engine and its effects on the process.
@Suite("CurlEngine start", .limitedConcurrency)
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

    @Test("Reports a lack of descriptors and recovers when some are available")
    func descriptors() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer.start()
            server.on(.get, "/", .text("x"))
            let url = server.url(for: "/")
            let used = try CurlTransport(configuration: .init(proxy: .none))
            var held = try await used.open(HTTPTransportRequest(url: url), limits: .generous())
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
            held = try await used.open(HTTPTransportRequest(url: url), limits: .generous())
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

    @Test("Programs that the process starts don't inherit an engine's descriptors")
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
            let stream = try await transport.open(HTTPTransportRequest(url: url), limits: .generous())
            let error = await failure { _ = try await transport.get(URL(string: "http://name.invalid/")!) }
            try require(error?.code == .cannotResolveHost)
            try require(inheritable().subtracting(before).isEmpty)
            stream.body.cancel()
            await transport.close()
            await server.stop()
        }
    }

    @Test("Fails every request with the reason if the engine isn't available")
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
        let request = HTTPTransportRequest(url: url)
        let streamed = await failure { _ = try await transport.open(request, limits: .generous()) }
        #expect(streamed?.isUnprocessed == true)
        #expect(streamed?.code == .transportUnavailable)
        #expect(NetworkClient().transport is CurlTransport)
    }
}
