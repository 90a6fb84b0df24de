import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

/// Tests of responses on the wire.
@Suite(.limitedConcurrency, .tags(.concurrency)) struct LoopbackResponseTests {
    private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

    /// Returns the bytes of a response, up to the end of its connection.
    private func wire(_ response: LoopbackResponse, _ request: String = get) async throws -> String {
        try await withLoopbackServer { server in
            server.onAnyMethod("/") { _ in response }
            return try await rawExchange(server.port, request)
        }
    }

    @Test("Sends the status, reason and fields unchanged, in order, with repeated fields separate")
    func head() async throws {
        let headers: HTTPHeaders = ["set-cookie": "a=1", "X": "ü", "set-cookie": "b=2"]
        #expect(
            try await wire(LoopbackResponse(status: 299, reason: "Odd  one", headers: headers, body: Data("ab".utf8)))
                == "HTTP/1.1 299 Odd  one\r\nset-cookie: a=1\r\nX: ü\r\nset-cookie: b=2\r\nContent-Length: 2\r\n\r\nab"
        )
        #expect(try await wire(LoopbackResponse(reason: "")) == "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n")
        #expect(try await wire(.status(999)) == "HTTP/1.1 999 \r\nContent-Length: 0\r\n\r\n")
        #expect(try await wire(.status(404)) == "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        #expect(try await wire(.status(304)) == "HTTP/1.1 304 Not Modified\r\n\r\n")
        #expect(
            try await wire(LoopbackResponse(status: 204, body: Data("x".utf8))) == "HTTP/1.1 204 No Content\r\n\r\n"
        )
    }

    @Test("Adds the content type of text and JSON bodies unless one is given")
    func bodies() async throws {
        struct Model: Encodable { var b = 1, a = "/" }
        let json = RawResponse(text: try await wire(try .json(encoding: Model(), status: 201)))
        #expect(json.body == #"{"a":"/","b":1}"#)
        #expect(json.headers["content-type"] == "application/json")
        let typed = RawResponse(text: try await wire(.text("x", headers: ["content-type": "text/html"])))
        #expect(typed.headers["content-type"] == "text/html")
        #expect(RawResponse(text: try await wire(.text("ä"))).headers["content-length"] == "2")
    }

    @Test("Sends a chunked body with its chunks and trailers")
    func chunked() async throws {
        let response = LoopbackResponse.chunked(
            [Data("hello".utf8), Data(), Data(repeating: 0x78, count: 17)],
            headers: ["A": "b"],
            trailers: ["T": "1", "U": "2"]
        )
        #expect(
            try await wire(response)
                == "HTTP/1.1 200 OK\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n11\r\nxxxxxxxxxxxxxxxxx\r\n"
                + "0\r\nT: 1\r\nU: 2\r\n\r\n"
        )
    }

    @Test("Sends a streamed body while it is being written")
    func stream() async throws {
        let gate = ResponseGate()
        try await withLoopbackServer { server in
            server.on(
                .get,
                "/",
                .stream(length: 6) { writer in
                    try await writer.write("one")
                    try await gate.wait()
                    try await writer.write("two")
                }
            )
            try await offPool { [port = server.port] in
                let connection = try RawConnection(port: port)
                try connection.send(Self.get)
                let first = try connection.receive(through: "one")
                #expect(first == "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\none")
                gate.open()
                #expect(try connection.receive(octets: 3) == "two")
                try connection.send(Self.get)
                #expect(try connection.receiveResponse().body == "onetwo")
            }
        }
    }

    @Test("Cuts the connection if a stream fails or differs from its declared length")
    func brokenStream() async throws {
        struct Failed: Error {}
        #expect(
            try await wire(.stream(length: 9) { try await $0.write("short") })
                == "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"
        )
        #expect(
            try await wire(.text("short", headers: ["Content-Length": "9"])).hasSuffix(
                "\r\nContent-Length: 9\r\nConnection: close\r\n\r\nshort"
            )
        )
        try await withLoopbackServer { server in
            server.on(
                .get,
                "/",
                .stream { writer in
                    try await writer.write("part")
                    throw Failed()
                }
            )
            let text = try await offPool { [port = server.port] in
                let connection = try RawConnection(port: port)
                try connection.send(Self.get)
                return try connection.receiveAll()
            }
            #expect(text == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n")
            #expect(server.handlerErrors.first is Failed)
        }
    }

    @Test("A writer waits for the client, and fails when the client disconnects")
    func abandonedStream() async throws {
        let outcome = ResponseGate()
        try await withLoopbackServer { server in
            server.on(
                .get,
                "/",
                .stream { writer in
                    do {
                        while true { try await writer.write(Data(count: 1 << 20)) }
                    } catch {
                        #expect(error as? MockError == MockError(.connectionClosed, ""))
                        outcome.open()
                        throw error
                    }
                }
            )
            try await offPool { [port = server.port] in
                let connection = try RawConnection(port: port)
                try connection.send(Self.get)
                _ = try connection.receive(octets: 3 << 20)
            }
            try await outcome.wait()
            try await server.waitForOpenConnections(atMost: 0)
            #expect(server.handlerErrors.isEmpty)
        }
    }

    @Test("Transfers a large body completely")
    func largeBody() async throws {
        let body = Data((0..<(8 << 20)).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) })
        try await withLoopbackServer { server in
            server.on(.post, "/") { LoopbackResponse(body: $0.body) }
            let answer = try await offPool { [port = server.port] in
                let connection = try RawConnection(port: port)
                try connection.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.count)\r\n\r\n")
                try connection.send(body)
                _ = try connection.receive(through: "\r\n\r\n")
                return try connection.receiveData(octets: body.count)
            }
            #expect(answer == body)
            #expect(server.requests.first?.body == body)
        }
    }

    @Test("Delays the head or the body by the server's time source")
    func delay() async throws {
        let time = ManualTime()
        var configuration = LoopbackServer.Configuration()
        configuration.time = time.timeSource
        try await withLoopbackServer(configuration: configuration) { server in
            server.on(.get, "/", .text("late").delayed(by: .seconds(3)).bodyDelayed(by: .seconds(60)))
            async let text = rawExchange(server.port, Self.get)
            try await time.waitForSleepers(count: 1)
            time.advance(by: .seconds(3))
            try await time.waitForSleepers(count: 1)
            time.advance(by: .seconds(60))
            #expect(try await text.hasSuffix("\r\n\r\nlate"))
            #expect(time.sleeps == [.seconds(3), .seconds(60)])
        }
    }

    @Test("Holds the head or the body back at a gate")
    func gates() async throws {
        let headGate = ResponseGate()
        let bodyGate = ResponseGate()
        try await withLoopbackServer { server in
            server.on(.get, "/", .text("late").gated(by: headGate).bodyGated(by: bodyGate))
            async let text = offPool { [port = server.port] in
                let connection = try RawConnection(port: port)
                try connection.send(Self.get)
                let head = try connection.receive(through: "\r\n\r\n")
                #expect(!bodyGate.isOpen)
                bodyGate.open()
                return try head + connection.receive(octets: 4)
            }
            try await headGate.waitForWaiters(count: 1)
            headGate.open()
            #expect(try await text.hasSuffix("\r\n\r\nlate"))
        }
    }

    @Test(
        "Cuts the connection at the given point",
        arguments: [
            (LoopbackResponse.CutPoint.beforeHead, ""),
            (.afterHead, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
            (.afterBody(octets: 2), "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"),
            (.after(octets: 10), "HTTP/1.1 2"),
            (.after(octets: 1000), "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
            (.after(octets: -1), ""),
        ]
    )
    func cut(_ point: LoopbackResponse.CutPoint, _ expected: String) async throws {
        try await withLoopbackServer { server in
            server.on(.get, "/", LoopbackResponse(body: Data("hello".utf8)).cut(point))
            let text = try await offPool { [port = server.port] in
                let connection = try RawConnection(port: port)
                try connection.send(Self.get + Self.get)
                return try connection.receiveAll()
            }
            #expect(text == expected)
            #expect(server.requestCount == 1)
        }
    }

    @Test("Cuts a chunked body inside a chunk, and fails its writer")
    func cutStream() async throws {
        let learned = ResponseGate()
        let response = LoopbackResponse.stream { writer in
            try await writer.write("hello")
            do {
                try await writer.write("world")
            } catch {
                learned.open()
                throw error
            }
        }
        #expect(
            try await wire(response.cut(.afterBody(octets: 14)))
                == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nw"
        )
        #expect(learned.isOpen)
    }

    @Test("Resets the connection instead of closing it", arguments: [LoopbackResponse.CutPoint.beforeHead, .afterHead])
    func reset(_ point: LoopbackResponse.CutPoint) async throws {
        try await withLoopbackServer { server in
            server.on(.get, "/", .text("hello").cut(point, resetting: true))
            let error = await #expect(throws: RawConnection.Failure.self) {
                try await offPool { [port = server.port] in
                    let connection = try RawConnection(port: port)
                    try connection.send(Self.get)
                    _ = try connection.receiveAll()
                }
            }
            #expect(error?.isReset == true)
        }
    }

    @Test("Sends raw bytes unchanged, and closes or keeps the connection")
    func raw() async throws {
        #expect(try await wire(.raw("HTTP/0.9 what?\n")) == "HTTP/0.9 what?\n")
        #expect(try await wire(.raw("SSH-2.0-x\r\n").cut(.after(octets: 3))) == "SSH")
        #expect(try await wire(.raw(Data())) == "")
        #expect(try await wire(.raw("a;", closing: false), Self.get + Self.get) == "a;a;")
    }

    @Test("Sends interim responses first")
    func interim() async throws {
        let text = try await wire(.text("x").preceded(by: 103, headers: ["Link": "</a>"]).preceded(by: 102))
        #expect(
            text.hasPrefix("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 \r\n\r\nHTTP/1.1 200 OK\r\n")
        )
    }

    @Test("Keeps the connection of an unanswered request until the client gives up")
    func never() async throws {
        try await withLoopbackServer { server in
            server.on(.get, "/", .never)
            let connection = try await offPool { [port = server.port] in
                let connection = Held(try RawConnection(port: port))
                try connection.value?.send(Self.get)
                return connection
            }
            try await server.waitForRequests(count: 1)
            #expect(server.openConnectionCount == 1)
            connection.value = nil
            try await server.waitForOpenConnections(atMost: 0)
        }
    }

    @Test("A successful response to CONNECT has no length, and the tunnel leads back to the server")
    func connect() async throws {
        try await withLoopbackServer { server in
            server.on(.connect, "h:80", .status(200))
            server.on(.get, "/", .text("inside"))
            let text = try await rawExchange(server.port, "CONNECT h:80 HTTP/1.1\r\nHost: h:80\r\n\r\n" + Self.get)
            #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n"))
            #expect(text.hasSuffix("inside"))
        }
    }
}

@Suite("Digests of the loopback server", .limitedConcurrency, .tags(.concurrency))
struct LoopbackDigestTests {
    private static let content = Data("hello".utf8)

    private func answer(
        _ wanted: HTTPHeaders,
        _ method: String = "GET",
        _ headers: HTTPHeaders = [:],
        representation: Data? = nil
    ) async throws -> HTTPHeaders {
        try await withLoopbackServer { server async throws in
            server.onAnyMethod("/") { request in
                let response = LoopbackResponse(headers: headers, body: Self.content)
                return (try? response.addingDigests(wantedBy: request, representation: representation)) ?? .status(500)
            }
            var request = URLRequest(url: server.url(for: "/"))
            request.httpMethod = method
            for field in wanted { request.setValue(field.value, forHTTPHeaderField: field.name) }
            return try await NetworkClient().response(for: request).headers
        }
    }

    @Test("Adds the digests that the request asks for, with the preferred algorithm", .shows("RFC 9530 §4"))
    func wanted() async throws {
        let sha256 = try HTTPDigest(of: Self.content).fieldValue
        let sha512 = try HTTPDigest(of: Self.content, by: .sha512).fieldValue
        let none = try await answer([:])
        #expect(none["Content-Digest"] == nil && none["Repr-Digest"] == nil)
        let content = try await answer(["Want-Content-Digest": "sha-256=1, sha-512=2, md5=10"])
        #expect(content["Content-Digest"] == sha512 && content["Repr-Digest"] == nil)
        let both = try await answer(["Want-Content-Digest": "sha-256=1", "Want-Repr-Digest": "sha-512=0, sha-256=1"])
        #expect(both["Content-Digest"] == sha256 && both["Repr-Digest"] == sha256)
    }

    @Test(
        "Ignores malformed and unsupported preferences",
        arguments: ["sha-256=11", "sha-256", "md5=1", "sha-256=0", "("]
    )
    func ignored(value: String) async throws {
        #expect(try await answer(["Want-Content-Digest": value])["Content-Digest"] == nil)
    }

    @Test("Digests of HEAD and of parts, and given digests")
    func special() async throws {
        let wanted: HTTPHeaders = ["Want-Content-Digest": "sha-256=1", "Want-Repr-Digest": "sha-256=1"]
        let head = try await answer(wanted, "HEAD")
        #expect(head["Content-Digest"] == "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:")
        #expect(head["Repr-Digest"] == (try HTTPDigest(of: Self.content).fieldValue))
        let whole = Data("hello, world".utf8)
        let part = try await answer(wanted, representation: whole)
        #expect(part["Repr-Digest"] == (try HTTPDigest(of: whole).fieldValue))
        let given = try await answer(wanted, "GET", ["Content-Digest": "sha-256=:AAAA:"])
        #expect(given.values(for: "Content-Digest") == ["sha-256=:AAAA:"])
    }
}
