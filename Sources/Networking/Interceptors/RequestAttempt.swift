public import FoundationNetworking
import Synchronization

/// How one attempt of an operation ended, for logs and metrics.
public struct RequestAttempt: Sendable {
    /// What is known about the operation; its `attempt` is this attempt's number.
    public let context: InterceptorContext
    /// How long the attempt took, interceptors included; delays between attempts are not.
    public let duration: Duration
    /// The request as it was sent; `nil` if it could not be made.
    public var request: URLRequest?
    /// The response, if there was one; its body is empty if it is received while it is read.
    public var response: HTTPResponse?
    /// Why the attempt failed; `nil` if it succeeded.
    public var error: (any Error)?
    /// What the exchanges took, one for each request on the wire: more than one if redirects were followed.
    ///
    /// It is empty unless an interceptor of the operation says ``RequestInterceptor/needsMetrics``, and if the transport can't tell.
    public var exchanges: [HTTPTransportMetrics] = []

    /// Makes an attempt, for tests of interceptors.
    ///
    /// - Parameters:
    ///   - context: What is known about the operation.
    ///   - duration: How long the attempt took.
    ///   - request: The request as it was sent.
    ///   - response: The response.
    ///   - error: Why the attempt failed.
    public init(
        context: InterceptorContext,
        duration: Duration,
        request: URLRequest? = nil,
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

/// Collects what the exchanges of an attempt took.
final class MetricsBox: Sendable {
    private let exchanges = Mutex<[HTTPTransportMetrics]>([])

    var all: [HTTPTransportMetrics] { exchanges.withLock { $0 } }

    /// Listens to an exchange beside whoever listens already.
    func observe(_ request: inout HTTPTransportRequest) {
        let other = request.observer
        request.observer = { [self] event in
            if case .finished(let metrics) = event { exchanges.withLock { $0.append(metrics) } }
            other?(event)
        }
    }
}

/// The numbers of operations.
enum OperationNumber {
    private static let last = Atomic<UInt64>(0)

    static func next() -> UInt64 {
        last.wrappingAdd(1, ordering: .relaxed).newValue
    }
}
