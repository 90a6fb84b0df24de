public import Metrics
public import Networking

/// An observer that measures the requests and events of clients with swift-metrics.
///
/// ```swift
/// let metrics = MetricsObserver()
/// let client = NetworkClient(options: .init(observers: [metrics]))
/// ```
///
/// | metric | kind | dimensions |
/// |---|---|---|
/// | `http.client.request.duration` | timer, for each attempt | those of `RequestAttempt.labels` |
/// | `http.client.operation.duration` | timer, for each operation | the method, the origin and `error.type` |
/// | `http.client.retries` | counter | the method and the origin |
/// | `http.client.request.time_in_queue` | timer | the method and the origin |
/// | each `ObservedEvent.name` | counter | its labels |
/// | `http.client.open_connections` | gauge | the origin and `http.connection.state` |
/// | `http.client.active_requests`, `http.client.queued_requests` | gauge | the origin |
///
/// The origin is `url.scheme`, `server.address` and `server.port`. No other dimension depends on
/// input from outside. Hosts beyond ``Options/maximumHosts`` are counted as `_OTHER`.
public final class MetricsObserver: ClientObserver {
    /// The options of an observer.
    public struct Options: Sendable {
        /// The maximum number of different values of `server.address`; the default is 100.
        public var maximumHosts = 100

        /// Creates the default options.
        public init() {}
    }

    /// `true`, for the time in the queue and the connections.
    public let needsMetrics = true
    private let instruments: Instruments

    /// Creates an observer.
    ///
    /// - Parameters:
    ///   - factory: The metrics backend. The default, `nil`, is the one that `MetricsSystem` has
    ///     when the observer is created.
    ///   - options: The limits.
    public init(factory: (any MetricsFactory)? = nil, options: Options = Options()) {
        instruments = Instruments(factory ?? MetricsSystem.factory, maximumHosts: options.maximumHosts)
    }

    /// Measures an attempt.
    ///
    /// - Parameter attempt: The attempt.
    public func attemptEnded(_ attempt: RequestAttempt) {
        let labels = attempt.labels
        instruments.timer("http.client.request.duration", labels).record(duration: attempt.duration)
        let short = labels.filter { Self.methodAndOrigin.contains($0.key) }
        if attempt.context.attempt > 1 { instruments.counter("http.client.retries", short).increment() }
        for exchange in attempt.exchanges {
            guard let time = exchange.queueTime else { continue }
            instruments.timer("http.client.request.time_in_queue", short).record(duration: time)
        }
    }

    /// Measures an operation.
    ///
    /// - Parameter operation: The last attempt, with the duration of the whole operation.
    public func operationEnded(_ operation: RequestAttempt) {
        let labels = operation.labels.filter { Self.methodAndOrigin.contains($0.key) || $0.key == "error.type" }
        instruments.timer("http.client.operation.duration", labels).record(duration: operation.duration)
    }

    /// Counts an event of a connection, a token or a key set.
    ///
    /// - Parameter event: The event.
    public func observe(_ event: any ObservedEvent) {
        instruments.counter(event.name, event.labels).increment()
    }

    /// Records the connections and requests of a transport.
    ///
    /// ```swift
    /// for await state in transport.poolStates(every: .seconds(15)) {
    ///     metrics.record(state)
    /// }
    /// ```
    ///
    /// - Parameter state: The state of the transport's connection pool.
    public func record(_ state: ConnectionPoolState) {
        for origin in state.origins {
            let labels = [
                "url.scheme": origin.scheme, "server.address": origin.host, "server.port": String(origin.port),
            ]
            for (name, count) in [("idle", origin.idleConnections), ("active", origin.busyConnections)] {
                let labels = labels.merging(["http.connection.state": name]) { $1 }
                instruments.gauge("http.client.open_connections", labels).record(count)
            }
            instruments.gauge("http.client.active_requests", labels).record(origin.runningRequests)
            instruments.gauge("http.client.queued_requests", labels).record(origin.queuedRequests)
        }
    }

    private static let methodAndOrigin: Set = ["http.request.method", "url.scheme", "server.address", "server.port"]
}
