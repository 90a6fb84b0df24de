public import Logging
public import Networking

/// An observer that logs the requests and events of clients with swift-log.
///
/// ```swift
/// let logging = LoggingObserver(Logger(label: "http"))
/// let client = NetworkClient(options: .init(observers: [logging]))
/// ```
///
/// The message is the event's stable name, and the metadata has its labels and details. A log line
/// never contains a token, a header field, a body or the secrets in a URL.
///
/// | message | level |
/// |---|---|
/// | `http.client.request.started` | `trace` |
/// | `http.client.request`, for the end of each attempt | `debug` |
/// | `http.client.operation.failed`, for an error that the caller gets | `info` |
/// | other events | their ``EventSeverity`` |
///
/// The methods run in the task of the request, so the logger's metadata provider can add the trace.
public final class LoggingObserver: ClientObserver {
    private let logger: Logger
    private let redaction: Redaction

    /// Creates an observer.
    ///
    /// - Parameters:
    ///   - logger: The logger.
    ///   - redaction: The redaction of URLs. The default is `standard`.
    public init(_ logger: Logger, redaction: Redaction = .standard) {
        self.logger = logger
        self.redaction = redaction
    }

    /// Logs a request that is about to be sent.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - context: The context of the operation.
    /// - Returns: No fields.
    public func attemptStarted(_ request: HTTPRequest, context: InterceptorContext) -> HTTPHeaders {
        guard logger.logLevel <= .trace else { return [:] }
        var metadata = Self.metadata(context)
        metadata["http.request.method"] = "\(request.method)"
        metadata["url.full"] = "\(redaction.redacted(request.url))"
        logger.trace("http.client.request.started", metadata: metadata)
        return [:]
    }

    /// Logs the outcome of an attempt.
    ///
    /// - Parameter attempt: The attempt.
    public func attemptEnded(_ attempt: RequestAttempt) {
        log(attempt, as: "\(attempt.name)", level: .debug)
    }

    /// Logs the outcome of an operation if it failed.
    ///
    /// - Parameter operation: The last attempt, with the duration of the whole operation.
    public func operationEnded(_ operation: RequestAttempt) {
        guard operation.error != nil else { return }
        log(operation, as: "http.client.operation.failed", level: Logger.Level(operation.severity))
    }

    /// Logs an event of a connection, a token or a key set.
    ///
    /// - Parameter event: The event.
    public func observe(_ event: any ObservedEvent) {
        let level = Logger.Level(event.severity)
        guard logger.logLevel <= level else { return }
        logger.log(level: level, "\(event.name)", metadata: Self.metadata(event))
    }

    private func log(_ attempt: RequestAttempt, as message: Logger.Message, level: Logger.Level) {
        guard logger.logLevel <= level else { return }
        var metadata = Self.metadata(attempt).merging(Self.metadata(attempt.context)) { $1 }
        if let url = attempt.request?.url { metadata["url.full"] = "\(redaction.redacted(url))" }
        metadata["duration"] = "\(attempt.duration / .seconds(1))"
        logger.log(level: level, message, metadata: metadata)
    }

    private static func metadata(_ context: InterceptorContext) -> Logger.Metadata {
        ["operation": "\(context.operation)", "attempt": "\(context.attempt)"]
    }

    private static func metadata(_ event: some ObservedEvent) -> Logger.Metadata {
        var metadata: Logger.Metadata = [:]
        for (name, value) in event.labels where value != event.noValue { metadata[name] = "\(value)" }
        for (name, value) in event.details { metadata[name] = "\(value)" }
        return metadata
    }
}

extension ObservedEvent {
    fileprivate var noValue: String { Self.noLabel }
}

extension Logger.Level {
    /// The level of an event.
    fileprivate init(_ severity: EventSeverity) {
        switch severity {
        case .debug: self = .debug
        case .info: self = .info
        case .warning: self = .warning
        case .error: self = .error
        @unknown default: self = .info
        }
    }
}
