internal import OpenSSLCrypto

extension CurlTransport {
    /// How a ``CurlTransport`` treats connections and messages.
    ///
    /// ```swift
    /// var configuration = CurlTransport.Configuration(connectTimeout: .seconds(3))
    /// configuration.proxy = .http(proxyURL, credentials: .init(username: "service", password: password))
    /// let transport = try CurlTransport(configuration: configuration)
    /// ```
    public struct Configuration: Sendable {
        /// The longest time for making a connection: name resolution, TCP, proxy and TLS together.
        ///
        /// 10 seconds by default. When it passes, the exchange fails with ``NetworkError/Code/cannotConnect``.
        public var connectTimeout: Duration
        /// The most exchanges that run at once with one scheme, host and port; others wait in line.
        ///
        /// 64 by default. An exchange has a connection to itself with HTTP/1.1, so this is also the most connections in use; with HTTP/2 it
        /// is the most streams, which share few connections.
        public var maximumConnectionsPerHost: Int
        /// The most exchanges that run at once altogether, and the most idle connections kept.
        ///
        /// 256 by default. Connections for streamed bodies and those for all others are kept apart, up to this number of each.
        public var maximumConnections: Int
        /// How long a connection is kept without being used; zero for not at all.
        ///
        /// 60 seconds by default. It is not used again after that, rounded up to whole seconds. All idle connections are closed once the whole transport has been idle as long.
        public var idleTimeout: Duration
        /// Which proxy is used.
        ///
        /// ``ProxySelection/environment`` by default.
        public var proxy: ProxySelection
        /// Which servers are trusted, and who this process is to them.
        public var tls: TLSConfiguration
        /// Which version of HTTP is spoken.
        ///
        /// ``ProtocolVersion/negotiated`` by default.
        public var protocolVersion = ProtocolVersion.negotiated
        /// Which addresses of a host are connected to.
        ///
        /// ``AddressFamily/any`` by default.
        public var addressFamily = AddressFamily.any
        /// The head start that IPv6 has over IPv4 when a host has both
        /// ([RFC 8305 §5](https://www.rfc-editor.org/rfc/rfc8305#section-5)).
        ///
        /// 200 milliseconds by default.
        public var happyEyeballsDelay = Duration.milliseconds(200)
        /// Addresses that are not asked of the system's resolver.
        ///
        /// Empty by default.
        public var resolverEntries: [ResolverEntry] = []
        /// The path of a Unix-domain socket that all connections are made to; `nil` for the URL's host.
        ///
        /// `nil` by default. The URL still decides about TLS and the `Host` field. No proxy is used.
        public var unixSocketPath: String?
        /// The most octets of a streamed body, of a response or of a request, that wait in memory for whoever takes them.
        ///
        /// 256 KiB by default, 1 KiB…1 GiB. An exchange whose buffer is full pauses, and no other.
        public var streamBufferSize = 256 << 10
        /// The most octets that the header of a response may have, 1xx responses and trailers included.
        ///
        /// 256 KiB by default. A larger one fails with ``NetworkError/Code/invalidResponse``. libcurl has limits of its own beside it: 100 KiB
        /// for a line and, since 8.3, 300 KiB for a header.
        public var maximumHeaderSize = 256 << 10
        /// Whether content codings are offered and decoded.
        ///
        /// True by default: gzip, deflate, br and zstd, as far as libcurl brings their libraries into the process. A body that lacks the end of its
        /// coding fails with ``NetworkError/Code/invalidResponse``, even if the message around it is whole. If not, a body is what came over the wire, and `Content-Encoding` says what it is.
        public var decodesContent = true
        /// How many times its size a body may have after decoding, beyond the first MiB; `nil` for any.
        ///
        /// 100 by default. A larger one fails with ``NetworkError/Code/bodyTooLarge``.
        public var maximumExpansion: Int? = 100

        /// How many octets of a streamed body libcurl receives or sends at once, if it is libcurl's to choose.
        var receivingSize: Int { min(max(16 << 10, streamBufferSize / 2), 512 << 10) }

        /// The longest time for which nothing may come of a response over HTTP/2 that began before the request was sent.
        ///
        /// It applies where libcurl doesn't tell the response's end.
        var earlyAnswerPatience = Duration.seconds(10)

        /// The resolver that looks names up.
        var resolver = NameResolver.shared

        /// What the transport makes of ``tls``; `nil` to leave it to libcurl.
        var tlsPolicy: TLSClientPolicy?

        /// Makes a configuration.
        ///
        /// - Parameters:
        ///   - connectTimeout: The longest time for making a connection.
        ///   - maximumConnectionsPerHost: The most exchanges that run at once with one host.
        ///   - maximumConnections: The most exchanges that run at once altogether.
        ///   - idleTimeout: How long an unused connection is kept.
        ///   - proxy: Which proxy is used.
        ///   - tls: Which servers are trusted, and who this process is to them.
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

    /// Which version of HTTP a ``CurlTransport`` speaks.
    public struct ProtocolVersion: Hashable, Sendable {
        enum Wrapped { case http1, negotiated, http2 }
        let wrapped: Wrapped

        /// HTTP/1.1, and over TLS HTTP/2 with servers that choose it in the handshake (ALPN).
        public static let negotiated = Self(wrapped: .negotiated)
        /// HTTP/1.1 only.
        public static let http1 = Self(wrapped: .http1)
        /// HTTP/2 without asking ([RFC 9113 §3.3](https://www.rfc-editor.org/rfc/rfc9113#section-3.3)), for servers that are known
        /// to speak it on plain connections; over TLS it is negotiated.
        ///
        /// libcurl 7.88 can't use a plain HTTP/2 connection twice: with it, each exchange makes a new one.
        public static let http2PriorKnowledge = Self(wrapped: .http2)
    }

    /// Which addresses of a host a ``CurlTransport`` connects to.
    public struct AddressFamily: Hashable, Sendable {
        enum Wrapped { case any, ipv4, ipv6 }
        let wrapped: Wrapped

        /// IPv6 and IPv4, whichever answers first.
        public static let any = Self(wrapped: .any)
        /// IPv4 only.
        public static let ipv4 = Self(wrapped: .ipv4)
        /// IPv6 only.
        public static let ipv6 = Self(wrapped: .ipv6)
    }

    /// The addresses of a host that a ``CurlTransport`` uses instead of asking the system's resolver.
    public struct ResolverEntry: Hashable, Sendable {
        /// The host as it stands in URLs.
        public var host: String
        /// The port that this is true for.
        public var port: Int
        /// The IP addresses, in the order in which they are tried.
        public var addresses: [String]

        /// Makes an entry.
        ///
        /// - Parameters:
        ///   - host: The host as it stands in URLs.
        ///   - port: The port that this is true for.
        ///   - addresses: IPv4 or IPv6 addresses; at least one.
        public init(host: String, port: Int, addresses: [String]) {
            self.host = host
            self.port = port
            self.addresses = addresses
        }
    }
}
