import Foundation
public import Networking
import Synchronization
public import Tracing

/// An observer that traces the requests of clients with swift-distributed-tracing.
///
/// ```swift
/// let tracing = TracingObserver()
/// let client = NetworkClient(options: .init(observers: [tracing]))
/// ```
///
/// Each operation has a span of the kind `internal`, the child of the span in
/// `ServiceContext.current`. Each attempt that sends a request has a child span of the kind
/// `client`, as
/// [OpenTelemetry's conventions](https://opentelemetry.io/docs/specs/semconv/http/http-spans/)
/// require for each request. The tracer injects the attempt's span into the header fields, such as
/// `traceparent`. Token requests run for all callers, so their operations start new traces. Don't
/// add a `TraceContextObserver`, because the client keeps the fields of the first observer.
///
/// | attribute | span |
/// |---|---|
/// | `http.request.method`, `url.full` without secrets, `server.address`, `server.port` | both |
/// | `http.response.status_code`, `error.type` | both |
/// | `network.protocol.version` | attempt |
/// | `http.request.resend_count` | attempt, from the second; operation, if there was one |
///
/// The status of the span of a failed request has the description of the error, which contains no
/// secret. Errors themselves aren't recorded, because those of other packages may.
public final class TracingObserver: ClientObserver {
    private struct Spans {
        let operation: any Span
        var attempt: (any Span)?
    }

    private let tracer: (any Tracer)?
    private let redaction: Redaction
    /// The spans of running operations.
    private let running = Mutex<[UInt64: Spans]>([:])

    /// Creates an observer.
    ///
    /// - Parameters:
    ///   - tracer: The tracer. The default, `nil`, is the one that `InstrumentationSystem` has when
    ///     an operation starts.
    ///   - redaction: The redaction of URLs. The default is `standard`.
    public init(_ tracer: (any Tracer)? = nil, redaction: Redaction = .standard) {
        self.tracer = tracer
        self.redaction = redaction
    }

    private var currentTracer: any Tracer { tracer ?? InstrumentationSystem.tracer }

    /// Starts the span of an operation.
    ///
    /// - Parameter context: The context of the operation.
    public func operationStarted(_ context: InterceptorContext) {
        let span: any Span = currentTracer.startSpan("HTTP", ofKind: .internal)
        running.withLock { $0[context.operation] = Spans(operation: span) }
    }

    /// Starts the span of an attempt, and returns the header fields that the tracer injects.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - context: The context of the operation.
    /// - Returns: The header fields of the tracer.
    public func attemptStarted(_ request: HTTPRequest, context: InterceptorContext) -> HTTPHeaders {
        guard let operation = running.withLock({ $0[context.operation]?.operation }) else { return [:] }
        let tracer = currentTracer
        let attempt = RequestAttempt(context: context, duration: .zero, request: request)
        let method = attempt.labels["http.request.method"] ?? "_OTHER"
        let name = method == "_OTHER" ? "HTTP" : method
        let span: any Span = tracer.startSpan(name, context: operation.context, ofKind: .client)
        operation.operationName = "HTTP \(method)"
        for span in [operation, span] { describe(attempt, in: span) }
        if context.attempt > 1 { span.attributes["http.request.resend_count"] = context.attempt - 1 }
        running.withLock { $0[context.operation]?.attempt = span }
        var fields: HTTPHeaders = [:]
        tracer.inject(span.context, into: &fields, using: FieldInjector())
        return fields
    }

    /// Ends the span of an attempt.
    ///
    /// - Parameter attempt: The attempt.
    public func attemptEnded(_ attempt: RequestAttempt) {
        let span = running.withLock { running in
            defer { running[attempt.context.operation]?.attempt = nil }
            return running[attempt.context.operation]?.attempt
        }
        guard let span else { return }
        describeOutcome(attempt, in: span)
        if let version = attempt.label("network.protocol.version") {
            span.attributes["network.protocol.version"] = version
        }
        span.end()
    }

    /// Ends the span of an operation.
    ///
    /// - Parameter operation: The last attempt, with the duration of the whole operation.
    public func operationEnded(_ operation: RequestAttempt) {
        guard let spans = running.withLock({ $0.removeValue(forKey: operation.context.operation) }) else { return }
        let resends = operation.context.attempt - 1
        if resends > 0 { spans.operation.attributes["http.request.resend_count"] = resends }
        describeOutcome(operation, in: spans.operation)
        spans.operation.end()
    }

    private func describe(_ attempt: RequestAttempt, in span: any Span) {
        span.updateAttributes { attributes in
            for name in ["http.request.method", "server.address"] {
                if let value = attempt.label(name) { attributes[name] = value }
            }
            if let port = attempt.label("server.port").flatMap({ Int($0) }) { attributes["server.port"] = port }
            if let url = attempt.request?.url { attributes["url.full"] = redaction.redacted(url) }
        }
    }

    private func describeOutcome(_ attempt: RequestAttempt, in span: any Span) {
        span.updateAttributes { attributes in
            if let status = attempt.response?.status { attributes["http.response.status_code"] = status }
            if let error = attempt.errorType { attributes["error.type"] = error }
        }
        if attempt.error != nil { span.setStatus(SpanStatus(code: .error, message: attempt.errorDescription)) }
    }
}

extension RequestAttempt {
    /// Returns the value of a label, or `nil` if it doesn't apply.
    fileprivate func label(_ name: String) -> String? {
        labels[name].flatMap { $0 == Self.noLabel ? nil : $0 }
    }
}

/// An injector that adds a tracer's values to header fields.
private struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into carrier: inout HTTPHeaders) {
        carrier[key] = value
    }
}
