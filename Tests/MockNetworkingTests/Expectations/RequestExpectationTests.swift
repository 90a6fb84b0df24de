import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

/// Tests of the descriptions of differences between a request and an expectation.
@Suite("RequestExpectation", .limitedConcurrency)
struct RequestExpectationTests {
    private static let users = "https://api.example/users"

    private func request(
        _ method: HTTPMethod = .post,
        _ url: String = users,
        headers: HTTPHeaders = [:],
        body: String? = nil
    ) throws -> HTTPRequest {
        HTTPRequest(
            method: method,
            url: try #require(URL(string: url)),
            headers: headers,
            body: body.map { .data(Data($0.utf8)) } ?? .none
        )
    }

    /// Sends a request to a transport with one expectation, and returns the error message, or an
    /// empty string if the request matches.
    private func complaint(_ expectation: RequestExpectation, _ request: HTTPRequest) async throws -> String {
        let transport = MockTransport()
        transport.expect(expectation, .status(204))
        do {
            #expect(try await transport.send(request, limits: .init()).status == 204)
            #expect(transport.discrepancies(inOrder: true) == [])
            return ""
        } catch {
            let error = try #require(error as? NetworkError)
            #expect(error.code == .unknown)
            #expect(error.cause as? MockError == MockError(.unexpectedRequest, ""))
            #expect(transport.discrepancies().map(\.kind) == [.unmet, .unexpected])
            return error.message
        }
    }

    @Test("Compares the method and the whole URL, or only its path and query")
    func locations() async throws {
        #expect(try await complaint(.init(.post, Self.users), request()) == "")
        #expect(try await complaint(.init(.post, "/users"), request()) == "")
        #expect(try await complaint(.init(.get, "/"), request(.get, "https://api.example")) == "")
        #expect(try await complaint(.init(.get, "/a?b=1"), request(.get, "https://api.example/a?b=1")) == "")
        let method = try await complaint(.init(.put, "/users"), request())
        #expect(method.contains("request 1, POST https://api.example/users, wasn't expected"))
        #expect(method.contains("the closest match is PUT /users:\n  - method: expected PUT, got POST"))
        let query = try await complaint(.init(.post, "/users?page=1"), request(.post, "\(Self.users)?page=2"))
        #expect(query.hasSuffix("- URL: expected /users?page=1, got /users?page=2"))
        let other = try await complaint(.init(.get, "/things"), request())
        #expect(other.hasSuffix("wasn't expected; expected GET /things"))
    }

    @Test("Compares header fields: wrong, missing, unwanted and repeated ones, with names in any case")
    func headers() async throws {
        let expectation = RequestExpectation(.post, Self.users).header("accept", "text/plain")
        #expect(try await complaint(expectation, request(headers: ["Accept": "a/b", "ACCEPT": "text/plain"])) == "")
        let another = try await complaint(expectation, request(headers: ["Accept": "text/html"]))
        #expect(another.contains(#"header accept: expected "text/plain", got "text/html""#))
        let none = try await complaint(expectation, request())
        #expect(none.contains(#"header accept: expected "text/plain", got none"#))
        let without = RequestExpectation(.post, Self.users).withoutHeader("X-Debug")
        #expect(try await complaint(without, request()) == "")
        let unwanted = try await complaint(without, request(headers: ["x-debug": "1"]))
        #expect(unwanted.contains(#"header X-Debug: expected none, got "1""#))
    }

    @Test("Redacts expected and sent credentials in messages")
    func secrets() async throws {
        let expectation = RequestExpectation(.post, "\(Self.users)?access_token=expected-secret")
            .header("Authorization", "Bearer expected-secret")
            .json(#"{"password":"expected-secret","name":"Ada"}"#)
        let sent = try request(
            .post,
            "\(Self.users)?access_token=sent-secret",
            headers: ["Authorization": "Bearer sent-secret", "Content-Type": "application/json"],
            body: #"{"password":"sent-secret","name":"Ada"}"#
        )
        let text = try await complaint(expectation, sent)
        #expect(!text.contains("secret") || !text.contains("-secret"))
        #expect(text.contains("URL: a secret differs from the expected value"))
        #expect(text.contains(#"header Authorization: expected "Bearer REDACTED", got one with a different secret"#))
        #expect(text.contains("body: a secret differs from the expected value"))
        let form = try RequestExpectation(.post, Self.users).form(["client_secret": "expected-secret", "a": "1"])
        let formText = try await complaint(form, request(body: "client_secret=sent-secret&a=1"))
        #expect(formText.contains("body: a secret in the form differs from the expected value"))
        #expect(!formText.contains("-secret"))
        let plain = RequestExpectation(.post, Self.users).body(Data("token=expected-secret".utf8))
        #expect(!(try await complaint(plain, request(body: "token=sent-secret"))).contains("-secret"))
    }

    @Test(
        "Compares JSON by value, and reports the path of the first difference",
        arguments: [
            (#"{"b":1.0,"a":["x"]}"#, ""),
            (#"{"a":["x"],"b":1e0}"#, ""),
            (#"{"a":["y"],"b":1}"#, #"body.a[0]: expected "x", got "y""#),
            (#"{"a":["x","y"],"b":1}"#, "body.a: expected 1 elements, got 2"),
            (#"{"a":["x"],"b":2}"#, "body.b: expected 1, got 2"),
            (#"{"a":["x"],"b":null}"#, "body.b: expected 1, got null"),
            (#"{"a":["x"]}"#, "body.b: expected, but missing"),
            (#"{"a":["x"],"b":1,"c":{}}"#, "body.c: unexpected"),
            (#"["x"]"#, "body: expected an object, got an array"),
            (#"{"a":["x"],"b":1},"c":2"#, "body: expected JSON, got something else"),
            ("no JSON", "body: expected JSON, got something else"),
            ("", "body: expected JSON, got none"),
        ]
    )
    func json(_ body: String, _ difference: String) async throws {
        let expectation = RequestExpectation(.post, Self.users).json(#"{"a":["x"],"b":1}"#)
        let text = try await complaint(expectation, request(body: body))
        #expect(text.isEmpty == difference.isEmpty)
        #expect(text.hasSuffix(difference))
    }

    @Test(
        "Compares forms by value, regardless of the order of fields",
        arguments: [
            ("b=2&a=1+x", ""), ("a=1%20x&b=2", ""),
            ("a=1&b=2", #"body: expected a="1 x"; got a="1""#),
            ("a=1+x", #"body: expected b="2""#),
            ("a=1+x&b=2&c=3", #"body: got c="3""#),
        ]
    )
    func form(_ body: String, _ difference: String) async throws {
        let expectation = try RequestExpectation(.post, Self.users).form(["a": "1 x", "b": "2"])
        let text = try await complaint(expectation, request(body: body))
        #expect(text.isEmpty == difference.isEmpty)
        #expect(text.hasSuffix(difference))
    }

    @Test("Shows text, and counts other bytes")
    func octets() async throws {
        let text = RequestExpectation(.post, Self.users).body(Data("hello".utf8))
        #expect(try await complaint(text, request(body: "hello")) == "")
        #expect(try await complaint(text, request(body: "hallo")).hasSuffix(#"body: expected "hello", got "hallo""#))
        var other = try request()
        other.body = .data(Data([0xFF, 1, 2]))
        let octets = RequestExpectation(.post, Self.users).body(Data([0xFF, 1, 3]))
        #expect(try await complaint(octets, other).hasSuffix("body: the bytes differ from offset 2 of 3"))
        other.body = .data(Data([0xFF]))
        #expect(try await complaint(octets, other).hasSuffix("body: expected 3 bytes, got 1"))
        #expect(try await complaint(RequestExpectation(.post, Self.users).body(Data()), request()) == "")
    }

    private struct Rename: HTTPEndpoint {
        var id = 1
        var name = "Ada"
        let baseURL = URL(string: "https://api.example")!
        var path: URLPath { "users/\(id)" }
        var method: HTTPMethod { .put }
        var query: URLQuery { ["notify": true] }
        var headers: HTTPHeaders { ["Accept-Language": "de"] }
        var body: EndpointBody { get throws { try .json(["name": name, "id": String(id)]) } }
    }

    @Test("Compares a request with an endpoint's method, URL, headers and body")
    func endpoints() async throws {
        let transport = MockTransport()
        transport.expect(try .endpoint(Rename()), .status(204))
        let client = NetworkClient(transport: transport)
        #expect(try await client.response(for: Resource(Rename())).status == 204)
        #expect(transport.discrepancies() == [])

        transport.expect(try .endpoint(Rename()), .status(204))
        let failure = await #expect(throws: NetworkError.self) {
            _ = try await client.response(for: Resource(Rename(name: "Eve")))
        }
        let text = try #require(failure?.message)
        #expect(text.contains("the closest match is PUT https://api.example/users/1?notify=true"))
        #expect(text.contains(#"body.name: expected "Ada", got "Eve""#))
        let other = await #expect(throws: NetworkError.self) {
            _ = try await client.response(for: Resource(Rename(id: 2)))
        }
        #expect(other?.message.hasSuffix("expected PUT https://api.example/users/1?notify=true") == true)
    }

    @Test("Names the closure that a request doesn't satisfy")
    func closures() async throws {
        let expectation = RequestExpectation.matching("a small upload") { ($0.body.contentLength ?? 0) < 3 }
        #expect(try await complaint(expectation, request(body: "ab")) == "")
        let text = try await complaint(expectation, request(body: "abcd"))
        #expect(text.contains("doesn't satisfy “a small upload”"))
        let both = RequestExpectation(.post, Self.users).and("has a trace") { $0.headers["traceparent"] != nil }
        #expect(try await complaint(both, request(headers: ["traceparent": "1"])) == "")
        #expect(try await complaint(both, request()).contains("doesn't satisfy “has a trace”"))
    }

    @Test("A closure isn't called for a request that already differs")
    func closureAfterDifference() async throws {
        let transport = MockTransport()
        let expectation = RequestExpectation(.post, Self.users).and("is a post") { request in
            #expect(request.method == .post)
            return true
        }
        transport.expect(expectation, .status(204))
        transport.expect(RequestExpectation(.get, Self.users), .status(200))
        #expect(try await transport.send(request(.get), limits: .init()).status == 200)
        #expect(try await transport.send(request(), limits: .init()).status == 204)
    }
}

/// Tests of the responses to expected requests, and of the discrepancies reported at the end.
@Suite("MockTransport expectations", .limitedConcurrency)
struct DiscrepancyTests {
    private func get(_ path: String) throws -> HTTPRequest {
        HTTPRequest(url: try #require(URL(string: "https://api.example\(path)")))
    }

    @discardableResult
    private func status(_ transport: MockTransport, _ path: String) async throws -> Int {
        try await transport.send(get(path), limits: .init()).status
    }

    @Test("Responses follow each expectation's sequence, regardless of the order of requests")
    func sequences() async throws {
        let transport = MockTransport(.status(418))
        transport.expect(.init(.get, "/a"), .status(201), .status(202))
        transport.expect(.init(.get, "/b"), .status(203))
        transport.expect(.init(.get, "/c"), .status(204), .status(205), count: 3)
        transport.expect(.init(.get, "/d"))
        #expect(try await status(transport, "/b") == 203)
        #expect(try await status(transport, "/a") == 201)
        #expect(try await status(transport, "/c") == 204)
        #expect(try await status(transport, "/a") == 202)
        #expect(try await status(transport, "/c") == 205)
        #expect(try await status(transport, "/c") == 205)
        #expect(try await status(transport, "/d") == 200)
        #expect(transport.discrepancies() == [])
        // An unexpected request takes the script.
        #expect(try await status(transport, "/e") == 418)
        #expect(transport.requests.map(\.url.path) == ["/b", "/a", "/c", "/a", "/c", "/c", "/d", "/e"])
        #expect(transport.discrepancies() == [])
    }

    @Test("Rejects header fields and forms that differ in Unicode normalization")
    func spellings() async throws {
        for (first, second) in [("\u{E9}", "e\u{301}"), ("e\u{301}", "\u{E9}")] {
            let transport = MockTransport(.status(418), .status(418))
            transport.on(.init(.get, "/a").header("X-Name", first), .status(201))
            try transport.on(.init(.post, "/b").form(["name": first]), .status(202))
            for (text, statuses) in [(first, [201, 202]), (second, [418, 418])] {
                var request = try get("/a")
                request.headers["X-Name"] = text
                var form = try get("/b")
                form.method = .post
                form.headers["Content-Type"] = "application/x-www-form-urlencoded"
                form.body = .data(Data("name=\(text)".utf8))
                #expect(try await transport.send(request, limits: .init()).status == statuses[0])
                #expect(try await transport.send(form, limits: .init()).status == statuses[1])
            }
        }
    }

    @Test("Requests without a required count may arrive any number of times, or never")
    func stubs() async throws {
        let transport = MockTransport()
        transport.on(.init(.get, "/a"), .status(201), .status(202))
        transport.on(.init(.get, "/never"), .status(500))
        // An expectation takes precedence over a stub.
        transport.expect(.init(.get, "/a"), .status(299))
        var statuses: [Int] = []
        for _ in 0..<4 { statuses.append(try await status(transport, "/a")) }
        #expect(statuses == [299, 201, 202, 202])
        #expect(transport.discrepancies(inOrder: true) == [])
    }

    @Test("Supports delays, gates and failures as responses")
    func steps() async throws {
        let time = ManualTime()
        let transport = MockTransport(time: time.timeSource)
        let gate = ResponseGate()
        transport.expect(.init(.get, "/late"), .status(200).delayed(by: .seconds(3)))
        transport.expect(.init(.get, "/gate"), .status(200).gated(by: gate))
        transport.expect(.init(.get, "/gone"), .failure(NetworkError(.connectionLost, "scripted")))
        async let late = status(transport, "/late")
        try await time.waitForSleepers(count: 1)
        async let gated = status(transport, "/gate")
        try await gate.waitForWaiters(count: 1)
        await #expect(throws: NetworkError(.connectionLost, "")) { try await status(transport, "/gone") }
        gate.open()
        time.advance(by: .seconds(3))
        let statuses = try await [late, gated]
        #expect(statuses == [200, 200])
        #expect(transport.discrepancies() == [])
    }

    @Test("Reports missing requests as unmet, with the expected count", .shows("P26"))
    func unmet() async throws {
        let transport = MockTransport()
        transport.expect(.init(.get, "/a"), .status(200), .status(200))
        transport.expect(.init(.delete, "https://api.example/b?token=secret"))
        try await status(transport, "/a")
        let found = transport.discrepancies()
        #expect(found.map(\.kind) == [.unmet, .unmet])
        #expect(
            found.map(\.description) == [
                "GET /a was received once, expected twice",
                "DELETE https://api.example/b?token=REDACTED was received 0 times, expected once",
            ]
        )
    }

    @Test("Compares an unmet expectation with the closest request")
    func nearest() async throws {
        let transport = MockTransport()
        transport.expect(.init(.get, "/a").header("Accept", "text/plain"))
        transport.expect(.init(.get, "/z"))
        await #expect(throws: NetworkError.self) { try await status(transport, "/other") }
        await #expect(throws: NetworkError.self) { try await status(transport, "/a") }
        let found = transport.discrepancies()
        #expect(found.map(\.kind) == [.unmet, .unmet, .unexpected, .unexpected])
        #expect(
            found[0].description == """
                GET /a was received 0 times, expected once; the closest match is request 2:
                  - header Accept: expected "text/plain", got none
                """
        )
        #expect(found[1].description == "GET /z was received 0 times, expected once")
        #expect(
            found[2].description
                == "request 1, GET https://api.example/other, wasn't expected; expected one of GET /a, GET /z"
        )
        #expect(found[3].description.contains("the closest match is GET /a:"))
    }

    @Test("Fails a request that arrives too often at once, even with a handler")
    func tooOften() async throws {
        let transport = MockTransport { _ in .init(status: 200) }
        transport.expect(.init(.get, "/a"))
        try await status(transport, "/a")
        let error = await #expect(throws: NetworkError.self) { try await status(transport, "/a") }
        #expect(error?.message == "GET /a was received again, expected once")
        #expect(error?.cause as? MockError == MockError(.unexpectedRequest, ""))
        #expect(transport.discrepancies().map(\.kind) == [.tooOften])
        #expect(transport.discrepancies().first?.description == "GET /a was received twice, expected once")
        let never = MockTransport { _ in .init(status: 200) }
        never.expect(.init(.get, "/a"), count: 0)
        #expect(never.discrepancies() == [])
        await #expect(throws: NetworkError.self) { try await status(never, "/a") }
        #expect(never.discrepancies().first?.description == "GET /a was received once, expected 0 times")
    }

    @Test("Checks the order of requests only on demand, and describes it")
    func order() async throws {
        let transport = MockTransport()
        transport.on(.init(.get, "/ping"))
        transport.expect(.init(.get, "/first"))
        transport.expect(.init(.get, "/second"), .status(200), .status(200))
        for path in ["/second", "/ping", "/first", "/second"] { try await status(transport, path) }
        #expect(transport.discrepancies() == [])
        let found = transport.discrepancies(inOrder: true)
        #expect(found.map(\.kind) == [.outOfOrder])
        #expect(
            found.first?.description
                == "GET /first (request 3) must precede GET /second (request 1); "
                + "the order was GET /second, GET /first, GET /second"
        )
    }

    @Test("Concurrent requests each take one expectation")
    func concurrency() async throws {
        let transport = MockTransport()
        for number in 0..<50 { transport.expect(.init(.get, "/\(number % 5)"), .status(200 + number)) }
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<50 { group.addTask { try await self.status(transport, "/\(number % 5)") } }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(statuses == Set(200..<250))
        #expect(transport.discrepancies() == [])
    }

    @Test("Fails with scriptExhausted without expectations")
    func none() async throws {
        let transport = MockTransport()
        let error = await #expect(throws: NetworkError.self) { try await status(transport, "/a") }
        #expect(error?.cause as? MockError == MockError(.scriptExhausted, ""))
        #expect(transport.discrepancies(inOrder: true) == [])
    }
}
