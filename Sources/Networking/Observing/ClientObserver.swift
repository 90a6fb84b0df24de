/// An observer of clients, for logs, metrics and traces.
///
/// ```swift
/// let client = NetworkClient(
///     interceptors: [authenticator],
///     options: .init(observers: [counter])
/// )
/// ```
///
/// A client's observers also observe the authenticators among its interceptors, or those of a
/// resource, with their token requests, and the authenticators and key sets that it sends requests
/// for.
///
/// Each method's default does nothing. Methods run on the thread of the request, of a token refresh
/// or of the transport, and must return at once. Without observers, a client does no work for them.
///
/// For each operation, the client calls ``operationStarted(_:)``, then
/// ``attemptStarted(_:context:)`` and ``attemptEnded(_:)`` for each attempt, and
/// ``operationEnded(_:)``. ``InterceptorContext/operation`` and ``InterceptorContext/attempt`` tell
/// them apart.
public protocol ClientObserver: AnyObject, Sendable {
    /// Observes the start of an operation, in the task of the caller.
    ///
    /// - Parameter context: The context of the operation's first attempt.
    func operationStarted(_ context: InterceptorContext)

    /// Observes a request that is about to be sent, and returns the header fields that pass a trace
    /// on to the server.
    ///
    /// The client doesn't call this if nothing is sent: the request couldn't be made, or a cache
    /// had the response. A request that an authenticator repeats is another attempt.
    ///
    /// - Parameters:
    ///   - request: The request, after all ``RequestInterceptor``s changed it.
    ///   - context: The context of the operation.
    /// - Returns: Header fields to add, such as `traceparent`. The client keeps the request's own
    ///   fields and those of earlier observers with the same name.
    func attemptStarted(_ request: HTTPRequest, context: InterceptorContext) -> HTTPHeaders

    /// Observes the outcome of an attempt, before another one starts.
    ///
    /// - Parameter attempt: The attempt. Its request may not have been sent.
    func attemptEnded(_ attempt: RequestAttempt)

    /// Observes the outcome of an operation: the body of a collected response has been received, or
    /// the header of a streamed one.
    ///
    /// - Parameter operation: The last attempt, with the duration of the whole operation and the
    ///   error that the caller gets.
    func operationEnded(_ operation: RequestAttempt)

    /// Observes an event of a connection, a token or a key set.
    ///
    /// - Parameter event: The event, such as an `OAuth2Event` or `http.client.connection.opened`.
    func observe(_ event: any ObservedEvent)

    /// A Boolean value that indicates whether to measure ``RequestAttempt/exchanges`` and to report
    /// opened connections, as far as the transport reports ``HTTPTransportEvent/connected``.
    ///
    /// The default is `false`. Measuring costs the transport a few microseconds for each request.
    var needsMetrics: Bool { get }
}

extension ClientObserver {
    /// Does nothing.
    public func operationStarted(_ context: InterceptorContext) {}

    /// Adds no header fields.
    public func attemptStarted(_ request: HTTPRequest, context: InterceptorContext) -> HTTPHeaders { [:] }

    /// Does nothing.
    public func attemptEnded(_ attempt: RequestAttempt) {}

    /// Does nothing.
    public func operationEnded(_ operation: RequestAttempt) {}

    /// Does nothing.
    public func observe(_ event: any ObservedEvent) {}

    /// `false`.
    public var needsMetrics: Bool { false }
}

/// An interceptor that reports events to the observers of its clients.
package protocol ObservableInterceptor: Interceptor {
    /// Reports events to observers from now on, in addition to earlier ones.
    func add(_ observers: [any ClientObserver])
}

extension [any Interceptor] {
    func report(to observers: [any ClientObserver]) {
        guard !observers.isEmpty else { return }
        for case let interceptor as any ObservableInterceptor in self { interceptor.add(observers) }
    }
}

extension [any ClientObserver] {
    /// Returns these observers and those of the others that aren't among them.
    package func merging(_ others: [any ClientObserver]) -> Self {
        others.isEmpty ? self : self + others.filter { other in !contains { $0 === other } }
    }

    package func observe(_ event: any ObservedEvent) {
        for observer in self { observer.observe(event) }
    }
}

/// An event of a transport's connections, for observers with ``ClientObserver/needsMetrics``.
package enum ConnectionEvent: ObservedEvent, Hashable {
    /// A request opened a connection instead of using a kept one.
    case opened(scheme: String, host: String, port: Int)

    package var name: String { "http.client.connection.opened" }

    package var labels: [String: String] {
        switch self {
        case .opened(let scheme, let host, let port):
            ["url.scheme": scheme, "server.address": host, "server.port": String(port)]
        }
    }

    package var severity: EventSeverity { .debug }
}

/// An event that a ``ClientObserver`` receives, in a form that logs and metrics share.
///
/// A log or metric of any event needs only this protocol. An observer of specific events casts them
/// to their type:
///
/// ```swift
/// if case .dead(let code, _)? = event as? OAuth2Event { alert(code) }
/// ```
///
/// None of the texts contains a token, a key, a nonce or a body.
public protocol ObservedEvent: Sendable {
    /// The stable name, such as `oauth2.token.refreshed`.
    var name: String { get }

    /// The labels, each with few different values, by names such as `error.type`.
    ///
    /// All events of the same name have the same labels, as some metrics backends require. A label
    /// that doesn't apply is ``noLabel``. The hosts are those that the application sends requests
    /// to. All other values come from this package, so a server can't invent any.
    var labels: [String: String] { get }

    /// More details for a log, with any number of different values; empty by default.
    var details: [String: String] { get }

    /// The importance of the event.
    var severity: EventSeverity { get }
}

extension ObservedEvent {
    /// The value of a label that doesn't apply, `none`.
    public static var noLabel: String { "none" }

    /// No details.
    public var details: [String: String] { [:] }
}

/// The importance of an event.
@nonexhaustive
public enum EventSeverity: Sendable, Hashable {
    /// The event is part of normal work and frequent.
    case debug
    /// The event is part of normal work and rare, or the caller gets an error anyway.
    case info
    /// The event disturbs the service if it's frequent.
    case warning
    /// The service needs an operator.
    case error
}
