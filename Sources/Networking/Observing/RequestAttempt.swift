import Foundation
import Synchronization

/// The outcome of one attempt of an operation, for logs and metrics.
public struct RequestAttempt: Sendable {
    /// The context of the operation, with this attempt's number.
    public let context: InterceptorContext
    /// The duration of the attempt, until the interceptors and the receiver of its body are done
    /// with the response, and without the delays between attempts.
    public internal(set) var duration: Duration
    /// The request as ``RequestInterceptor``s left it; `nil` if it couldn't be made.
    public var request: HTTPRequest?
    /// The response, if any; the body of a streamed response is empty.
    public var response: HTTPResponse?
    /// The reason why the attempt failed; `nil` if it succeeded.
    public var error: (any Error)?
    /// The metrics of each request on the wire; more than one if the client followed redirects.
    ///
    /// Empty unless an observer of the client has ``ClientObserver/needsMetrics`` and the transport
    /// supports metrics.
    public var exchanges: [HTTPTransportMetrics] = []

    /// Creates an attempt, for observers that forward to others, and for tests.
    public init(
        context: InterceptorContext,
        duration: Duration,
        request: HTTPRequest? = nil,
        response: HTTPResponse? = nil,
        error: (any Error)? = nil
    ) {
        self.context = context
        self.duration = duration
        self.request = request
        self.response = response
        self.error = error
    }
}

final class MetricsBox: Sendable {
    private let exchanges = Mutex<[HTTPTransportMetrics]>([])
    private let observers: [any ClientObserver]

    init(_ observers: [any ClientObserver] = []) {
        self.observers = observers
    }

    var all: [HTTPTransportMetrics] { exchanges.withLock { $0 } }

    /// Keeps any existing observer of the request.
    func observe(_ request: inout HTTPRequest) {
        let other = request.observer
        let url = request.url
        request.observer = { [self] event in
            switch event {
            case .finished(let metrics):
                exchanges.withLock { $0.append(metrics) }
            case .connected:
                guard let origin = HTTPOrigin(url) else { break }
                observers.observe(
                    ConnectionEvent.opened(scheme: origin.scheme, host: origin.plainHost, port: origin.port)
                )
            default: break
            }
            other?(event)
        }
    }
}

extension RequestAttempt: ObservedEvent {
    /// `http.client.request`.
    public var name: String { "http.client.request" }

    /// The labels of
    /// [OpenTelemetry's HTTP conventions](https://opentelemetry.io/docs/specs/semconv/http/).
    ///
    /// - `http.request.method`: a method of RFC 9110 or `PATCH`, else `_OTHER`;
    /// - `url.scheme`, `server.address`, `server.port`: the request's origin;
    /// - `http.response.status_code`: the status, if there is a response;
    /// - `network.protocol.version`: `1.0`, `1.1`, `2` or `3`, if there is a response;
    /// - `error.type`: ``errorType``, if the attempt failed.
    public var labels: [String: String] {
        let origin = request.flatMap { HTTPOrigin($0.url) }
        return [
            "http.request.method": request.map { Self.known($0.method.rawValue) } ?? Self.noLabel,
            "url.scheme": origin?.scheme ?? Self.noLabel,
            "server.address": origin?.plainHost ?? Self.noLabel,
            "server.port": origin.map { String($0.port) } ?? Self.noLabel,
            "http.response.status_code": response.map { Self.statusLabel($0.status) } ?? Self.noLabel,
            "network.protocol.version": response.flatMap { Self.versions[$0.version] } ?? Self.noLabel,
            "error.type": errorType ?? Self.noLabel,
        ]
    }

    /// `url.full` without secrets, `http.request.resend_count` after the first attempt, the size of
    /// the body, the use of the cache, redirects and ``errorDescription``.
    public var details: [String: String] {
        var details: [String: String] = [:]
        details["url.full"] = request.map { Redaction.standard.redacted($0.url) }
        if context.attempt > 1 { details["http.request.resend_count"] = String(context.attempt - 1) }
        if let response {
            details["http.response.body.size"] = String(response.body.count)
            if let use = response.cacheUse { details["cache"] = "\(use)" }
            if !response.redirects.isEmpty { details["redirects"] = String(response.redirects.count) }
        }
        details["error.message"] = errorDescription
        return details
    }

    /// `debug`, or `info` if the attempt failed: the caller gets the error.
    ///
    /// A failed token request is `debug`, too, because an event of its own reports it.
    public var severity: EventSeverity { error == nil || context.traits.hasFailureEvent ? .debug : .info }

    /// The kind of the error, one of few values; `nil` if the attempt succeeded.
    ///
    /// It's the status of a ``ServerError``, the name of a ``NetworkError/Code``, `cancelled` or,
    /// for errors of other packages, the name of their type.
    public var errorType: String? {
        switch error {
        case nil: nil
        case let error as ServerError: Self.statusLabel(error.errorCode)
        case let error as NetworkError: "\(error.code)"
        case is CancellationError: "cancelled"
        case let error?: "\(type(of: error))"
        }
    }

    /// The description of the error without secrets; `nil` if the attempt succeeded.
    ///
    /// It's the type's name for errors of other packages, because their texts may contain secrets.
    public var errorDescription: String? {
        error.map { ($0 as? any LoggableError)?.logText ?? "\(type(of: $0))" }
    }

    /// A server can send any number of three digits, and a transport of tests others.
    private static func statusLabel(_ status: Int) -> String {
        (100...599).contains(status) ? String(status) : "_OTHER"
    }

    private static func known(_ method: String) -> String { methods.contains(method) ? method : "_OTHER" }

    private static let methods: Set = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT",
    ]
    private static let versions = [
        "HTTP/1.0": "1.0", "HTTP/1.1": "1.1", "HTTP/2": "2", "HTTP/2.0": "2", "HTTP/3": "3", "HTTP/3.0": "3",
    ]
}
