internal import Foundation
internal import OpenSSLCrypto

extension CurlTransport {
    /// The configuration of a ``CurlTransport``'s connections and messages.
    ///
    /// ```swift
    /// var configuration = CurlTransport.Configuration(connectTimeout: .seconds(3))
    /// configuration.proxy = .http(
    ///     proxyURL,
    ///     credentials: .init(username: "service", password: password)
    /// )
    /// let transport = try CurlTransport(configuration: configuration)
    /// ```
    public struct Configuration: Sendable {
        /// The maximum time to connect, including name resolution, TCP, proxy and TLS.
        ///
        /// The default is 10 seconds. When it expires, the request fails with
        /// ``NetworkError/Code/cannotConnect``.
        public var connectTimeout: Duration
        /// The maximum number of threads that send and receive.
        ///
        /// Requests use the first thread until it's busy, so a light load needs one thread and few
        /// connections. The default is a quarter of the machine's processors, but at least 1 and at
        /// most 8. The limits on requests apply to all threads together, and the limit on idle
        /// connections to each.
        public var engineCount = min(max(ProcessInfo.processInfo.activeProcessorCount / 4, 1), 8)
        /// The maximum number of requests that run at once per scheme, host and port; others wait.
        ///
        /// The default is 64. It limits the connections in use with HTTP/1.1, and the streams on a
        /// few shared ones with HTTP/2.
        public var maximumConnectionsPerHost: Int
        /// The maximum number of requests that run at once in total, and of idle connections.
        ///
        /// The default is 256. Streamed bodies use a separate connection pool, with the same limit.
        public var maximumConnections: Int
        /// The maximum time to keep an unused connection, or zero to not keep connections.
        ///
        /// The default is 60 seconds. After that time, rounded up to whole seconds, a connection
        /// isn't used again. A thread whose requests have all ended closes its idle connections
        /// after this time and ends. A connection that its server closes is closed at once.
        public var idleTimeout: Duration
        /// The maximum number of requests that share an HTTP/2 connection at once.
        ///
        /// The default is 100. A server may allow fewer. Further requests use another connection.
        /// Requests with streamed bodies or with a limited bandwidth don't share connections.
        public var maximumStreamsPerConnection = 100
        /// The detection of connections whose peer has vanished, or `nil` to leave it to the
        /// system.
        ///
        /// By default, a connection whose peer hasn't responded for 45 seconds fails.
        public var keepAlive: KeepAlive? = KeepAlive()
        /// The proxy to use; the default is ``ProxySelection/environment``.
        public var proxy: ProxySelection
        /// The trusted servers, the requirements for TLS connections and this client's identity.
        public var tls: TLSConfiguration
        /// The HTTP version to use; the default is ``ProtocolVersion/negotiated``.
        public var protocolVersion = ProtocolVersion.negotiated
        /// The kinds of IP addresses to connect to; the default is ``AddressFamily/any``.
        public var addressFamily = AddressFamily.any
        /// The head start of the first address family over the other, for a host with both
        /// ([RFC 8305 §5](https://www.rfc-editor.org/rfc/rfc8305#section-5)); the default is 200
        /// milliseconds.
        public var happyEyeballsDelay = Duration.milliseconds(200)
        /// The addresses to use instead of looking up names with the system's resolver; the default
        /// is an empty array.
        public var resolverEntries: [ResolverEntry] = []
        /// A Boolean value that indicates whether requests to addresses that aren't public fail,
        /// for URLs that another party chose.
        ///
        /// The default is `false`. If `true`, the transport rejects URLs with loopback, private,
        /// link-local and other special addresses, and hosts whose name resolves to one, after the
        /// name is resolved and before it connects. Otherwise, such a URL could reach services
        /// inside the network (server-side request forgery). ``resolverEntries`` aren't checked. It
        /// requires ``proxy`` to be `none`, because a proxy would resolve the name.
        public var reachesOnlyPublicAddresses = false
        /// The time for which to reuse the addresses of a name.
        ///
        /// The default is 60 seconds. It's rounded up to whole seconds, and at least two. The
        /// system's resolver doesn't report how long an address is valid.
        public var dnsCacheLifetime = Duration.seconds(60)
        /// The local IP address or the network interface to connect from, such as `10.0.0.7` or
        /// `eth1`; `nil` lets the system choose.
        ///
        /// The default is `nil`. An address restricts connections to its family. If this machine
        /// doesn't have the address or the interface, requests fail with
        /// ``NetworkError/Code/cannotConnect``. Before Linux 5.7, an interface requires the
        /// capability `CAP_NET_RAW`.
        public var localAddress: String?
        /// The path of a Unix-domain socket to connect to; the default, `nil`, uses the URL's host.
        ///
        /// The URL still determines TLS and the `Host` field. No proxy is used.
        public var unixSocketPath: String?
        /// The maximum number of bytes of a streamed request or response body to buffer in memory.
        ///
        /// The default is 256 KiB; values must be between 1 KiB and 1 GiB. A request whose buffer
        /// is full pauses without affecting others.
        public var streamBufferSize = 256 << 10
        /// The maximum size of a response's header in bytes, including 1xx responses and trailers.
        ///
        /// The default is 256 KiB. A larger header fails with
        /// ``NetworkError/Code/invalidResponse``. In addition, libcurl limits a line to 100 KiB
        /// and, since 8.3, a header to 300 KiB.
        public var maximumHeaderSize = 256 << 10
        /// A Boolean value that indicates whether content codings are offered and decoded.
        ///
        /// The default is `true`: gzip, deflate, br and zstd, if libcurl loads their libraries into
        /// the process. A body that ends before its coding does fails with
        /// ``NetworkError/Code/invalidResponse``, even if the message around it is complete. A body
        /// in brotli that needs a window of more than 4 MiB, which RFC 7932 §9.1 allows, fails with
        /// ``NetworkError/Code/bodyTooLarge``: a few bytes could make brotli fill it. If
        /// `false`, bodies are returned as received, coded as `Content-Encoding` states.
        public var decodesContent = true
        /// The maximum ratio of decoded to received size, beyond the first MiB; `nil` for no limit.
        ///
        /// The default is 100. A larger body fails with ``NetworkError/Code/bodyTooLarge``.
        public var maximumExpansion: Int? = 100

        /// The bytes of a streamed body that libcurl sends at once, if possible: each write has a
        /// high fixed cost.
        var sendingSize: Int { min(max(16 << 10, streamBufferSize / 2), 512 << 10) }

        /// The maximum silence in an HTTP/2 response that began before the request was sent, for
        /// versions of libcurl that don't report its end.
        var earlyAnswerPatience = Duration.seconds(10)

        /// For tests: requests use the engines in turn and ignore their load.
        var usesEnginesInTurn = false
        var resolver = NameResolver.shared

        /// Derived from ``tls``; `nil` leaves TLS to libcurl.
        var tlsPolicy: TLSClientPolicy?

        /// Creates a configuration.
        public init(
            connectTimeout: Duration = .seconds(10),
            maximumConnectionsPerHost: Int = 64,
            maximumConnections: Int = 256,
            idleTimeout: Duration = .seconds(60),
            proxy: ProxySelection = .environment,
            tls: TLSConfiguration = TLSConfiguration()
        ) {
            self.connectTimeout = connectTimeout
            self.maximumConnectionsPerHost = maximumConnectionsPerHost
            self.maximumConnections = maximumConnections
            self.idleTimeout = idleTimeout
            self.proxy = proxy
            self.tls = tls
        }
    }

    /// The HTTP version that a ``CurlTransport`` uses.
    @nonexhaustive
    public enum ProtocolVersion: Hashable, Sendable {
        /// HTTP/1.1, or HTTP/2 over TLS if the server selects it in the handshake (ALPN).
        case negotiated
        /// HTTP/1.1 only.
        case http1
        /// HTTP/2 without negotiation
        /// ([RFC 9113 §3.3](https://www.rfc-editor.org/rfc/rfc9113#section-3.3)) on plain
        /// connections, for servers known to support it, such as a sidecar; over TLS, it's
        /// negotiated.
        case http2PriorKnowledge
    }

    /// The kinds of IP addresses that a ``CurlTransport`` connects to.
    @nonexhaustive
    public enum AddressFamily: Hashable, Sendable {
        /// IPv6 and IPv4, in the order of the system's resolver; whichever connects first is used.
        case any
        /// IPv4, and IPv6 if IPv4 hasn't connected after ``Configuration/happyEyeballsDelay``.
        ///
        /// The order applies to names that the system's resolver looks up, but not to `localhost`.
        /// libcurl 8.14 and later begin with IPv6 nevertheless; choose ``ipv4`` there.
        case ipv4First
        /// IPv6, and IPv4 if IPv6 hasn't connected after ``Configuration/happyEyeballsDelay``.
        ///
        /// The order applies to names that the system's resolver looks up, but not to `localhost`.
        case ipv6First
        /// IPv4 only.
        case ipv4
        /// IPv6 only.
        case ipv6
    }

    /// The detection of connections whose peer has vanished without closing them.
    ///
    /// Without it, Linux needs about 15 minutes to notice, for example after a network failure or
    /// the loss of a virtual machine. Until then, requests on such a connection run into their
    /// timeouts, and with HTTP/2, so do all later requests that share it.
    ///
    /// The kernel detects it, for every protocol version: it probes a connection without traffic
    /// (TCP keep-alive), and waits for the acknowledgment of data that it sent
    /// (`TCP_USER_TIMEOUT`). The requests on the connection then fail with
    /// ``NetworkError/Code/connectionLost``, and later requests use a new connection. The server's
    /// application isn't involved: a server that's slow to respond isn't affected. libcurl responds
    /// to HTTP/2 `PING` frames, but it can't send them on shared connections.
    public struct KeepAlive: Hashable, Sendable {
        /// The time without traffic between two probes, 1…32,767 seconds, rounded up to whole
        /// seconds; the default is 15 seconds.
        public var interval: Duration
        /// The maximum time without a response to a probe or to sent data, longer than ``interval``
        /// and at most a day; the default is 45 seconds.
        ///
        /// This includes a server that doesn't receive the data that the client wants to send.
        public var patience: Duration

        /// Creates a description of the detection.
        public init(interval: Duration = .seconds(15), patience: Duration = .seconds(45)) {
            self.interval = interval
            self.patience = patience
        }
    }

    /// Addresses of a host that a ``CurlTransport`` uses instead of querying the system's resolver.
    public struct ResolverEntry: Hashable, Sendable {
        /// The host as it appears in URLs.
        public var host: String
        /// The port that the entry applies to.
        public var port: Int
        /// The IPv4 or IPv6 addresses, in the order to try them; at least one.
        public var addresses: [String]

        /// Creates an entry.
        public init(host: String, port: Int, addresses: [String]) {
            self.host = host
            self.port = port
            self.addresses = addresses
        }
    }
}
