import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("Event streams on loopback", .limitedConcurrency, .tags(.concurrency))
struct EventStreamLoopbackTests {
    typealias Engine = LoopbackClientTests.Engine

    private let time = ManualTime(advancesWhenSleeping: true)

    private func client(_ engine: Engine = .curl, _ interceptors: [any Interceptor] = []) -> NetworkClient {
        let options = NetworkClient.Options(timeSource: time.timeSource)
        return switch engine {
        case .curl: NetworkClient(interceptors: interceptors, options: options)
        case .urlSession: NetworkClient(configuration: .ephemeral, interceptors: interceptors, options: options)
        }
    }

    private func events(_ text: String) -> LoopbackResponse {
        .chunked([Data(text.utf8)], headers: ["Content-Type": "text/event-stream"])
    }

    /// A response with an event, which stays open until the gate opens or the client disconnects.
    private func openStream(_ first: String, _ gate: ResponseGate, _ second: String = "") -> LoopbackResponse {
        .stream(headers: ["Content-Type": "text/event-stream"]) { writer in
            try await writer.write(first)
            try await gate.wait()
            try await writer.write(second)
        }
    }

    @Test(
        "Survives the end of the stream, a reset, a cut, 503 and a redirect",
        .shows("P29"),
        arguments: Engine.allCases
    )
    func reconnecting(_ engine: Engine) async throws {
        try await withLoopbackServer { server async throws in
            server.on(
                .get,
                "/feed",
                events("id: 1é\ndata: a\n\n"),
                events("id: 2\ndata: b\n\ndata: incomplete").cut(.afterBody(octets: 30)),
                .status(503, headers: ["Retry-After": "7"]).closing(),
                .text("").cut(.beforeHead, resetting: true),
                .status(307, headers: ["Location": "/moved"]),
                .status(204)
            )
            server.on(.get, "/moved", events("id\ndata: c\n\n"))
            let request = URLRequest(url: server.url(for: "/feed"))
            let events = try await client(engine).events(for: request).collected()
            #expect(events.map(\.data) == ["a", "b", "c"])
            #expect(events.map(\.id) == ["1é", "2", ""])
            let ids = server.requests.map { $0.headers["Last-Event-ID"] }
            #expect(ids == [nil, "1é", "2", "2", "2", "2", nil])
            #expect(server.requests.map(\.path) == ["/feed", "/feed", "/feed", "/feed", "/feed", "/moved", "/feed"])
            #expect(time.sleeps.count == 5)
            #expect(time.sleeps.allSatisfy { $0 >= .seconds(3) })
            #expect(time.sleeps.contains { $0 >= .seconds(10) })
        }
    }

    @Test("Delivers an event as soon as the server has sent it", arguments: Engine.allCases)
    func prompt(_ engine: Engine) async throws {
        try await withLoopbackServer { server async throws in
            let gate = ResponseGate()
            server.on(.get, "/feed", openStream("data: a\n\n", gate, "data: b\n\n"), .status(204))
            let request = URLRequest(url: server.url(for: "/feed"))
            var events = client(engine).events(for: request).makeAsyncIterator()
            #expect(try await events.next()?.data == "a")
            gate.open()
            #expect(try await events.next()?.data == "b")
            #expect(try await events.next() == nil)
        }
    }

    @Test("Outlives the operation's timeout and the request's", arguments: Engine.allCases)
    func beyondDeadline(_ engine: Engine) async throws {
        // A busy machine may not receive the header within a short timeout.
        for seconds in [0.5, 5, 50] {
            let isReceived = try await withLoopbackServer { server async throws in
                let gate = ResponseGate()
                server.on(.get, "/feed", openStream("data: a\n\n", gate, "data: b\n\n"))
                let request = URLRequest(url: server.url(for: "/feed"), timeoutInterval: seconds)
                let options = EventStreamOptions(
                    reconnection: nil,
                    request: RequestOptions(timeout: .seconds(seconds))
                )
                let end = ContinuousClock.now + .seconds(seconds)
                var events = client(engine).events(for: request, options: options).makeAsyncIterator()
                var first: String?
                guard await failure({ first = try await events.next()?.data }) == nil else { return false }
                #expect(first == "a")
                try await Task.sleep(until: end, clock: .continuous)
                gate.open()
                #expect(try await events.next()?.data == "b")
                #expect(try await events.next() == nil)
                return true
            }
            if isReceived { return }
        }
        Issue.record("never received")
    }

    @Test("Stops waiting for the header at the deadline", arguments: Engine.allCases)
    func lateHeader(_ engine: Engine) async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/feed", .never)
            let request = URLRequest(url: server.url(for: "/feed"))
            let options = EventStreamOptions(reconnection: nil, request: RequestOptions(timeout: .milliseconds(100)))
            let error = await expectFailure(.timedOut) {
                _ = try await client(engine).events(for: request, options: options).collected()
            }
            #expect(error?.timeout?.limit == .operation)
        }
    }

    @Test("Stops waiting for the rest of an error response at the deadline")
    func endlessError() async throws {
        try await withLoopbackServer { server async throws in
            let gate = ResponseGate()
            server.on(
                .get,
                "/feed",
                .stream(status: 500) { writer in
                    try await writer.write("oh")
                    try await gate.wait()
                }
            )
            let request = URLRequest(url: server.url(for: "/feed"))
            let options = EventStreamOptions(reconnection: nil, request: RequestOptions(timeout: .milliseconds(300)))
            let error = await failure { _ = try await client().events(for: request, options: options).collected() }
            #expect(error?.code == .timedOut)
            #expect(error?.timeout?.limit == .operation)
            try await server.waitForOpenConnections(atMost: 0)
        }
    }

    @Test("Treats a silent connection as dead after the idle timeout, and reconnects", arguments: Engine.allCases)
    func idle(_ engine: Engine) async throws {
        try await withLoopbackServer { server async throws in
            let gate = ResponseGate()
            let silent = openStream(": silent\n", gate)
            server.on(.get, "/feed", silent, silent, .status(204))
            let request = URLRequest(url: server.url(for: "/feed"))
            let options = EventStreamOptions(request: RequestOptions(idleTimeout: .milliseconds(100)))
            // The 204 may also be late on a busy machine.
            #expect(try await client(engine).events(for: request, options: options).collected().isEmpty)
            #expect(server.requestCount >= 3)
        }
    }

    @Test("Closes the connection when the loop is left", arguments: Engine.allCases)
    func leaving(_ engine: Engine) async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/feed", openStream("data: a\n\n", ResponseGate()))
            let client = client(engine)
            let request = URLRequest(url: server.url(for: "/feed"))
            for try await event in client.events(for: request) {
                #expect(event.data == "a")
                break
            }
            try await server.waitForOpenConnections(atMost: 0)
        }
    }

    @Test("Closes the connection when the task is cancelled", arguments: Engine.allCases, [true, false])
    func cancelled(_ engine: Engine, hasHeader: Bool) async throws {
        try await withLoopbackServer { server async throws in
            let received = ResponseGate()
            server.on(.get, "/feed", hasHeader ? openStream("data: a\n\n", ResponseGate()) : .never)
            let client = client(engine)
            let request = URLRequest(url: server.url(for: "/feed"))
            let task = Task { for try await _ in client.events(for: request) { received.open() } }
            if hasHeader { try await received.wait() }
            try await server.waitForRequests(count: 1)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            try await server.waitForOpenConnections(atMost: 0)
            #expect(server.requestCount == 1)
        }
    }

    @Test("Can be cancelled while the server sends comments without end", .shows("H21"))
    func flood() async throws {
        try await withLoopbackServer { server async throws in
            let flooded = ResponseGate()
            server.on(
                .get,
                "/feed",
                .stream(headers: ["Content-Type": "text/event-stream"]) { writer in
                    let block = String(repeating: ": x\n\n", count: 2_000)
                    for _ in 0..<200 { try await writer.write(block) }
                    flooded.open()
                    while true { try await writer.write(block) }
                }
            )
            let events = client().events(for: URLRequest(url: server.url(for: "/feed")))
            let task = Task { try await events.collected() }
            try await flooded.wait()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            try await server.waitForOpenConnections(atMost: 0)
        }
    }

    @Test("Reads a compressed stream")
    func compressed() async throws {
        try await withLoopbackServer { server async throws in
            let text = String(repeating: "data: again and again\n\n", count: 1_000)
            let body = Data(GzipText.coded(text))
            let headers: HTTPHeaders = ["Content-Type": "text/event-stream", "Content-Encoding": "gzip"]
            server.on(.get, "/feed", .chunked([body], headers: headers), .status(204))
            let events = client().events(for: URLRequest(url: server.url(for: "/feed")))
            #expect(try await events.collected().count == 1_000)
        }
    }

    @Test("Reads events from the body of a response to a POST")
    func body() async throws {
        try await withLoopbackServer { server async throws in
            server.on(.post, "/answers", events("data: {\"text\":\"a\"}\n\ndata: [DONE]\n\n"))
            var request = URLRequest(url: server.url(for: "/answers"))
            request.httpMethod = "POST"
            request.httpBody = Data("{}".utf8)
            let response = try await client().stream(request)
            #expect(try await response.stream.events().collected().map(\.data) == [#"{"text":"a"}"#, "[DONE]"])
        }
    }

    @Test("Closes the connection after an error, although the response still exists", arguments: [true, false])
    func closingAfterError(isEvent: Bool) async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/feed", openStream("data: too large\n\n", ResponseGate()))
            let response = try await client().stream(URLRequest(url: server.url(for: "/feed")))
            await expectFailure(.bodyTooLarge) {
                if isEvent {
                    _ = try await response.stream.events(maximumEventSize: 8).collected()
                } else {
                    _ = try await response.stream.values(of: Int.self, maximumValueSize: 8).collected()
                }
            }
            try await server.waitForOpenConnections(atMost: 0)
            #expect(response.status == 200)
        }
    }

    private struct Report: Decodable, Hashable, Sendable {
        var title: String
    }

    @Test("Decodes JSON lines while they arrive, after a retry", .shows("P30"), arguments: Engine.allCases)
    func lines(_ engine: Engine) async throws {
        try await withLoopbackServer { server async throws in
            let gate = ResponseGate()
            server.on(
                .get,
                "/reports",
                .status(503),
                .stream { writer in
                    try await writer.write("{\"title\":\"a\"}\n{\"ti")
                    try await gate.wait()
                    try await writer.write("tle\":\"b\"}")
                }
            )
            let request = URLRequest(url: server.url(for: "/reports"))
            let client = client(engine, [Retry.Policy.maxRetries(1)])
            var reports = client.values(of: Report.self, for: request).makeAsyncIterator()
            #expect(server.requestCount == 0)
            #expect(try await reports.next() == Report(title: "a"))
            gate.open()
            #expect(try await reports.next() == Report(title: "b"))
            #expect(try await reports.next() == nil)
            #expect(server.requests.map { $0.headers["Accept"] }.last == "application/x-ndjson, application/jsonl")
            #expect(server.requestCount == 2)
        }
    }

    @Test("Decodes the elements of an array, and nothing for a 204")
    func elements() async throws {
        struct Reports: HTTPEndpoint {
            let baseURL: URL
            var headers: HTTPHeaders { ["Accept": "application/vnd.reports+json"] }
        }
        try await withLoopbackServer { server async throws in
            server.on(.get, "/reports", .json(#"[{"title":"a"},{"title":"b"}]"#), .status(204), .status(404))
            let endpoint = Reports(baseURL: server.url(for: "/reports"))
            let values = client().values(of: Report.self, for: Resource(endpoint), framing: .arrayElements)
            #expect(try await values.collected() == [Report(title: "a"), Report(title: "b")])
            #expect(try await values.collected() == [])
            await #expect(throws: ServerError.self) { _ = try await values.collected() }
            #expect(server.requests.allSatisfy { $0.headers["Accept"] == "application/vnd.reports+json" })
        }
    }

    @Test("Throws if the connection is lost, and closes it when the loop is left")
    func lostLines() async throws {
        try await withLoopbackServer { server async throws in
            server.on(
                .get,
                "/reports",
                .text("1\n2\n3").cut(.afterBody(octets: 4)),
                openStream("1\n", ResponseGate())
            )
            let values = client().values(of: Int.self, for: URLRequest(url: server.url(for: "/reports")))
            var iterator = values.makeAsyncIterator()
            #expect(try await iterator.next() == 1)
            #expect(try await iterator.next() == 2)
            await expectFailure(.connectionLost) { _ = try await iterator.next() }
            for try await value in values {
                #expect(value == 1)
                break
            }
            try await server.waitForOpenConnections(atMost: 0)
        }
    }
}
