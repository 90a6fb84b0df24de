import ClientTracing
import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import ObservedService
import Testing
import Tracing

@Suite("TracingObserver")
struct TracingObserverTests {
    @Test("An operation has a span, its attempts have child spans, and the server gets the attempt's span")
    func spans() async throws {
        let tracer = MemoryTracer()
        let service = ObservedService(
            TracingObserver(tracer),
            answers: [.status(503, headers: ["Retry-After": "0"]), .text("ok")]
        )
        try await tracer.withSpan("caller") { _ in _ = try await service.client.makeRequest(service.request) }
        let caller = try #require(tracer.spans.first)
        let operation = try #require(tracer.spans.first { $0.parent?.span == caller.id.span })
        let attempts = tracer.spans.filter { $0.parent?.span == operation.id.span }
        #expect(operation.kind == .internal && operation.operationName == "HTTP GET")
        #expect(attempts.map(\.kind) == [.client, .client] && attempts.map(\.operationName) == ["GET", "GET"])
        #expect(tracer.spans.allSatisfy { $0.now.ends == 1 })
        #expect(attempts.map(\.id.trace) == [caller.id.trace, caller.id.trace])
        #expect(service.api.requests.map { $0.headers["traceparent"] } == attempts.map(\.id.traceparent))
        #expect(service.api.requests.map { $0.headers["tracestate"] } == attempts.map { "vendor=\($0.id.span)" })
    }

    @Test("A token request starts another trace, because it serves all callers")
    func tokenRequests() async throws {
        let tracer = MemoryTracer()
        let service = ObservedService(TracingObserver(tracer), answers: [.text("ok")])
        try await tracer.withSpan("caller") { _ in _ = try await service.client.makeRequest(service.request) }
        let attempt = try #require(tracer.spans.first { $0["server.address"] == "as.example" && $0.kind == .client })
        #expect(attempt["http.request.method"] == "POST")
        #expect(attempt.id.trace != tracer.spans.first?.id.trace)
        #expect(service.endpoint.requests.first?.headers["traceparent"] == attempt.id.traceparent)
    }

    @Test("Spans have the attributes of OpenTelemetry's HTTP conventions")
    func attributes() async throws {
        let tracer = MemoryTracer()
        let service = ObservedService(
            TracingObserver(tracer),
            answers: [.status(503, headers: ["Retry-After": "0"]), .text("no", status: 404)]
        )
        await #expect(throws: ServerError.self) { try await service.client.makeRequest(service.request) }
        let attempts = tracer.spans.filter { $0.kind == .client && $0["server.address"] == "api.example" }
        #expect(attempts.map { $0["http.request.method"] } == ["GET", "GET"])
        #expect(attempts.map { $0["server.port"] } == ["443", "443"])
        #expect(attempts.map { $0["http.response.status_code"] } == ["503", "404"])
        #expect(attempts.map { $0["error.type"] } == ["503", "404"])
        #expect(attempts.map { $0["network.protocol.version"] } == ["1.1", "1.1"])
        #expect(attempts.map { $0["http.request.resend_count"] } == [nil, "1"])
        #expect(attempts.allSatisfy { $0.now.status?.code == .error })
        #expect(attempts[0]["url.full"]?.hasPrefix("https://") == true)
        let operations = tracer.spans.filter { $0.kind == .internal }
        let operation = try #require(operations.first { $0["server.address"] == "api.example" })
        #expect(operation["http.request.resend_count"] == "1" && operation["error.type"] == "404")
    }

    @Test("No span contains a secret, and errors of other packages aren't recorded")
    func secrets() async throws {
        let tracer = MemoryTracer()
        _ = try await ObservedService.exercised(by: TracingObserver(tracer))
        #expect(tracer.spans.count > 8)
        for span in tracer.spans {
            #expect(!"\(span.now)".contains(ObservedService.secret), "\(span.now)")
            #expect(span.now.errors == 0 && span.now.ends == 1)
        }
        #expect(tracer.spans.contains { $0["error.type"] == "Leak" })
        #expect(tracer.spans.contains { $0["url.full"]?.contains("REDACTED") == true })
    }

    @Test("A request that can't be made has a failed operation without attempts")
    func notMade() async throws {
        let tracer = MemoryTracer()
        let service = ObservedService(TracingObserver(tracer), answers: [], tokens: [.status(400)])
        await #expect(throws: NetworkError.self) { try await service.client.makeRequest(service.request) }
        let operation = try #require(tracer.spans.first)
        #expect(operation.kind == .internal && operation.now.ends == 1)
        #expect(operation["error.type"] == "requestNotMade")
        #expect(!tracer.spans.contains { $0.parent?.span == operation.id.span })
    }

    @Test("Uses the tracer of the instrumentation system by default")
    func systemTracer() async throws {
        let tracer = MemoryTracer()
        let service = ObservedService(TracingObserver(), answers: [.text("ok")])
        try await withTracer(tracer) { _ = try await service.client.makeRequest(service.request) }
        #expect(tracer.spans.contains { $0["server.address"] == "api.example" })
    }
}
