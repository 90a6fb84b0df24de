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

    /// Creates an attempt, for testing observers.
    ///
    /// - Parameters:
    ///   - context: The context of the operation.
    ///   - duration: The duration of the attempt.
    ///   - request: The request as sent.
    ///   - response: The response.
    ///   - error: The reason why the attempt failed.
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

/// A collector for the metrics of an attempt's requests.
final class MetricsBox: Sendable {
    private let exchanges = Mutex<[HTTPTransportMetrics]>([])
    private let observers: [any ClientObserver]

    init(_ observers: [any ClientObserver] = []) {
        self.observers = observers
    }

    var all: [HTTPTransportMetrics] { exchanges.withLock { $0 } }

    /// Observes a request in addition to any existing observer, and reports its connection.
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
