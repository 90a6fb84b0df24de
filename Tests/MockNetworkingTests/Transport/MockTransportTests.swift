import Foundation
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite(.limitedConcurrency, .tags(.concurrency)) struct MockTransportTests {
    private let request = HTTPRequest(
        method: .post,
        url: URL(string: "https://api.example/users/1?secret=x")!,
        headers: ["A": "1", "a": "2"],
        body: .data(Data("hello".utf8))
    )

    @Test("Responds with the script's steps in order, and records the requests")
    func script() async throws {
        let time = ManualTime()
        let transport = MockTransport(
            .status(503, headers: ["Retry-After": "1"]),
            .json(#"{"a":1}"#),
            .text("plain", status: 201),
            .response(HTTPTransportResponse(status: 204, version: "HTTP/2")),
            time: time.timeSource
        )
        #expect(transport.remainingStepCount == 4)
        var responses: [HTTPTransportResponse] = []
        for _ in 0..<4 { responses.append(try await transport.send(request, limits: .init(maximumBodySize: 100))) }
        #expect(responses.map(\.status) == [503, 200, 201, 204])
        #expect(responses[0].headers == ["Retry-After": "1"])
        #expect(responses[1].headers == ["Content-Type": "application/json"])
        #expect(responses[1].body == Data(#"{"a":1}"#.utf8))
        #expect(responses[2].headers == ["Content-Type": "text/plain; charset=utf-8"])
        #expect(responses[3].version == "HTTP/2")
        #expect(transport.remainingStepCount == 0)
        #expect(transport.requests.count == 4)
        let recorded = try #require(transport.requests.first)
        #expect(recorded.method == .post)
        #expect(recorded.url == request.url)
        #expect(recorded.headers == request.headers)
        #expect(recorded.body == Data("hello".utf8))
        #expect(recorded.limits.maximumBodySize == 100)
        #expect(recorded.arrival == time.now)
    }

    @Test("Fails a request beyond the script with an error that names it, without its query")
    func exhausted() async throws {
        let transport = MockTransport(.status(200))
        _ = try await transport.send(request, limits: .init())
        let error = try await failure(transport)
        #expect(error == NetworkError(.unknown, ""))
        #expect(error.cause as? MockError == MockError(.scriptExhausted, ""))
        #expect(error.message.contains("POST /users/1;"))
        #expect(!error.description.contains("secret"))
        #expect(transport.requests.count == 2)
        transport.append(.status(202), .status(203))
        #expect(try await transport.send(request, limits: .init()).status == 202)
        #expect(try await transport.send(request, limits: .init()).status == 203)
    }

    @Test("Responds with a closure, as a step or after the script", .shows("1.1", "4.15"))
    func handler() async throws {
        let transport = MockTransport(steps: [.handler { _ in .init(status: 418) }]) { request in
            HTTPTransportResponse(status: 200, body: (request.bodyData() ?? Data()) + Data(request.url.path.utf8))
        }
        #expect(try await transport.send(request, limits: .init()).status == 418)
        #expect(try await transport.send(request, limits: .init()).body == Data("hello/users/1".utf8))
        let plain = MockTransport { .init(status: $0.bodyData() == nil ? 204 : 200) }
        #expect(try await plain.send(.init(url: request.url), limits: .init()).status == 204)
    }

    @Test("Throws a scripted error, wrapped in a NetworkError if it is of another type")
    func failures() async throws {
        struct Odd: Error {}
        let transport = MockTransport(
            .failure(NetworkError(.connectionLost, "scripted")),
            .failure(Odd()),
            .handler { _ in throw NetworkError(.tls, "scripted") },
            .handler { _ in throw Odd() },
            .failure(CancellationError())
        )
        #expect(try await failure(transport) == NetworkError(.connectionLost, ""))
        let odd = try await failure(transport)
        #expect(odd == NetworkError(.unknown, ""))
        #expect(odd.cause is Odd)
        #expect(try await failure(transport) == NetworkError(.tls, ""))
        #expect(try await failure(transport).cause is Odd)
        #expect(try await failure(transport).code == .unknown)
    }

    @Test("Rejects a malformed request before recording it")
    func validation() async throws {
        let transport = MockTransport(.status(200))
        var broken = request
        broken.headers = ["A": "b\r\nC: d"]
        await #expect(throws: NetworkError(.invalidRequest, "")) { try await transport.send(broken, limits: .init()) }
        #expect(transport.requests.isEmpty)
        #expect(transport.remainingStepCount == 1)
    }

    @Test("Rejects a body larger than the limit")
    func bodyLimit() async throws {
        let transport = MockTransport(.text("12345"), .text("12345"))
        #expect(try await transport.send(request, limits: .init(maximumBodySize: 5)).body.count == 5)
        #expect(try await failure(transport, .init(maximumBodySize: 4)) == NetworkError(.bodyTooLarge, ""))
    }

    @Test("Waits for delays, but not beyond the deadline")
    func deadline() async throws {
        let time = ManualTime(advancesWhenSleeping: true)
        let transport = MockTransport(
            .status(200).delayed(by: .seconds(4)),
            .status(200).delayed(by: .seconds(5)),
            .handler { _ in
                time.advance(by: .seconds(5))
                return .init(status: 200)
            },
            .never,
            .status(200).gated(by: ResponseGate()),
            time: time.timeSource
        )
        func limits() -> HTTPTransportLimits { .init(deadline: time.now + .seconds(5)) }
        #expect(try await transport.send(request, limits: limits()).status == 200)
        for _ in 0..<4 { #expect(try await failure(transport, limits()) == NetworkError(.timedOut, "")) }
        #expect(time.sleeps == [.seconds(4), .seconds(5), .seconds(5), .seconds(5)])
        #expect(try await failure(transport, .init(deadline: time.now)) == NetworkError(.timedOut, ""))
        #expect(transport.requests.count == 5)
    }

    @Test("Holds the response back at a gate, with and without a deadline")
    func gate() async throws {
        let time = ManualTime()
        for limits in [HTTPTransportLimits(), HTTPTransportLimits(deadline: time.now + .seconds(5))] {
            let gate = ResponseGate()
            let transport = MockTransport(.status(200).gated(by: gate), time: time.timeSource)
            async let response = transport.send(request, limits: limits)
            try await transport.waitForRequests(count: 1)
            try await gate.waitForWaiters(count: 1)
            gate.open()
            #expect(try await response.status == 200)
        }
        #expect(time.sleeperCount == 0)
    }

    @Test(
        "Canceling the task cancels the request",
        arguments: [
            MockTransport.Step.never, .status(200).gated(by: ResponseGate()), .status(200).delayed(by: .seconds(1000)),
            .handler { _ in
                try await ResponseGate().wait()
                return .init(status: 200)
            },
        ]
    )
    func cancellation(_ step: MockTransport.Step) async throws {
        for deadline in [nil, ContinuousClock.now + .seconds(2000)] {
            let transport = MockTransport(step)
            let request = self.request
            let sending = Task { try await transport.send(request, limits: .init(deadline: deadline)) }
            try await transport.waitForRequests(count: 1)
            sending.cancel()
            await #expect(throws: CancellationError.self) { try await sending.value }
        }
    }

    @Test("Sends nothing in a task that is already canceled")
    func cancelledBefore() async throws {
        let transport = MockTransport(.status(200))
        let request = self.request
        let sending = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await transport.send(request, limits: .init())
        }
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        #expect(transport.requests.isEmpty)
    }

    @Test("Each step answers one of many concurrent requests, in the order of the record")
    func concurrent() async throws {
        let count = 500
        let transport = MockTransport(steps: (0..<count).map { .status(200, headers: ["N": "\($0)"]) }, handler: nil)
        let numbers = try await withThrowingTaskGroup(of: (String, Int).self) { group in
            for index in 0..<count {
                let url = try #require(URL(string: "http://h/\(index)"))
                group.addTask {
                    let response = try await transport.send(.init(url: url), limits: .init())
                    return (url.path, Int(response.headers["N"] ?? "") ?? -1)
                }
            }
            return try await group.reduce(into: [:]) { $0[$1.1] = $1.0 }
        }
        let paths = transport.requests.map(\.url.path)
        #expect(paths.count == count)
        for (index, path) in paths.enumerated() { #expect(numbers[index] == path) }
    }

    private func failure(
        _ transport: MockTransport,
        _ limits: HTTPTransportLimits = .init()
    ) async throws -> NetworkError {
        let error = await #expect(throws: NetworkError.self) { try await transport.send(request, limits: limits) }
        return try #require(error)
    }
}
