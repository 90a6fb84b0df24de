import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

/// Tests of the decisions of `client.events`: which request is sent, when, and which error ends the
/// stream.
@Suite("Event streams", .limitedConcurrency)
struct EventStreamTests {
    private let time = ManualTime(advancesWhenSleeping: true)
    private let request = URLRequest(url: URL(string: "https://api.example/feed")!)

    private func client(_ transport: MockTransport, _ interceptors: [any Interceptor] = []) -> NetworkClient {
        NetworkClient(
            transport: transport,
            interceptors: interceptors,
            options: NetworkClient.Options(timeSource: time.timeSource)
        )
    }

    /// Options with delays of 1, 2, 4 … seconds, after the reconnection time of 3 seconds.
    private func options(_ truncation: Retry.Truncation = .maxRetries(20)) -> EventStreamOptions {
        let backoff = Retry.Backoff.exponential(.seconds(1), maximum: .seconds(60), jitter: .none, until: truncation)
        return EventStreamOptions(reconnection: .reconnecting(backoff))
    }

    private func lastIDs(_ transport: MockTransport) -> [String?] {
        transport.requests.map { $0.headers["Last-Event-ID"] }
    }

    @Test("Reconnects with the last ID after the end of the stream, until a 204", .shows("WHATWG HTML §9.2"))
    func reconnecting() async throws {
        let transport = MockTransport(
            .events("id: 1\ndata: a\n\ndata: b\n\nid: lost\ndata: incomplete"),
            .events("data: c\n\nretry: 500\n\nid: 2\n\n"),
            .events("id: 3\ndata: d\n\n"),
            .status(204)
        )
        let events = try await client(transport).events(for: request, options: options()).collected()
        #expect(events.map(\.data) == ["a", "b", "c", "d"])
        #expect(events.map(\.id) == ["1", "1", "1", "3"])
        #expect(lastIDs(transport) == [nil, "1", "2", "3"])
        #expect(time.sleeps == [.seconds(4), .milliseconds(1500), .milliseconds(1500)])
        #expect(transport.requests.allSatisfy { $0.headers["Accept"] == "text/event-stream" })
        #expect(transport.requests.allSatisfy { $0.headers["Cache-Control"] == "no-store" })
    }

    @Test("Shows the header fields of each response before its events")
    func responses() async throws {
        let transport = MockTransport(
            .events("data: a\n\n", headers: ["Mcp-Session-Id": "s1"]),
            .events("data: b\n\n", headers: ["Mcp-Session-Id": "s2"]),
            .status(204, headers: ["Mcp-Session-Id": "s3"])
        )
        let log = Mutex<[String]>([])
        var options = options()
        options.onResponse = { headers in log.withLock { $0.append(headers["Mcp-Session-Id"] ?? "none") } }
        for try await event in client(transport).events(for: request, options: options) {
            log.withLock { $0.append(event.data) }
        }
        #expect(log.withLock { $0 } == ["s1", "a", "s2", "b"])
    }

    @Test("Keeps the request's own header fields, and starts with the caller's ID")
    func ownFields() async throws {
        let transport = MockTransport(.events("id\ndata: a\n\n"), .events("id: 6\u{1}\ndata: b\n\n"), .status(204))
        var request = request
        request.setValue("text/event-stream, text/plain", forHTTPHeaderField: "accept")
        request.setValue("no-cache", forHTTPHeaderField: "Cache-Control")
        var options = options()
        options.lastEventID = "é5"
        let events = try await client(transport).events(for: request, options: options).collected()
        #expect(events.map(\.id) == ["", "6\u{1}"])
        #expect(transport.requests.first?.headers["Accept"] == "text/event-stream, text/plain")
        #expect(transport.requests.first?.headers["Cache-Control"] == "no-cache")
        // An empty ID isn't sent, nor is one that a header field can't contain.
        #expect(lastIDs(transport) == ["é5", nil, nil])
    }

    @Test("Applies the timeout to the header only, and no size limit but the caller's")
    func limits() async throws {
        let transport = MockTransport(.events("data: a\n\n"), .events("data: b\n\n"))
        let client = client(transport)
        var options = EventStreamOptions(reconnection: nil)
        _ = try await client.events(for: request, options: options).collected()
        options.request = RequestOptions(timeout: .seconds(5), maximumBodySize: 100, idleTimeout: .seconds(20))
        _ = try await client.events(for: request, options: options).collected()
        let limits = transport.requests.map(\.limits)
        #expect(limits.map(\.deadlineEndsWithHeader) == [true, true])
        #expect(limits.map(\.streamsBody) == [true, true])
        #expect(limits.map { $0.deadline.map { $0 - time.now } } == [.seconds(60), .seconds(5)])
        #expect(limits.map(\.maximumBodySize) == [.max, 100])
        #expect(limits.map(\.idleTimeout) == [.seconds(300), .seconds(20)])
    }

    @Test("Runs the interceptors for each connection, and accepts endpoints and resources")
    func interceptors() async throws {
        struct Feed: HTTPEndpoint {
            var baseURL: URL { URL(string: "https://api.example/feed")! }
            var acceptedStatuses: AcceptedStatuses { [200] }
        }
        let transport = MockTransport(.events("data: a\n\n"), .status(204), .events("data: b\n\n"), .status(204))
        let tenant = Changing.request { $0.headers["X-Tenant"] = "7" }
        let client = client(transport, [tenant])
        #expect(try await client.events(for: Resource(Feed()), options: options()).collected().map(\.data) == ["a"])
        let resource = Resource { [request] in request }
        #expect(try await client.events(for: resource, options: options()).collected().map(\.data) == ["b"])
        #expect(transport.requests.count == 4)
        #expect(transport.requests.allSatisfy { $0.headers["X-Tenant"] == "7" })
    }

    @Test("Sends the requests of each iterator separately, and none before it's used")
    func iterators() async throws {
        let transport = MockTransport(.events("id: 1\ndata: a\n\n"), .events("data: b\n\n"))
        let events = client(transport).events(for: request, options: EventStreamOptions(reconnection: nil))
        var (first, second) = (events.makeAsyncIterator(), events.makeAsyncIterator())
        #expect(transport.requests.isEmpty)
        #expect(try await first.next()?.data == "a")
        #expect(try await second.next()?.data == "b")
        #expect(try await first.next() == nil)
        #expect(try await first.next() == nil)
        #expect(lastIDs(transport) == [nil, nil])
    }

    @Test("Backs off while connections fail, and starts over after an event")
    func backoff() async throws {
        let transport = MockTransport(
            .failure(NetworkError(.cannotConnect, "refused")),
            .status(503),
            .events(": no event\n\n", ending: .lost),
            .events("data: a\n\n", ending: .lost),
            .failure(NetworkError(.timedOut, "late")),
            .status(204)
        )
        let events = try await client(transport).events(for: request, options: options()).collected()
        #expect(events.map(\.data) == ["a"])
        #expect(time.sleeps == [4, 5, 7, 4, 5].map { .seconds($0) })
    }

    @Test("Starts over after a connection that lasted a minute without an event")
    func healthyConnection() async throws {
        let time = time
        func quiet(_ seconds: Int) -> MockTransport.Step {
            .events(": quiet\n", ending: .custom { time.advance(by: .seconds(seconds)) })
        }
        let transport = MockTransport(.status(503), quiet(59), quiet(60), quiet(1), .status(204))
        _ = try await client(transport).events(for: request, options: options()).collected()
        #expect(time.sleeps == [4, 5, 4, 5].map { .seconds($0) })
    }

    @Test("Waits as long as Retry-After asks, up to 15 minutes")
    func retryAfter() async throws {
        let transport = MockTransport(
            .status(429, headers: ["Retry-After": "30"]),
            .status(503, headers: ["Retry-After": "0"]),
            .status(503, headers: ["Retry-After": "901"])
        )
        let error = await #expect(throws: ServerError.self) {
            _ = try await client(transport).events(for: request, options: options()).collected()
        }
        #expect(time.sleeps == [.seconds(33), .seconds(5)])
        #expect(error?.errorCode == 503)
        expectReason(.serverDelay(.seconds(901)), error?.retry)
    }

    @Test("Gives up after the policy's number of failures in a row")
    func limit() async throws {
        let transport = MockTransport { _ in throw NetworkError(.cannotConnect, "refused") }
        let error = await expectFailure(.cannotConnect) {
            _ = try await client(transport).events(for: request, options: options(.maxRetries(3))).collected()
        }
        #expect(error?.endpoint == "feed")
        #expect(transport.requests.count == 4)
        expectReason(.retries(3), error?.retry)
        #expect(error?.retry?.state.retryCount == 3)
    }

    @Test("Gives up by default when the delays add up to 15 minutes")
    func defaultLimit() async throws {
        for step in [MockTransport.Step.status(500), .events("")] {
            let transport = MockTransport()
            for _ in 0..<400 { transport.append(step) }
            let begin = time.now
            let error = await #expect(throws: (any Error).self) {
                _ = try await client(transport).events(for: request).collected()
            }
            #expect((error as? ServerError)?.errorCode == 500 || error as? NetworkError == .init(.connectionLost, ""))
            #expect(time.now - begin >= .seconds(900))
            #expect(time.now - begin < .seconds(1000))
        }
    }

    @Test(
        "Waits an hour at most, even if the server or the caller asks for more",
        .shows("H21"),
        arguments: [true, false]
    )
    func longDelay(isServer: Bool) async throws {
        let retry = isServer ? "retry: 99999999999999999999\n" : ""
        let transport = MockTransport(.events("\(retry)data: a\n\n"), .status(204))
        var options = options()
        if !isServer { options.reconnectionTime = .seconds(Int64.max) }
        _ = try await client(transport).events(for: request, options: options).collected()
        #expect(time.sleeps == [.seconds(3601)])
        let negative = MockTransport(.events("data: a\n\n"), .status(204))
        let policy = Retry.Policy.custom { _ in .retryAfter(.seconds(-5)) }
        let other = EventStreamOptions(reconnectionTime: .seconds(-1), reconnection: policy)
        _ = try await client(negative).events(for: request, options: other).collected()
        #expect(time.sleeps == [.seconds(3601), .zero])
    }

    @Test("Ends with the error of any other status", arguments: [301, 400, 401, 403, 404, 410, 501])
    func finalStatus(_ status: Int) async throws {
        let transport = MockTransport(.events("data: a\n\n"), .status(status))
        var events = client(transport).events(for: request, options: options()).makeAsyncIterator()
        #expect(try await events.next()?.data == "a")
        await expectStatus(status) { _ = try await events.next() }
        #expect(try await events.next() == nil)
        #expect(transport.requests.count == 2)
    }

    @Test(
        "Ends with invalidResponse if the response isn't an event stream",
        arguments: [
            (200, "text/html"), (200, "text/event-stream-x"), (200, "application/json"), (200, nil),
            (206, "text/event-stream"),
            (201, "text/event-stream"), (205, nil),
        ]
    )
    func wrongResponse(_ status: Int, _ type: String?) async throws {
        let body = HTTPResponseBody(Data("data: a\n\n".utf8))
        let headers = type.map { ["Content-Type": $0] as HTTPHeaders } ?? [:]
        let response = HTTPTransportResponse(status: status, headers: headers, stream: body)
        let transport = MockTransport(.response(response))
        let options = EventStreamOptions(reconnection: .maxRetries(3, when: .always))
        let error = await failure { _ = try await client(transport).events(for: request, options: options).collected() }
        #expect(error?.code == .invalidResponse)
        #expect(error?.endpoint == "feed")
        #expect(transport.requests.count == 1)
    }

    @Test(
        "Accepts the type with parameters in any case",
        arguments: ["Text/Event-Stream", "text/event-stream;charset=utf-8"]
    )
    func type(_ type: String) async throws {
        let body = HTTPResponseBody(Data("data: a\n\n".utf8))
        let response = HTTPTransportResponse(status: 200, headers: ["Content-Type": type], stream: body)
        let events = client(MockTransport(.response(response), .status(204))).events(for: request)
        #expect(try await events.collected().map(\.data) == ["a"])
    }

    @Test("Ends with bodyTooLarge if an event is too large, without reconnecting")
    func largeEvent() async throws {
        let transport = MockTransport(.events("data: a\n\ndata: \(String(repeating: "b", count: 100))\n\n"))
        let options = EventStreamOptions(reconnection: .maxRetries(3, when: .always), maximumEventSize: 100)
        var events = client(transport).events(for: request, options: options).makeAsyncIterator()
        #expect(try await events.next()?.data == "a")
        await expectFailure(.bodyTooLarge) { _ = try await events.next() }
        #expect(try await events.next() == nil)
        #expect(transport.requests.count == 1)
    }

    @Test("Reads a single response without a policy")
    func withoutPolicy() async throws {
        let transport = MockTransport(.events("data: a\n\n"), .events("data: b\n\n", ending: .lost))
        let events = client(transport).events(for: request, options: EventStreamOptions(reconnection: nil))
        #expect(try await events.collected().map(\.data) == ["a"])
        await expectFailure(.connectionLost) { _ = try await events.collected() }
        #expect(time.sleeps.isEmpty)
    }

    @Test("Doesn't repeat a POST unless it's idempotent or the policy insists")
    func post() async throws {
        var request = request
        request.httpMethod = "POST"
        request.httpBody = Data("{}".utf8)
        let once = MockTransport(.events("data: a\n\n"), .events("data: b\n\n", ending: .lost), .status(503))
        let client = client(once)
        #expect(try await client.events(for: request).collected().map(\.data) == ["a"])
        await expectFailure(.connectionLost) { _ = try await client.events(for: request).collected() }
        await #expect(throws: ServerError.self) { _ = try await client.events(for: request).collected() }
        #expect(time.sleeps.isEmpty)

        let always = EventStreamOptions(reconnection: .maxRetries(3, when: .always))
        var keyed = request
        keyed.setValue("k1", forHTTPHeaderField: "Idempotency-Key")
        for (request, options) in [(request, always), (keyed, EventStreamOptions())] {
            let twice = MockTransport(.events("data: a\n\n"), .events("data: b\n\n"), .status(204))
            let events = self.client(twice).events(for: request, options: options)
            #expect(try await events.collected().map(\.data) == ["a", "b"])
            #expect(twice.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["{}", "{}", "{}"])
        }
    }

    @Test("Doesn't repeat a request whose body can be sent only once")
    func bodyOnce() async throws {
        var request = request
        request.httpMethod = "PUT"
        let transport = MockTransport(.events("data: a\n\n", ending: .lost))
        var options = options()
        options.request.body = .once(AsyncStream.of("x"))
        var events = client(transport).events(for: request, options: options).makeAsyncIterator()
        #expect(try await events.next()?.data == "a")
        let error = await expectFailure(.connectionLost) { _ = try await events.next() }
        expectReason(.bodyNotReplayable, error?.retry)
    }

    @Test("Reconnects when the circuit breaker or the authenticator recovers")
    func temporaryFailures() async throws {
        struct Outage: RetryableError { var isRetryable: Bool }
        let transport = MockTransport(
            .failure(NetworkError(.circuitOpen, "open")),
            .failure(NetworkError(.requestNotMade, "no token", cause: Outage(isRetryable: true))),
            .events("data: a\n\n"),
            .failure(NetworkError(.requestNotMade, "no token", cause: Outage(isRetryable: false)))
        )
        var events = client(transport).events(for: request, options: options()).makeAsyncIterator()
        #expect(try await events.next()?.data == "a")
        #expect(time.sleeps == [.seconds(4), .seconds(5)])
        await expectFailure(.requestNotMade) { _ = try await events.next() }

        for isRetryable in [true, false] {
            let refused = MockTransport(.status(401), .events("data: a\n\n"), .status(204))
            let authenticator = CountingAuthenticator { _, _ in
                .noRetry(.custom(Outage(isRetryable: isRetryable)))
            }
            events = client(refused, [authenticator]).events(for: request, options: options()).makeAsyncIterator()
            if isRetryable {
                #expect(try await events.next()?.data == "a")
            } else {
                await expectStatus(401) { _ = try await events.next() }
            }
        }
    }

    @Test("Ends at once when the task is cancelled while it waits to reconnect, connects or reads", arguments: 0...2)
    func cancelled(phase: Int) async throws {
        let time = ManualTime()
        let steps: [MockTransport.Step] = [.events("data: a\n\n"), .never, .events("data: a\n\n", ending: .never)]
        let transport = MockTransport(steps[phase])
        let client = NetworkClient(transport: transport, options: .init(timeSource: time.timeSource))
        let events = client.events(for: request)
        let task = Task { try await events.collected() }
        if phase == 0 {
            try await time.waitForSleepers(count: 1)
        } else {
            try await transport.waitForRequests(count: 1)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(transport.requests.count == 1)
    }
}
