import Foundation
import FoundationNetworking

/// The parameters of an event stream.
package struct EventStreamOptions: Sendable {
    package var lastEventID: String
    package var reconnectionTime: Duration
    package var reconnection: Retry.Policy?
    package var maximumEventSize: Int
    package var request: RequestOptions
    package var onResponse: (@Sendable (HTTPHeaders) -> Void)?

    static let idleTimeout = Duration.seconds(300)

    package init(
        lastEventID: String = "",
        reconnectionTime: Duration = .seconds(3),
        reconnection: Retry.Policy? = .reconnecting(),
        maximumEventSize: Int = 1 << 20,
        request: RequestOptions = RequestOptions(),
        onResponse: (@Sendable (HTTPHeaders) -> Void)? = nil
    ) {
        self.lastEventID = lastEventID
        self.reconnectionTime = reconnectionTime
        self.reconnection = reconnection
        self.maximumEventSize = maximumEventSize
        self.request = request
        self.onResponse = onResponse
    }
}

extension Retry.Policy {
    /// Returns the policy of event streams, which reconnects after a transient failure of a request
    /// that is safe to send again.
    ///
    /// These are the failures of ``Retry/Condition/safeToRepeat``, a request that a
    /// ``CircuitBreaker`` or ``RateLimiter`` held back, and an access token that couldn't be
    /// obtained for the moment. The longest `Retry-After` that it waits for is 15 minutes.
    ///
    /// - Parameter backoff: The delays, and the limit on failures in a row. By default, the delays
    ///   are random up to 1 second, doubled after each failure up to 60 seconds. It gives up when
    ///   they add up to 15 minutes.
    /// - Returns: The policy.
    public static func reconnecting(
        _ backoff: Retry.Backoff = .exponential(
            .seconds(1),
            maximum: .seconds(60),
            until: .maxDelay(.seconds(900))
        )
    ) -> Self {
        .backoff(backoff, when: .temporary, maximumServerDelay: .seconds(900))
    }
}

extension Retry.Condition {
    /// Failures after which the same request may succeed later, even if that takes minutes.
    fileprivate static var temporary: Self {
        Self { failure in
            if safeToRepeat.predicate(failure) { return true }
            let error = failure.error
            if case .custom(let reason as any RetryableError) = error.retryReason { return reason.isRetryable }
            guard let error = error as? NetworkError else { return false }
            if let cause = error.cause as? any RetryableError { return cause.isRetryable }
            return [.circuitOpen, .rateLimited].contains(error.code)
        }
    }
}

extension Error {
    fileprivate var retryReason: Retry.Error? {
        switch self {
        case let error as ServerError: error.retry?.reason
        case let error as NetworkError: error.retry?.reason
        default: nil
        }
    }
}

struct EventStream {
    private enum Step {
        case event(ServerSentEvent)
        case reconnect
        case end
    }

    private var connector: EventStreamConnector?
    private var parser: ServerSentEventParser
    private var reader: BodyReader
    private var reconnection = Reconnection()
    private var connection: (start: ContinuousClock.Instant, hasEvents: Bool)?
    private var hasEnded = false

    init(_ connector: EventStreamConnector) {
        self.connector = connector
        reader = BodyReader()
        parser = ServerSentEventParser(
            lastEventID: connector.options.lastEventID,
            maximumSize: connector.options.maximumEventSize
        )
    }

    init(_ body: HTTPResponseBody, maximumEventSize: Int) {
        connector = nil
        reader = BodyReader(body)
        parser = ServerSentEventParser(maximumSize: maximumEventSize)
    }

    mutating func next() async throws -> ServerSentEvent? {
        guard !hasEnded else { return nil }
        // Stays true after an error.
        hasEnded = true
        do {
            while true {
                switch try await step() {
                case .event(let event):
                    hasEnded = false
                    return event
                case .reconnect: continue
                case .end:
                    reader.close()
                    return nil
                }
            }
        } catch {
            reader.close()
            throw error
        }
    }

    private mutating func step() async throws -> Step {
        if !reader.isOpen {
            let response: HTTPResponse?
            do {
                response = try await connector?.open(lastEventID: parser.lastEventID)
            } catch {
                return try await reconnect(after: error)
            }
            // With a 204, the server ends the stream for good.
            guard let response, let connector, response.status != 204 else { return .end }
            try connector.check(response)
            connector.options.onResponse?(response.headers)
            parser.restart()
            reader = BodyReader(response.stream)
            connection = (connector.timeSource.now(), false)
        }
        while true {
            if let event = try parser.next(in: reader.part, from: &reader.index) {
                connection?.hasEvents = true
                return .event(event)
            }
            do {
                guard try await reader.advance() else { return try await reconnect(after: nil) }
            } catch {
                return try await reconnect(after: error)
            }
        }
    }

    /// `failure` is `nil` after the end of the stream.
    private mutating func reconnect(after failure: (any Error)?) async throws -> Step {
        reader.close()
        guard let connector else {
            if let failure { throw failure }
            return .end
        }
        try Task.checkCancellation()
        if let connection {
            let duration = connector.timeSource.now() - connection.start
            reconnection.noteEnd(of: duration, hasEvents: connection.hasEvents)
        }
        connection = nil
        // The orderly end of a stream counts as an error, too.
        let error = (failure ?? NetworkError(.connectionLost, "the server ended the event stream"))
            .naming(connector.endpoint)
        let state = reconnection.state(error)
        let delay: Duration
        switch connector.action(after: error, state) {
        case .none:
            if failure != nil { throw error }
            return .end
        case .noRetry(let reason): throw error.ending(reason: reason, state)
        case .retry: delay = .zero
        case .retryAfter(let time): delay = time
        }
        let time = parser.reconnectionTime ?? connector.options.reconnectionTime
        let wait = reconnection.delay(delay, after: time)
        try await connector.timeSource.sleep(wait)
        return .reconnect
    }
}

struct EventStreamConnector {
    private let client: NetworkClient
    private let resource: Resource
    let options: EventStreamOptions
    /// The last request, without the interceptors' changes.
    private var request: HTTPRequest?
    private var isReplayable = true

    init(client: NetworkClient, resource: Resource, options: EventStreamOptions) {
        self.client = client
        self.options = options
        var resource = resource
        resource.options = options.request
        resource.options.idleTimeout = options.request.idleTimeout ?? EventStreamOptions.idleTimeout
        resource.traits.acceptedStatuses = resource.traits.acceptedStatuses.union([204])
        self.resource = resource
    }

    var timeSource: TimeSource { client.options.timeSource }
    var endpoint: String? { request?.endpoint }

    /// Returns the response when its header has arrived.
    mutating func open(lastEventID: String) async throws -> HTTPResponse {
        var last: HTTPRequest?
        defer {
            request = last ?? request
            isReplayable = (options.request.body ?? last?.body)?.isReplayable ?? true
        }
        let loop = AttemptLoop(client: client, resource: resource, delivery: .endless)
        return try await loop.run {
            var base = try await resource.makeBase()
            base.headers.setDefault("Accept", "text/event-stream")
            base.headers.setDefault("Cache-Control", "no-store")
            if !lastEventID.isEmpty, HTTPSyntax.isFieldValue(lastEventID) {
                base.headers["Last-Event-ID"] = lastEventID
            }
            last = base
            return base
        }
    }

    func check(_ response: HTTPResponse) throws {
        let type = response.headers["Content-Type"].flatMap { MediaType($0) }?.essence
        guard response.status == 200, type == "text/event-stream" else {
            let found = response.status == 200 ? "of another type" : "with the status \(response.status)"
            throw NetworkError(
                .invalidResponse,
                "the response is \(found), and an event stream requires 200 and text/event-stream; check the URL"
            ).naming(endpoint)
        }
    }

    func action(after error: any Error, _ state: Retry.State) -> Retry.Action {
        guard let policy = options.reconnection, let request else { return .none }
        let context = InterceptorContext(retryState: state, traits: resource.traits)
        let response = (error as? ServerError)?.httpResponse
        let action = policy.evaluateFailedRequest(
            FailedRequest(request, response: response, error: error, context: context)
        )
        if case .none = action { return action }
        return isReplayable ? action : .noRetry(.bodyNotReplayable)
    }
}

struct Reconnection {
    /// The duration of a connection after which the server counts as working, even without events.
    private static let healthyDuration = Duration.seconds(60)
    /// The longest delay, because adding more to a clock's instant traps.
    private static let maximumDelay = Duration.seconds(86_400 * 365)

    private var failureCount = 0
    private var totalDelay: Duration = .zero
    private var lastDelay: Duration?

    mutating func noteEnd(of duration: Duration, hasEvents: Bool) {
        if hasEvents || duration >= Self.healthyDuration { self = Self() }
    }

    /// Contains the last error repeatedly, so that bodies of earlier responses aren't kept.
    func state(_ error: any Error) -> Retry.State {
        Retry.State(
            errors: Array(repeating: error, count: failureCount),
            delays: lastDelay.map { [$0] } ?? [],
            totalDelay: totalDelay
        )
    }

    /// Adds the policy's own delay to the reconnection time from the options or the server.
    mutating func delay(_ own: Duration, after time: Duration) -> Duration {
        let own = min(max(own, .zero), Self.maximumDelay)
        let delay = own + min(max(time, .zero), ServerSentEventParser.maximumRetry)
        failureCount += 1
        totalDelay = min(totalDelay, Self.maximumDelay) + delay
        lastDelay = own
        return delay
    }
}

/// An error of an authenticator that knows whether its cause is temporary.
package protocol RetryableError: Error {
    /// The same request may succeed later, unchanged.
    var isRetryable: Bool { get }
}
