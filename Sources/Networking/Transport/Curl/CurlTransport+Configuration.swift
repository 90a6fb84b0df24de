extension CurlTransport {
    /// How a ``CurlTransport`` treats connections.
    public struct Configuration: Sendable {
        /// The longest time for making a connection: name resolution, TCP, proxy and TLS together.
        ///
        /// 10 seconds by default. When it passes, the exchange fails with ``NetworkError/Code/cannotConnect``.
        public var connectTimeout: Duration
        /// The most exchanges that run at once with one scheme, host and port; others wait in line.
        ///
        /// 64 by default. An exchange has a connection to itself with HTTP/1.1, so this is also the most connections in use; with HTTP/2 it
        /// is the most streams.
        public var maximumConnectionsPerHost: Int
        /// The most exchanges that run at once altogether, and the most idle connections kept.
        ///
        /// 256 by default.
        public var maximumConnections: Int
        /// How long a connection is kept without being used.
        ///
        /// 60 seconds by default. It is not used again after that, rounded up to whole seconds. All idle connections are closed once the whole transport has been idle as long.
        public var idleTimeout: Duration
        /// Which proxy is used.
        ///
        /// ``ProxySelection/environment`` by default.
        public var proxy: ProxySelection
        /// The most octets of a streamed body, of a response or of a request, that wait in memory for whoever takes them.
        ///
        /// 256 KiB by default. An exchange whose buffer is full pauses, and no other.
        public var streamBufferSize = 256 << 10
        /// The most octets that the header of a response may have, 1xx responses and trailers included.
        ///
        /// 256 KiB by default. A larger one fails with ``NetworkError/Code/invalidResponse``.
        public var maximumHeaderSize = 256 << 10
        /// Whether content codings are offered and decoded.
        ///
        /// True by default. If not, a body is what came over the wire, and `Content-Encoding` says what it is.
        public var decodesContent = true
        /// How many times its size a body may have after decoding, beyond the first MiB; `nil` for any.
        ///
        /// 100 by default. A larger one fails with ``NetworkError/Code/bodyTooLarge``.
        public var maximumExpansion: Int? = 100

        /// Makes a configuration.
        ///
        /// - Parameters:
        ///   - connectTimeout: The longest time for making a connection.
        ///   - maximumConnectionsPerHost: The most exchanges that run at once with one host.
        ///   - maximumConnections: The most exchanges that run at once altogether.
        ///   - idleTimeout: How long an unused connection is kept.
        ///   - proxy: Which proxy is used.
        public init(
            connectTimeout: Duration = .seconds(10),
            maximumConnectionsPerHost: Int = 64,
            maximumConnections: Int = 256,
            idleTimeout: Duration = .seconds(60),
            proxy: ProxySelection = .environment
        ) {
            self.connectTimeout = connectTimeout
            self.maximumConnectionsPerHost = maximumConnectionsPerHost
            self.maximumConnections = maximumConnections
            self.idleTimeout = idleTimeout
            self.proxy = proxy
        }
    }

    /// Which proxy a ``CurlTransport`` uses.
    public struct ProxySelection: Hashable, Sendable {
        private enum Wrapped { case environment, none }
        private let wrapped: Wrapped

        /// What the environment variables `http_proxy` (in lower case only), `https_proxy`, `all_proxy` and `no_proxy` say;
        /// none for loopback hosts.
        public static let environment = Self(wrapped: .environment)
        /// No proxy, whatever the environment says.
        public static let none = Self(wrapped: .none)
    }
}
