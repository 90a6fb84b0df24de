import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

/// Interceptors that complete requests and receive responses on the wire.
@Suite(.limitedConcurrency)
struct WireInterceptorTests {
    private struct Failure: Error, Equatable {}

    /// Marks each request and response, and can fail.
    private final class Marker: RequestInterceptor {
        let name: String
        let fails: @Sendable (HTTPTransportRequest) -> Bool
        let rejects: @Sendable (HTTPTransportResponse) -> Bool
        private let seen = Mutex<[String]>([])

        init(
            _ name: String = "a",
            fails: @escaping @Sendable (HTTPTransportRequest) -> Bool = { _ in false },
            rejects: @escaping @Sendable (HTTPTransportResponse) -> Bool = { _ in false }
        ) {
            (self.name, self.fails, self.rejects) = (name, fails, rejects)
        }

        var events: [String] { seen.withLock { $0 } }

        func completeRequest(
            _ request: HTTPTransportRequest,
            after redirects: [RedirectHop],
            context: InterceptorContext
        ) async throws -> HTTPTransportRequest {
            seen.withLock { $0.append("\(request.url.path) after \(redirects.count), attempt \(context.attempt)") }
            if fails(request) { throw Failure() }
            var request = request
            request.headers["X-Mark"] = (request.headers["X-Mark"] ?? "") + name
            return request
        }

        func receiveResponse(
            _ response: HTTPTransportResponse,
            to request: HTTPTransportRequest,
            context: InterceptorContext
        ) async throws -> HTTPTransportResponse {
            seen.withLock { $0.append("\(response.status) to \(request.headers["X-Mark"] ?? "nothing")") }
            if rejects(response) { throw Failure() }
            var response = response
            response.headers["X-Seen"] = (response.headers["X-Seen"] ?? "") + name
            return response
        }
    }

    private func request(_ path: String = "/1", method: String = "GET") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "https://a.example\(path)")))
        request.httpMethod = method
        return request
    }

    private func redirect(to location: String) -> MockTransport.Step {
        .response(HTTPTransportResponse(status: 307, headers: ["Location": location]))
    }

    @Test("each request on the wire is completed anew, without what the previous one got")
    func hops() async throws {
        let transport = MockTransport(redirect(to: "/2"), redirect(to: "https://b.example/3"), .status(200))
        let marker = Marker()
        let client = NetworkClient(transport: transport, interceptors: [marker])
        let response = try await client.response(for: try request())
        #expect(transport.requests.map { $0.headers["X-Mark"] } == ["a", "a", "a"])
        #expect(
            marker.events == [
                "/1 after 0, attempt 1", "307 to a", "/2 after 1, attempt 1", "307 to a", "/3 after 2, attempt 1",
                "200 to a",
            ]
        )
        #expect(response.headers["X-Seen"] == "a")
        #expect(response.redirects.count == 2)
    }

    @Test("several interceptors run in order, after the other ones")
    func order() async throws {
        let transport = MockTransport(.status(200))
        let late = ClosureInterceptor.changingRequest { $0.setValue("0", forHTTPHeaderField: "X-Mark") }
        let client = NetworkClient(transport: transport, interceptors: [Marker("a"), late, Marker("b")])
        let response = try await client.response(for: try request())
        #expect(transport.requests.map { $0.headers["X-Mark"] } == ["0ab"])
        #expect(response.headers["X-Seen"] == "ab")
    }

    @Test("each attempt is completed anew")
    func attempts() async throws {
        let transport = MockTransport(.status(503), .status(200))
        let marker = Marker()
        let client = NetworkClient(transport: transport, interceptors: [Retry.Policy.maxRetries(1), marker])
        _ = try await client.makeRequest(try request())
        #expect(transport.requests.map { $0.headers["X-Mark"] } == ["a", "a"])
        #expect(marker.events.count { $0.hasSuffix("attempt 2") } == 1)
    }

    @Test("a request that can't be completed isn't sent or retried")
    func incompleteRequest() async throws {
        let transport = MockTransport()
        let client = NetworkClient(
            transport: transport,
            interceptors: [Retry.Policy.maxRetries(3, when: .always), Marker(fails: { _ in true })]
        )
        let error = await #expect(throws: NetworkError(.requestNotMade, "")) {
            _ = try await client.makeRequest(try request())
        }
        #expect(error?.cause is Failure)
        #expect(error?.isUnprocessed == true)
        #expect(transport.requests.isEmpty)
    }

    @Test("after a redirect, a request that can't be completed may have had an effect")
    func incompleteRedirect() async throws {
        let transport = MockTransport(redirect(to: "/2"))
        let marker = Marker(fails: { $0.url.path == "/2" })
        let client = NetworkClient(
            transport: transport,
            interceptors: [Retry.Policy.maxRetries(3, when: .always), marker]
        )
        let error = await #expect(throws: NetworkError(.requestNotMade, "")) {
            _ = try await client.makeRequest(try request(method: "POST"))
        }
        #expect(error?.isUnprocessed == false)
        #expect(transport.requests.count == 1)
    }

    @Test("a rejected response fails the attempt, and a rejected redirect isn't followed")
    func rejectedResponses() async throws {
        let transport = MockTransport(redirect(to: "/2"), .status(200))
        let client = NetworkClient(transport: transport, interceptors: [Marker(rejects: { $0.status == 307 })])
        await #expect(throws: Failure()) { _ = try await client.makeRequest(try request()) }
        #expect(transport.requests.count == 1)
    }

    @Test("cancellation while a request is completed is a cancellation")
    func cancellation() async throws {
        let transport = MockTransport()
        let waiting = Waiting()
        let client = NetworkClient(transport: transport, interceptors: [waiting])
        let call = Task { try await client.makeRequest(try request()) }
        try await waiting.gate.waitForWaiters(count: 1)
        call.cancel()
        await #expect(throws: NetworkError(.cancelled, "")) { try await call.value }
    }

    private struct Waiting: RequestInterceptor {
        let gate = ResponseGate()

        func completeRequest(
            _ request: HTTPTransportRequest,
            after redirects: [RedirectHop],
            context: InterceptorContext
        ) async throws -> HTTPTransportRequest {
            try await gate.wait()
            return request
        }
    }
}
