import Foundation
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

/// The conditions under which a request is or isn't sent a second time.
@Suite("Resent requests", .limitedConcurrency, .tags(.concurrency))
struct RepeatedRequestTests {
    private static let text = String(repeating: "body", count: 50_000)

    /// Answers the first request of each connection.
    ///
    /// The first connection then reads a second request and closes without a response.
    private func dyingConnection(readsBody: Bool, _ test: (TCPPeer, CurlTransport) async throws -> Void) async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send(TCPPeer.empty)
            guard connection.number > 0 else {
                if readsBody { try connection.readRequest() }
                return connection.close()
            }
            try connection.waitForClose()
        } _: { peer in
            // Streamed bodies use separate connections, so the first request is streamed too.
            try await withCurl { transport in
                let first = try await transport.open(peer.url)
                _ = try await first.body.collect(upTo: 0)
                try await test(peer, transport)
            }
        }
    }

    private static func parts() -> AsyncStream<Data> { .of(text) }

    @Test("Resends a replayable body from the start")
    func replayable() async throws {
        let beginnings = Atomic<Int>(0)
        try await dyingConnection(readsBody: true) { peer, transport in
            let body = HTTPBody.stream(length: Self.text.utf8.count) {
                beginnings.add(1, ordering: .relaxed)
                return Self.parts()
            }
            let response = try await transport.send(HTTPRequest(method: .put, url: peer.url, body: body))
            #expect(response.status == 200)
            #expect(beginnings.load(ordering: .relaxed) == 2)
            let sent = peer.requests.filter { $0.hasPrefix("PUT") }
            #expect(sent.count == 2)
            #expect(sent.allSatisfy { $0.hasSuffix("\r\n\r\n" + Self.text) })
        }
    }

    @Test(
        "Doesn't resend a body that isn't replayable or a request that isn't idempotent",
        arguments: [HTTPMethod.put, .post]
    )
    func notReplayable(_ method: HTTPMethod) async throws {
        try await dyingConnection(readsBody: true) { peer, transport in
            let once = HTTPBody.once(Self.parts(), length: Self.text.utf8.count)
            let again = HTTPBody.stream(length: Self.text.utf8.count) { Self.parts() }
            let request = HTTPRequest(method: method, url: peer.url, body: method == .put ? once : again)
            await expectFailure(.connectionLost) { _ = try await transport.send(request) }
            #expect(peer.requests.filter { $0.hasPrefix("\(method)") }.count == 1)
            // The transport still works.
            let response = try await transport.get(peer.url)
            #expect(response.status == 200)
        }
    }

    @Test("Returns a 417 response without resending the request", arguments: [HTTPMethod.put, .post], [false, true])
    func expectationFailed(_ method: HTTPMethod, isStreamed: Bool) async throws {
        try await withPeer { connection in
            let head = try connection.readHead()
            #expect(head.contains("Expect: 100-continue\r\n"))
            try connection.send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 3\r\n\r\nno!")
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let body = isStreamed ? HTTPBody.once(Self.parts()) : .data(Data(Self.text.utf8))
                let request = HTTPRequest(
                    method: method,
                    url: peer.url,
                    headers: ["Expect": "100-continue"],
                    body: body
                )
                let response = try await transport.send(request)
                #expect(response.status == 417)
                #expect(response.body.isEmpty)
                #expect(response.trailers.isEmpty)
                let stream = try await transport.open(request)
                #expect(stream.status == 417)
                #expect(try await stream.body.collect(upTo: 3).isEmpty)
            }
            #expect(peer.acceptedCount <= 2)
        }
    }

    @Test("Doesn't produce a body that the server rejects with Expect")
    func refusedBeforeBody() async throws {
        try await withCurl { connection in
            try connection.readHead()
            try connection.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            try connection.waitForClose()
        } _: { transport, peer in
            let body = HTTPBody.stream { () -> AsyncStream<Data> in
                Issue.record("the producer was called")
                return Self.parts()
            }
            let request = HTTPRequest(
                method: .put,
                url: peer.url,
                headers: ["Expect": "100-continue"],
                body: body
            )
            let response = try await transport.send(request)
            #expect(response.status == 401)
        }
    }

    @Test(
        "Sends a request on a new connection if its kept one received stray data, with any method",
        .shows("N2"),
        arguments: [HTTPMethod.get, .post, .patch]
    )
    func strayOctet(_ method: HTTPMethod) async throws {
        let (isRead, isSent) = (AsyncGate(), ResponseGate())
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send(TCPPeer.empty)
            if connection.number == 0 {
                isRead.waitBlocking()
                try connection.send("x")
                isSent.open()
            }
            while true {
                try connection.readRequest()
                try connection.send(TCPPeer.empty)
            }
        } _: { peer in
            try await withCurl { transport in
                _ = try await transport.get(peer.url("/first"))
                isRead.open()
                try await isSent.wait()
                let body = HTTPBody.data(Data((method == .get ? "" : "once").utf8))
                let request = HTTPRequest(method: method, url: peer.url("/next"), body: body)
                let response = try await transport.send(request)
                #expect(response.status == 200)
            }
            #expect(peer.requests.filter { $0.hasPrefix("\(method) /next") }.count == 1)
        }
    }

    @Test("Replaces dead connections any number of times")
    func manyDeadConnections() async throws {
        // Every connection answers once, reads another request and closes without a response.
        try await withCurl { connection in
            try connection.readRequest()
            try connection.send(TCPPeer.empty)
            try connection.readRequest()
            connection.close()
        } _: { transport, peer in
            for _ in 0..<20 {
                let response = try await transport.get(peer.url)
                #expect(response.status == 200)
            }
            #expect(peer.acceptedCount == 20)
        }
    }

    @Test("Makes a new connection even if all kept ones are dead")
    func manyDeadConnectionsAtOnce() async throws {
        let count = 12
        let haveCome = Atomic<Int>(0)
        let gate = AsyncGate()
        try await withPeer { connection in
            try connection.readRequest()
            if connection.number < count {
                // All responses wait for the last request, so that each request has a connection.
                if haveCome.add(1, ordering: .relaxed).newValue == count { for _ in 0..<count { gate.open() } }
                gate.waitBlocking()
            }
            try connection.send(TCPPeer.empty)
            try connection.readRequest()
            if connection.number < count { return connection.close() }
            try connection.send(TCPPeer.empty)
        } _: { peer in
            var configuration = CurlTransport.Configuration(proxy: .none)
            configuration.maximumConnectionsPerHost = count
            try await withCurl(configuration) { transport in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<count { group.addTask { _ = try await transport.get(peer.url) } }
                    try await group.waitForAll()
                }
                #expect(try await transport.get(peer.url).status == 200)
            }
        }
    }

    @Test("Distinguishes unsent requests from ones that may have been processed")
    func unprocessed() async throws {
        try await withCurl { connection in
            try connection.readRequest()
        } _: { transport, peer in
            let request = HTTPRequest(method: .post, url: peer.url, body: .data(Data("x".utf8)))
            let lost = await failure { _ = try await transport.send(request) }
            #expect(lost?.code == .connectionLost && lost?.isUnprocessed == false)
            peer.stop()
            let refused = await failure { _ = try await transport.send(request) }
            #expect(refused?.code == .cannotConnect && refused?.isUnprocessed == true)
        }
    }
}
