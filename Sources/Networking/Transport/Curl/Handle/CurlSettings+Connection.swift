import CCurl

extension CurlTransport.ProtocolVersion {
    /// Returns whether a request may use HTTP/2.
    func mayBeHTTP2(to origin: HTTPOrigin) -> Bool {
        switch self {
        case .http1: false
        case .http2PriorKnowledge: true
        case .negotiated: origin.scheme == "https"
        }
    }
}

// Settings that determine how connections are made and shared.
extension CurlSettings {
    mutating func setConnection(of transfer: CurlTransfer, _ engineSettings: CurlEngineSettings) {
        let (request, configuration) = (transfer.request, engineSettings.configuration)
        set(CCURL_LONG_NOSIGNAL, 1)
        set(CCURL_LONG_PROTOCOLS, CCURL_PROTOCOLS_HTTP_AND_HTTPS)
        set(CCURL_LONG_FOLLOWLOCATION, 0)
        set(CCURL_LONG_HTTP09_ALLOWED, 0)
        set(CCURL_LONG_SUPPRESS_CONNECT_HEADERS, 1)
        set(CCURL_LONG_CONNECTTIMEOUT_MS, configuration.connectTimeout.milliseconds)
        set(CCURL_LONG_HAPPY_EYEBALLS_TIMEOUT_MS, configuration.happyEyeballsDelay.milliseconds)
        // libcurl compares whole seconds. With one second, addresses could expire between their
        // lookup and their use.
        set(CCURL_LONG_DNS_CACHE_TIMEOUT, max(2, (configuration.dnsCacheLifetime.milliseconds + 999) / 1000))
        if configuration.idleTimeout == .zero {
            set(CCURL_LONG_FORBID_REUSE, 1)
        } else {
            set(CCURL_LONG_MAXAGE_CONN, (configuration.idleTimeout.milliseconds + 999) / 1000)
        }
        if request.origin.scheme == "https" || configuration.proxy.mayNeedTLS(to: request.origin) {
            setTLS(configuration)
        }
        setAddresses(engineSettings)
        setProxy(configuration, origin: request.origin)
        setVersion(configuration.protocolVersion, of: transfer)
        // Not available before 7.87, where removing a transfer waits for the resolver.
        trySet(CCURL_LONG_QUICK_EXIT, 1)
    }

    private mutating func setAddresses(_ engineSettings: CurlEngineSettings) {
        switch engineSettings.configuration.usedFamily {
        case .any, .ipv4First, .ipv6First: break
        case .ipv4: set(CCURL_LONG_IPRESOLVE, CCURL_IPRESOLVE_V4)
        case .ipv6: set(CCURL_LONG_IPRESOLVE, CCURL_IPRESOLVE_V6)
        }
        if let lines = engineSettings.resolverLines { set(CCURL_LIST_RESOLVE, lines) }
        if let path = engineSettings.configuration.unixSocketPath { set(CCURL_STRING_UNIX_SOCKET_PATH, path) }
    }

    private mutating func setVersion(_ version: CurlTransport.ProtocolVersion, of transfer: CurlTransfer) {
        switch version {
        case .http1: set(CCURL_LONG_HTTP_VERSION, CCURL_HTTP_VERSION_1_1)
        case .http2PriorKnowledge where transfer.requiresKeptConnection:
            set(CCURL_LONG_HTTP_VERSION, CCURL_HTTP_VERSION_2TLS)
        case .http2PriorKnowledge: set(CCURL_LONG_HTTP_VERSION, CCURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
        // Not available in a libcurl without HTTP/2, which then uses HTTP/1.1.
        case .negotiated: trySet(CCURL_LONG_HTTP_VERSION, CCURL_HTTP_VERSION_2TLS)
        }
    }

    private mutating func setProxy(_ configuration: CurlTransport.Configuration, origin: HTTPOrigin) {
        switch configuration.proxy.wrapped {
        case .environment where !origin.isLoopback && configuration.unixSocketPath == nil: break
        case .environment, .none: return set(CCURL_STRING_PROXY, "")
        case .server(let server):
            set(CCURL_STRING_PROXY, server.location)
            // Overrides `no_proxy` from the environment.
            set(CCURL_STRING_NOPROXY, server.exceptions)
            if let credentials = server.credentials {
                set(CCURL_STRING_PROXYUSERNAME, credentials.username)
                set(CCURL_STRING_PROXYPASSWORD, credentials.password)
            }
            if server.isSecure {
                set(CCURL_LONG_PROXY_SSL_VERIFYPEER, 1)
                set(CCURL_LONG_PROXY_SSL_VERIFYHOST, 2)
                set(CCURL_LONG_PROXY_SSLVERSION, CCURL_TLS_1_2)
            }
        }
        // Keeps the server's header fields from the proxy.
        set(CCURL_LONG_HEADEROPT, CCURL_HEADER_SEPARATE)
    }
}

// HTTP/2 with prior knowledge on plain connections.
extension CurlTransfer {
    /// A Boolean value that indicates whether the transfer must use a kept connection, and fails
    /// before it makes another one.
    ///
    /// libcurl 7.88 starts HTTP/2 again on a kept plain connection if a request asks for prior
    /// knowledge, which fails. Otherwise, it uses the connection correctly, but makes new ones with
    /// HTTP/1.1. Therefore a request first asks only for a kept connection. Without one, the
    /// engine repeats the transfer on a new connection with prior knowledge.
    var requiresKeptConnection: Bool {
        configuration.protocolVersion == .http2PriorKnowledge && origin.scheme == "http" && !needsNewConnection
            && !CurlLibrary.keepsPlainHTTP2 && configuration.idleTimeout > .zero
    }
}
