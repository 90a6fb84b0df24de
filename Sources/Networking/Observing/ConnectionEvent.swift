/// An event of a transport's connections.
///
/// The client reports it only to observers that have ``ClientObserver/needsMetrics``, and only for
/// transports that report ``HTTPTransportEvent/connected``.
@nonexhaustive
public enum ConnectionEvent: ObservedEvent, Hashable {
    /// A request opened a connection instead of using a kept one.
    case opened(scheme: String, host: String, port: Int)

    /// `http.client.connection.opened`.
    public var name: String { "http.client.connection.opened" }

    /// `url.scheme`, `server.address` and `server.port`.
    public var labels: [String: String] {
        switch self {
        case .opened(let scheme, let host, let port):
            ["url.scheme": scheme, "server.address": host, "server.port": String(port)]
        }
    }

    /// `debug`.
    public var severity: EventSeverity { .debug }
}
