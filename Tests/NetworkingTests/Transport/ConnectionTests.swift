import Foundation
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("Connections", .limitedConcurrency)
struct ConnectionTests {
    private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    @Test("Reuses one connection for successive requests", arguments: TransportUnderTest.allCases)
    func keepAlive(_ transport: TransportUnderTest) async throws {
        try await withPeer { connection in
            while true {
                try connection.readRequest()
                try connection.send(Self.hello)
            }
        } _: { peer in
            try await transport.run { transport in
                for _ in 0..<10 { _ = try await transport.get(peer.url) }
            }
            #expect(peer.acceptedCount == 1)
        }
    }

    @Test("Replaces an idle connection that the server closed", arguments: TransportUnderTest.allCases)
    func closedWhileIdle(_ transport: TransportUnderTest) async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send(Self.hello)
            connection.close()
        } _: { peer in
            try await transport.run { transport in
                for _ in 0..<5 { _ = try await transport.get(peer.url) }
            }
            #expect(peer.acceptedCount == 5)
        }
    }

    @Test("Obeys `Connection: close`")
    func connectionClose() async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                for _ in 0..<3 { _ = try await transport.get(peer.url) }
            }
            #expect(peer.acceptedCount == 3)
        }
    }

    /// Answers the first request, reads the second one on the same connection and closes it without
    /// a response.
    private func dyingConnection(_ test: (TCPPeer) async throws -> Void) async throws {
        try await withPeer(
            { connection in
                try connection.readRequest()
                try connection.send(Self.hello)
                guard connection.number > 0 else {
                    try connection.readRequest()
                    return connection.close()
                }
                try connection.waitForClose()
            },
            test
        )
    }

    @Test("Resends an idempotent request after its kept connection died")
    func swallowedIdempotent() async throws {
        try await dyingConnection { peer in
            try await withCurl { transport in
                _ = try await transport.get(peer.url)
                #expect(try await transport.get(peer.url).status == 200)
            }
            #expect(peer.requests.count == 3)
        }
    }

    @Test(
        "Doesn't resend other requests after their kept connection died",
        arguments: [HTTPBody.none, .data(Data("pay".utf8))]
    )
    func swallowedPost(_ body: HTTPBody) async throws {
        try await dyingConnection { peer in
            try await withCurl { transport in
                _ = try await transport.get(peer.url)
                let request = HTTPTransportRequest(method: .post, url: peer.url, body: body)
                let error = await failure { _ = try await transport.send(request, limits: .generous()) }
                #expect(error?.code == .connectionLost)
                // The transport still works.
                #expect(try await transport.get(peer.url).status == 200)
            }
            #expect(peer.requests.filter { $0.hasPrefix("POST") }.count == 1)
        }
    }

    @Test("Closes idle connections after the idle timeout, and makes new ones")
    func idleTimeout() async throws {
        let closed = Mutex(0)
        try await withPeer { connection in
            defer { closed.withLock { $0 += 1 } }
            while true {
                try connection.readRequest()
                try connection.send(Self.hello)
            }
        } _: { peer in
            let configuration = CurlTransport.Configuration(idleTimeout: .milliseconds(50), proxy: .none)
            try await withCurl(configuration) { transport in
                _ = try await transport.get(peer.url)
                #expect(try await eventually { closed.withLock { $0 } == 1 })
                #expect(try await transport.get(peer.url).status == 200)
            }
            #expect(peer.acceptedCount == 2)
        }
    }

    @Test("Doesn't reuse a connection after the idle timeout, even if the transport is busy", arguments: [1, 60])
    func idleConnection(_ seconds: Int) async throws {
        let gate = ResponseGate()
        try await withLoopbackServer { server in
            server.on(.get, "/busy", LoopbackResponse.text("late").gated(by: gate))
            server.on(.get, "/", .text("hello"))
            let configuration = CurlTransport.Configuration(idleTimeout: .seconds(seconds), proxy: .none)
            try await withCurl(configuration) { transport in
                async let busy = transport.get(server.url(for: "/busy"))
                try await gate.waitForWaiters(count: 1)
                _ = try await transport.get(server.url(for: "/"))
                // libcurl counts whole seconds.
                try await Task.sleep(for: .milliseconds(2200))
                _ = try await transport.get(server.url(for: "/"))
                #expect(server.acceptedConnectionCount == (seconds == 1 ? 3 : 2))
                gate.open()
                #expect(try await busy.status == 200)
            }
        }
    }

    @Test("Limits the requests that run at once per host, and runs the others later")
    func maximumPerHost() async throws {
        let load = Mutex((now: 0, most: 0))
        try await withPeer { connection in
            while true {
                try connection.readRequest()
                load.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                usleep(2000)
                load.withLock { $0.now -= 1 }
                try connection.send(Self.hello)
            }
        } _: { peer in
            try await withCurl(.init(maximumConnectionsPerHost: 3, proxy: .none)) { transport in
                try await withThrowingTaskGroup { group in
                    for _ in 0..<30 { group.addTask { _ = try await transport.get(peer.url) } }
                    try await group.waitForAll()
                }
            }
            #expect(peer.acceptedCount <= 3)
            #expect(load.withLock(\.most) <= 3)
        }
    }

    @Test("Runs many requests at once", arguments: [(TransportUnderTest.curl, 500), (.urlSession, 100)])
    func concurrent(_ transport: TransportUnderTest, count: Int) async throws {
        try await withPeer { connection in
            while true {
                let path = try connection.readRequest().split(separator: " ")[1]
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)")
            }
        } _: { peer in
            try await transport.run { transport in
                try await withThrowingTaskGroup { group in
                    for index in 0..<count {
                        group.addTask {
                            let response = try await transport.get(peer.url("/\(index)"))
                            #expect(response.body == Data("/\(index)".utf8))
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test("Reports that it can't connect to an unused port", arguments: TransportUnderTest.allCases)
    func refused(_ transport: TransportUnderTest) async throws {
        let port = 1  // The kernel never assigns this port.
        try await transport.run { transport in
            let url = URL(string: "http://127.0.0.1:\(port)/path?token=secret")!
            let error = await failure { _ = try await transport.get(url) }
            #expect(error?.code == .cannotConnect)
            #expect(error?.message.contains("127.0.0.1:\(port)") == true)
            #expect(error?.message.contains("secret") == false)
        }
    }

    @Test("Reports that it can't resolve a host without an address", arguments: TransportUnderTest.allCases)
    func unresolvable(_ transport: TransportUnderTest) async throws {
        try await transport.run { transport in
            let error = await failure { _ = try await transport.get(URL(string: "http://nobody.invalid/")!) }
            #expect(error?.code == .cannotResolveHost)
            #expect(error?.message.contains("nobody.invalid:80") == true)
        }
    }

    @Test("Reports a failed handshake with a peer that doesn't use TLS", arguments: TransportUnderTest.allCases)
    func plainPeer(_ transport: TransportUnderTest) async throws {
        try await withPeer { connection in
            _ = try connection.read(100)
            try connection.send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        } _: { peer in
            try await transport.run { transport in
                let url = URL(string: "https://127.0.0.1:\(peer.port)/")!
                let error = await failure { _ = try await transport.get(url) }
                #expect(error?.code == .tls)
            }
        }
    }

    @Test("Applies the connect timeout to a peer that doesn't start the TLS handshake")
    func connectTimeout() async throws {
        try await withPeer { connection in
            try connection.waitForClose()
        } _: { peer in
            try await withCurl(.init(connectTimeout: .milliseconds(50), proxy: .none)) { transport in
                let url = URL(string: "https://127.0.0.1:\(peer.port)/")!
                let error = await failure { _ = try await transport.get(url) }
                #expect(error?.code == .cannotConnect)
            }
        }
    }

    @Test("Reports a lost connection when the peer ends the handshake")
    func handshakeCut() async throws {
        try await withPeer { connection in
            _ = try connection.read(100)
            connection.reset()
        } _: { peer in
            try await withCurl { transport in
                let url = URL(string: "https://127.0.0.1:\(peer.port)/")!
                let error = await failure { _ = try await transport.get(url) }
                #expect(error?.code == .connectionLost)
            }
        }
    }
}
