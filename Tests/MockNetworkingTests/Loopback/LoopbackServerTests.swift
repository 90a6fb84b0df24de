import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite(.limitedConcurrency, .tags(.concurrency)) struct LoopbackServerTests {
    @Test("Responds to a request, and records it", .shows("P26"))
    func answersAndRecords() async throws {
        let time = ManualTime()
        var configuration = LoopbackServer.Configuration()
        configuration.time = time.timeSource
        try await withLoopbackServer(configuration: configuration) { server in
            server.on(.post, "/users") { request in
                .json(#"{"size":\#(request.body.count)}"#, status: 201, headers: ["X-Path": request.path])
            }
            let response = RawResponse(
                text: try await rawExchange(
                    server.port,
                    "POST /users?a=1&b=x+y%2B HTTP/1.1\r\nHost: here\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 5\r\n\r\nhello"
                )
            )
            #expect(response.statusLine == "HTTP/1.1 201 Created")
            #expect(response.body == #"{"size":5}"#)
            #expect(response.headers["x-path"] == "/users")
            #expect(response.headers["content-type"] == "application/json")
            #expect(response.headers["content-length"] == "10")
            let request = try #require(server.requests.first)
            #expect(server.requests.count == 1)
            #expect(request.method == .post)
            #expect(request.target == "/users?a=1&b=x+y%2B")
            #expect(request.query == "a=1&b=x+y%2B")
            #expect(
                request.queryItems == [URLQueryItem(name: "a", value: "1"), URLQueryItem(name: "b", value: "x y+")]
            )
            #expect(request.headers.map(\.name) == ["Host", "X-A", "x-a", "Content-Length"])
            #expect(request.headers.values(for: "X-A") == ["1", "2"])
            #expect(request.body == Data("hello".utf8))
            #expect(request.version == "HTTP/1.1")
            #expect(request.connection == 1)
            #expect(request.arrival == time.now)
            #expect(server.requests(for: "/users").count == 1)
            #expect(server.requests(for: "/user").isEmpty)
        }
    }

    @Test("URLs contain the port and the unchanged path")
    func urls() async throws {
        try await withLoopbackServer { server in
            #expect(server.baseURL.absoluteString == "http://127.0.0.1:\(server.port)")
            #expect(server.url(for: "/a%20b?c=d").absoluteString == "http://127.0.0.1:\(server.port)/a%20b?c=d")
            #expect(server.url(for: "a").absoluteString == "http://127.0.0.1:\(server.port)/a")
            #expect(server.url(for: "?q").absoluteString == "http://127.0.0.1:\(server.port)?q")
            #expect(server.url(for: "/a b").absoluteString == "http://127.0.0.1:\(server.port)/a%20b")
        }
    }

    @Test("Uses the most specific route, or responds with a 404 that names the request")
    func routing() async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/a", .text("a"))
            server.on(.get, "/files/*") { _ in .text("files") }
            server.on(.get, "/files/deep/*", .text("deep"))
            server.on(.get, "/files/exact", .text("exact"))
            server.onAnyMethod("/any") { .text("any \($0.method)") }
            server.on(.put, "/any", .text("put"))
            #expect(try await answer(server, "GET", "/a") == "200 a")
            #expect(try await answer(server, "GET", "/a?x=/files/deep/") == "200 a")
            #expect(try await answer(server, "POST", "/a") == "404 no route for POST /a\n")
            #expect(try await answer(server, "GET", "/files/x/y") == "200 files")
            #expect(try await answer(server, "GET", "/files/deep/z") == "200 deep")
            #expect(try await answer(server, "GET", "/files/exact") == "200 exact")
            #expect(try await answer(server, "GET", "/files") == "404 no route for GET /files\n")
            #expect(try await answer(server, "DELETE", "/any") == "200 any DELETE")
            #expect(try await answer(server, "PUT", "/any") == "200 put")
            #expect(try await answer(server, "GET", "http://elsewhere/a?b") == "200 a")
            server.on(.get, "/a", .text("new"))
            #expect(try await answer(server, "GET", "/a") == "200 new")
            server.onAnyMethod("/*") { _ in .text("root") }
            #expect(try await answer(server, "GET", "/other") == "200 root")
            server.fallback { _ in .status(418) }
            #expect(try await answer(server, "OPTIONS", "*") == "418 ")
        }
    }

    @Test("Responds with each response of a sequence once, and repeats the last one")
    func sequence() async throws {
        try await withLoopbackServer { server in
            server.on(.get, "/", .status(503), .status(429), .text("done"))
            let statuses = try await offPool { [port = server.port] in
                let connection = try RawConnection(port: port)
                return try (0..<5).map { _ in
                    try connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                    return try connection.receiveResponse().status
                }
            }
            #expect(statuses == [503, 429, 200, 200, 200])
        }
    }

    @Test("Serves many requests on one connection, and records each request's connection")
    func keepAlive() async throws {
        try await withLoopbackServer { server in
            server.on(.get, "/*") { .text($0.path) }
            try await offPool { [port = server.port] in
                let first = try RawConnection(port: port)
                let second = try RawConnection(port: port)
                for index in 0..<20 {
                    for connection in [first, second] {
                        try connection.send("GET /\(index) HTTP/1.1\r\nHost: h\r\n\r\n")
                        let response = try connection.receiveResponse()
                        #expect(response.body == "/\(index)")
                        #expect(response.headers["connection"] == nil)
                    }
                }
            }
            #expect(server.acceptedConnectionCount == 2)
            let counts = Dictionary(grouping: server.requests, by: \.connection).mapValues(\.count)
            #expect(counts == [1: 20, 2: 20])
            try await server.waitForOpenConnections(atMost: 0)
        }
    }

    @Test("Responds to pipelined requests one after the other, in order")
    func pipelining() async throws {
        let gate = ResponseGate()
        try await withLoopbackServer { server in
            server.on(.post, "/slow") { .text("slow \(String(decoding: $0.body, as: UTF8.self))").gated(by: gate) }
            server.on(.get, "/fast", .text("fast"))
            async let text = rawExchange(
                server.port,
                "POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\none"
                    + "GET /fast HTTP/1.1\r\nHost: h\r\n\r\n"
                    + "POST /slow HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n"
            )
            try await gate.waitForWaiters(count: 1)
            #expect(server.requestCount == 1)
            gate.open()
            let bodies = try await text.components(separatedBy: "HTTP/1.1 200 OK").dropFirst()
                .map { RawResponse(text: $0).body }
            #expect(bodies == ["slow one", "fast", "slow two"])
        }
    }

    @Test("Responds to HEAD with the GET route's length, without its body")
    func head() async throws {
        try await withLoopbackServer { server in
            server.on(.get, "/", .text("hello"))
            server.on(.get, "/stream", .chunked([Data("hello".utf8)], headers: ["X": "y"]))
            server.on(.get, "/own", .text("get"))
            server.on(.head, "/own", .status(200, headers: ["Content-Length": "99"]))
            let responses = try await offPool { [port = server.port] in
                let connection = try RawConnection(port: port)
                return try ["/", "/stream", "/own"].map { path in
                    try connection.send("HEAD \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
                    return try connection.receiveResponse(hasBody: false)
                }
            }
            #expect(responses.map(\.status) == [200, 200, 200])
            #expect(responses[0].headers["content-length"] == "5")
            #expect(responses[1].headers["transfer-encoding"] == "chunked")
            #expect(responses[2].headers["content-length"] == "99")
            #expect(server.requests.map(\.method) == [.head, .head, .head])
        }
    }

    @Test("Decodes a chunked body and its trailers")
    func chunkedRequest() async throws {
        try await withLoopbackServer { server in
            server.on(.put, "/", .status(204))
            let text = try await rawExchange(
                server.port,
                "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: v\r\n\r\n"
            )
            #expect(text == "HTTP/1.1 204 No Content\r\n\r\n")
            #expect(server.requests.first?.body == Data("abcde".utf8))
            #expect(server.requests.first?.trailers == ["T": "v"])
        }
    }

    @Test("Sends 100 (Continue) when a client waits for it")
    func continueAnswered() async throws {
        try await withLoopbackServer { server in
            server.on(.post, "/", .text("got it"))
            try await offPool { [port = server.port] in
                let connection = try RawConnection(port: port)
                try connection.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
                #expect(try connection.receive(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
                try connection.send("ok")
                #expect(try connection.receiveResponse().body == "got it")
            }
            #expect(server.requests.first?.body == Data("ok".utf8))
        }
    }

    @Test("Can ignore the expectation of 100 (Continue), or reject the body")
    func continueWithheld() async throws {
        let head = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        var configuration = LoopbackServer.Configuration()
        configuration.continuePolicy = .ignore
        try await withLoopbackServer(configuration: configuration) { server in
            server.on(.post, "/", .text("got it"))
            let text = try await rawExchange(server.port, head + "ok")
            #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
        }
        configuration.continuePolicy = .refuse(417)
        try await withLoopbackServer(configuration: configuration) { server in
            let response = try await offPool { [port = server.port] in
                let connection = try RawConnection(port: port)
                try connection.send(head)
                return RawResponse(text: try connection.receiveAll())
            }
            #expect(response.statusLine == "HTTP/1.1 417 Expectation Failed")
            #expect(response.headers["connection"] == "close")
            #expect(server.requests.isEmpty)
        }
    }

    @Test("Closes the connection when the client or HTTP/1.0 requires it")
    func closing() async throws {
        try await withLoopbackServer { server in
            server.on(.get, "/", .text("hi"))
            server.on(.get, "/last", .text("bye").closing())
            server.on(.get, "/stream", .chunked([Data("str".utf8), Data("eam".utf8)]))
            func all(_ request: String) async throws -> RawResponse {
                try await offPool { [port = server.port] in
                    let connection = try RawConnection(port: port)
                    try connection.send(request)
                    return RawResponse(text: try connection.receiveAll())
                }
            }
            for request in [
                "GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
                "GET /last HTTP/1.1\r\nHost: h\r\n\r\n",
            ] {
                #expect(try await all(request).headers["connection"] == "close", "\(request)")
            }
            let streamed = try await all("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            #expect(streamed.body == "stream")
            #expect(streamed.headers["transfer-encoding"] == nil)
            try await offPool { [port = server.port] in
                let connection = try RawConnection(port: port)
                for _ in 0..<2 {
                    try connection.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                    #expect(try connection.receiveResponse().headers["connection"] == "keep-alive")
                }
            }
        }
    }

    @Test("Responds to a malformed request, records it and closes its connection")
    func malformed() async throws {
        var configuration = LoopbackServer.Configuration()
        configuration.maximumBodySize = 10
        configuration.maximumHeaderSize = 1000
        configuration.maximumHeaderCount = 5
        try await withLoopbackServer(configuration: configuration) { server in
            let big = String(repeating: "b", count: 2000)
            let cases = [
                ("not a request\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: h\r\nA: \(big)\r\n\r\n", 431),
                ("GET / HTTP/1.1\r\nHost: h\r\n" + String(repeating: "A: b\r\n", count: 5) + "\r\n", 431),
                ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2000\r\n\r\n\(big)", 413),
                ("GET / HTTP/3.0\r\n\r\n", 505), ("\u{16}\u{3}\u{1}\u{2}", 400),
            ]
            for (text, status) in cases {
                let response = try await offPool { [port = server.port] in
                    let connection = try RawConnection(port: port)
                    try connection.send(text)
                    return RawResponse(text: try connection.receiveAll())
                }
                #expect(response.status == status)
                #expect(response.headers["connection"] == "close")
            }
            #expect(server.rejections.map(\.status) == cases.map(\.1))
            #expect(server.rejections.map(\.connection) == Array(1...cases.count))
            #expect(server.requests.isEmpty)
        }
    }

    @Test("Responds to a handler's error with a 500 that names its type, and records it")
    func handlerError() async throws {
        struct Broken: Error {}
        try await withLoopbackServer { server in
            server.on(.get, "/") { _ in throw Broken() }
            let text = try await rawExchange(server.port, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(RawResponse(text: text).status == 500)
            #expect(RawResponse(text: text).body == "the handler failed with Broken\n")
            #expect(server.handlerErrors.count == 1)
            #expect(server.handlerErrors.first is Broken)
        }
    }

    @Test("Records can be awaited, cleared and turned off")
    func record() async throws {
        var configuration = LoopbackServer.Configuration()
        configuration.recordsRequests = false
        try await withLoopbackServer(configuration: configuration) { server in
            async let arrived: Void = server.waitForRequests(count: 2)
            _ = try await rawExchange(
                server.port,
                "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\nx\r\n"
            )
            try await arrived
            #expect(server.requests.isEmpty)
            #expect(server.requestCount == 2)
            #expect(server.rejections.count == 1)
            server.clearRecord()
            #expect(server.requestCount == 0)
            #expect(server.rejections.isEmpty)
            #expect(server.acceptedConnectionCount == 1)
            let waiting = Task { try await server.waitForRequests(count: 1) }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
    }

    @Test("Decodes forms in the query and the body, and keeps invalid escapes")
    func forms() async throws {
        try await withLoopbackServer { server in
            let body = "grant_type=client_credentials&scope=a+b%20c&empty=&bare&%zz=%4&%E2%82%AC=%ff&scope=2"
            _ = try await rawExchange(
                server.port,
                "POST /t?q=%26&r HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            )
            let request = try #require(server.requests.first)
            #expect(request.queryValue("q") == "&")
            #expect(request.queryItems.map(\.value) == ["&", nil])
            #expect(request.formValue("grant_type") == "client_credentials")
            #expect(request.formValue("scope") == "a b c")
            #expect(request.formValue("missing") == nil)
            #expect(
                request.formItems.map(\.name) == ["grant_type", "scope", "empty", "bare", "%zz", "€", "scope"]
            )
            #expect(request.formItems.map(\.value)[2...] == ["", nil, "%4", "\u{FFFD}", "2"])
        }
    }

    private func answer(_ server: LoopbackServer, _ method: String, _ path: String) async throws -> String {
        let text = try await rawExchange(server.port, "\(method) \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
        let response = RawResponse(text: text)
        return "\(response.status) \(response.body)"
    }
}
