import Foundation
import Glibc
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

/// Tests of starting, stopping, concurrency and resource leaks.
@Suite(.limitedConcurrency, .tags(.concurrency)) struct LoopbackLifetimeTests {
    private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

    @Test("A slow or silent client doesn't block others")
    func slowClient() async throws {
        try await withLoopbackServer { server in
            server.on(.post, "/", .text("done"))
            server.on(.get, "/", .text("fast"))
            try await offPool { [port = server.port] in
                let silent = try RawConnection(port: port)
                let slow = try RawConnection(port: port)
                let others = try (0..<10).map { _ in try RawConnection(port: port) }
                for byte in "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc".utf8 {
                    try slow.send(Data([byte]))
                    let other = others[Int(byte) % 10]
                    try other.send(Self.get)
                    #expect(try other.receiveResponse().body == "fast")
                }
                #expect(try slow.receiveResponse().body == "done")
                try silent.send(Self.get)
                #expect(try silent.receiveResponse().body == "fast")
            }
            #expect(server.acceptedConnectionCount == 12)
        }
    }

    @Test("Handles 500 requests on 500 connections concurrently")
    func manyAtOnce() async throws {
        try allowManyDescriptors()
        let gate = ResponseGate()
        try await withLoopbackServer { server in
            server.on(.get, "/*") { .text($0.path).gated(by: gate) }
            let count = 500
            async let bodies = offPool { [port = server.port] in
                let connections = try (0..<count).map { _ in try RawConnection(port: port) }
                for (index, connection) in connections.enumerated() {
                    try connection.send("GET /\(index) HTTP/1.1\r\nHost: h\r\n\r\n")
                }
                return try connections.map { try $0.receiveResponse().body }
            }
            try await gate.waitForWaiters(count: count)
            #expect(server.runningHandlerCount == count)
            #expect(server.openConnectionCount == count)
            gate.open()
            #expect(try await bodies == (0..<count).map { "/\($0)" })
            #expect(Set(server.requests.map(\.connection)) == Set(1...count))
        }
    }

    @Test("Keeps 1,000 connections open at the same time")
    func manyConnections() async throws {
        try allowManyDescriptors()
        try await withLoopbackServer { server in
            server.on(.get, "/", .text("x"))
            let count = 1000
            try await offPool { [port = server.port] in
                let connections = try (0..<count).map { _ in try RawConnection(port: port) }
                for _ in 0..<2 {
                    for connection in connections { try connection.send(Self.get) }
                    for connection in connections { #expect(try connection.receiveResponse().status == 200) }
                }
            }
            #expect(server.acceptedConnectionCount == count)
            #expect(server.requestCount == 2 * count)
            try await server.waitForOpenConnections(atMost: 0)
        }
    }

    @Test("Stopping cancels handlers, closes connections, and waits for both")
    func stopWhileRunning() async throws {
        let server = try LoopbackServer.start()
        let ended = Mutex(0)
        let streaming = ResponseGate()
        server.on(.get, "/handler") { _ in
            defer { ended.withLock { $0 += 1 } }
            try await ResponseGate().wait()
            return .status(200)
        }
        server.on(.get, "/gate", .text("x").gated(by: ResponseGate()))
        server.on(.get, "/never", .never)
        server.on(
            .get,
            "/stream",
            .stream { writer in
                defer { ended.withLock { $0 += 1 } }
                streaming.open()
                while true { try await writer.write(Data(count: 1 << 20)) }
            }
        )
        async let texts = offPool { [port = server.port] in
            let connections = try ["/handler", "/gate", "/never", "/stream"].map { path in
                let connection = try RawConnection(port: port)
                try connection.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
                return connection
            }
            return try connections.dropLast().map { try $0.receiveAll() }
        }
        try await server.waitForRequests(count: 4)
        try await streaming.wait()
        await server.stop()
        #expect(ended.withLock { $0 } == 2)
        #expect(server.runningHandlerCount == 0)
        #expect(server.openConnectionCount == 0)
        #expect(server.requestCount == 4)
        #expect(server.handlerErrors.isEmpty)
        #expect(try await texts == ["", "", ""])
        await #expect(throws: RawConnection.Failure.self) { try await rawExchange(server.port, Self.get) }
    }

    @Test("Stops more than once, from many tasks and from a handler")
    func stopOften() async throws {
        let server = try LoopbackServer.start()
        let stopped = ResponseGate()
        server.on(.get, "/") { [weak server] _ in
            await server?.stop()
            stopped.open()
            return .status(200)
        }
        let text = try await rawExchange(server.port, Self.get)
        #expect(text == "")
        try await stopped.wait()
        await withTaskGroup { group in
            for _ in 0..<10 { group.addTask { await server.stop() } }
        }
        await server.stop()
        #expect(server.runningHandlerCount == 0)
    }

    @Test("Stops completely even in a canceled task")
    func stopWhenCancelled() async throws {
        let server = try LoopbackServer.start()
        server.on(.get, "/", .text("x").gated(by: ResponseGate()))
        async let text = rawExchange(server.port, Self.get)
        try await server.waitForRequests(count: 1)
        let stopping = Task {
            while !Task.isCancelled { await Task.yield() }
            await server.stop()
        }
        stopping.cancel()
        await stopping.value
        #expect(server.runningHandlerCount == 0)
        #expect(try await text == "")
    }

    @Test("withLoopbackServer stops the server when its closure throws")
    func scopedStop() async throws {
        struct Failed: Error {}
        let port = Mutex(0)
        await #expect(throws: Failed.self) {
            try await withLoopbackServer { server in
                port.withLock { $0 = server.port }
                throw Failed()
            }
        }
        let number = port.withLock { $0 }
        await #expect(throws: RawConnection.Failure.self) { try await rawExchange(number, Self.get) }
    }

    @Test("A released server closes its connections, even if its own handlers retained it")
    func dropped() async throws {
        var server: LoopbackServer? = try LoopbackServer.start()
        server?.on(.get, "/", .never)
        let port = try #require(server?.port)
        let connection = try await offPool {
            let connection = Held(try RawConnection(port: port))
            try connection.value?.send(Self.get)
            return connection
        }
        try await server?.waitForRequests(count: 1)
        server = nil
        let text = try await offPool { try connection.value?.receiveAll() }
        #expect(text == "")

        weak var held: LoopbackServer?
        do {
            let cyclic = try LoopbackServer.start()
            cyclic.on(.get, "/") { _ in .text("\(cyclic.requestCount)") }
            held = cyclic
            await cyclic.stop()
        }
        #expect(try await eventually { held == nil })
    }

    @Test("Leaks neither descriptors nor threads", .shows("Y8"))
    func nothingLeaks() async {
        // In a separate process, because other suites open and close descriptors all the time.
        await #expect(processExitsWith: .success) {
            func count(_ folder: String) throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/" + folder).count
            }
            func useServer(stopping: Bool) async throws {
                let server = try LoopbackServer.start()
                server.on(.get, "/", .text("x"))
                server.on(.get, "/never", .never)
                server.on(.get, "/cut", .text("x").cut(.afterHead, resetting: true))
                try await offPool { [port = server.port] in
                    let connections = try ["/", "/never", "/cut", "bad"].map { path in
                        let connection = try RawConnection(port: port)
                        try connection.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
                        return connection
                    }
                    _ = try connections[0].receiveResponse()
                }
                if stopping { await server.stop() }
            }
            for _ in 0..<5 { try await useServer(stopping: true) }
            // A leak of each stopped or each released server exceeds what the runtime may add.
            let limits = try ["fd", "task"].map { (folder: $0, limit: try count($0) + 20) }
            for index in 0..<60 { try await useServer(stopping: index % 2 == 0) }
            for (folder, limit) in limits where try await !eventually({ try count(folder) <= limit }) {
                print("\(folder): \(try count(folder)), at most \(limit) expected")
                exit(1)
            }
        }
    }

    @Test("Accepts connections again when descriptors become available")
    func exhaustedDescriptors() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer.start()
            server.on(.get, "/", .text("x"))
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            let isSet = unsafe setrlimit(Int32(RLIMIT_NOFILE.rawValue), &limit)
            guard isSet == 0 else { exit(2) }
            let status = try await offPool { [port = server.port] in
                var hoard: [RawConnection] = []
                while let connection = try? RawConnection(port: port) { hoard.append(connection) }
                hoard.removeFirst(hoard.count - 4)
                for connection in hoard { try connection.send(LoopbackLifetimeTests.get) }
                return try hoard.map { try $0.receiveResponse().status }
            }
            await server.stop()
            guard status == [200, 200, 200, 200] else { exit(1) }
        }
    }

    /// Raises the descriptor limit: client and server of 1,000 connections need 2,000 descriptors.
    private func allowManyDescriptors() throws {
        let resource = Int32(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        let isRead = unsafe getrlimit(resource, &limit)
        try #require(isRead == 0)
        // Includes a reserve for the sockets of other tests that run in parallel.
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 65_536))
        let isSet = unsafe setrlimit(resource, &limit)
        try #require(isSet == 0)
    }
}
