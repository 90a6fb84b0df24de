import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

/// Tests of the responses to expected requests, and of the discrepancies reported at the end.
@Suite("MockTransport expectations", .limitedConcurrency)
struct DiscrepancyTests {
    private func get(_ path: String) throws -> HTTPTransportRequest {
        HTTPTransportRequest(url: try #require(URL(string: "https://api.example\(path)")))
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

    @Test("Reports missing requests as unmet, with the expected count")
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
