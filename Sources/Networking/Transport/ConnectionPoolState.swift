public import Foundation

/// The connections and requests of a transport at one moment, by origin.
///
/// The numbers of different origins, and of queued requests, may be read at slightly different
/// times. Totals count since the transport's first request to the origin.
public struct ConnectionPoolState: Sendable, Equatable {
    /// The connections and requests of one scheme, host and port.
    public struct Origin: Sendable, Equatable {
        /// `http` or `https`.
        public let scheme: String
        /// The host in lowercase, with brackets around an IPv6 address.
        public let host: String
        /// The port.
        public let port: Int
        /// The number of kept connections that no request uses.
        public package(set) var idleConnections = 0
        /// The number of connections that requests use.
        public package(set) var busyConnections = 0
        /// The number of connections that are being established.
        public package(set) var openingConnections = 0
        /// The number of running requests, including those that wait for a connection.
        public package(set) var runningRequests = 0
        /// The number of requests that wait because of the limits on running requests.
        public package(set) var queuedRequests = 0
        /// The time that the oldest queued request has been waiting, or `nil` if none is.
        public package(set) var longestQueueTime: Duration?
        package var runningLookups = 0
        /// The total number of started requests.
        public package(set) var requests = 0
        /// The total number of established connections.
        public package(set) var openedConnections = 0
        package var lookups = 0
        /// The total number of TLS handshakes, including resumed ones.
        public package(set) var handshakes = 0
        /// The total number of TLS handshakes that resumed a session
        /// ([RFC 8446 §2.2](https://www.rfc-editor.org/rfc/rfc8446#section-2.2)).
        public package(set) var resumedHandshakes = 0
        /// Of bodies of ended requests, before content decoding.
        package var bytesSent = 0
        package var bytesReceived = 0
    }

    /// The origins, in the order of host, port and scheme.
    public let origins: [Origin]
    /// The number of running threads.
    package let engines: Int

    init(origins: [Origin], engines: Int) {
        self.origins = origins.sorted { ($0.host, $0.port, $0.scheme) < ($1.host, $1.port, $1.scheme) }
        self.engines = engines
    }

    /// Returns the state of a URL's origin.
    ///
    /// - Parameter url: An absolute `http` or `https` URL.
    /// - Returns: The state, or `nil` if the transport hasn't used the origin.
    public subscript(url: URL) -> Origin? {
        guard let origin = HTTPOrigin(url) else { return nil }
        return origins.first { $0.host == origin.host && $0.port == origin.port && $0.scheme == origin.scheme }
    }
}

struct ConnectionPoolStates: AsyncSequence, AsyncIteratorProtocol {
    let interval: Duration
    weak let transport: CurlTransport?
    private(set) var isFirst = true

    func makeAsyncIterator() -> Self { self }

    mutating func next() async -> ConnectionPoolState? {
        if !isFirst {
            do { try await TimeSource.system.sleep(interval) } catch { return nil }
        }
        isFirst = false
        return Task.isCancelled ? nil : transport?.poolState
    }
}
