import CCurl

extension CurlTransport.ProtocolVersion {
    /// Returns whether an exchange may turn out to use HTTP/2.
    func mayBeHTTP2(to origin: HTTPOrigin) -> Bool {
        switch wrapped {
        case .http1: false
        case .http2: true
        case .negotiated: origin.scheme == "https"
        }
    }
}

// What decides how connections are made and which of them may be shared.
extension CurlSettings {
    mutating func setConnection(of handle: CurlHandle, _ request: CurlRequest, _ preparation: CurlEngineSettings) {
        let configuration = preparation.configuration
        set(CCURL_LONG_NOSIGNAL, 1)
        set(CCURL_LONG_PROTOCOLS, CCURL_PROTOCOLS_HTTP_AND_HTTPS)
        set(CCURL_LONG_FOLLOWLOCATION, 0)
        set(CCURL_LONG_HTTP09_ALLOWED, 0)
        set(CCURL_LONG_SUPPRESS_CONNECT_HEADERS, 1)
        set(CCURL_LONG_TCP_KEEPALIVE, 1)
        set(CCURL_LONG_CONNECTTIMEOUT_MS, configuration.connectTimeout.milliseconds)
        set(CCURL_LONG_HAPPY_EYEBALLS_TIMEOUT_MS, configuration.happyEyeballsDelay.milliseconds)
        if configuration.idleTimeout == .zero {
            set(CCURL_LONG_FORBID_REUSE, 1)
        } else {
            set(CCURL_LONG_MAXAGE_CONN, (configuration.idleTimeout.milliseconds + 999) / 1000)
        }
        if request.origin.scheme == "https" || configuration.proxy.mayNeedTLS(to: request.origin) {
            setTLS(configuration, of: handle)
        }
        setAddresses(preparation)
        setProxy(configuration, origin: request.origin)
        setVersion(configuration.protocolVersion, origin: request.origin)
        // Absent before 7.87; removing a transfer then waits for the resolver.
        trySet(CCURL_LONG_QUICK_EXIT, 1)
    }

    private mutating func setAddresses(_ preparation: CurlEngineSettings) {
        switch preparation.configuration.addressFamily.wrapped {
        case .any: break
        case .ipv4: set(CCURL_LONG_IPRESOLVE, CCURL_IPRESOLVE_V4)
        case .ipv6: set(CCURL_LONG_IPRESOLVE, CCURL_IPRESOLVE_V6)
        }
        if let lines = preparation.resolverLines { set(CCURL_LIST_RESOLVE, lines) }
        if let path = preparation.configuration.unixSocketPath { set(CCURL_STRING_UNIX_SOCKET_PATH, path) }
    }

    private mutating func setVersion(_ version: CurlTransport.ProtocolVersion, origin: HTTPOrigin) {
        switch version.wrapped {
        case .http1: set(CCURL_LONG_HTTP_VERSION, CCURL_HTTP_VERSION_1_1)
        case .http2:
            set(CCURL_LONG_HTTP_VERSION, CCURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
            if origin.scheme == "http", !CurlLibrary.keepsPlainHTTP2 {
                set(CCURL_LONG_FRESH_CONNECT, 1)
                set(CCURL_LONG_FORBID_REUSE, 1)
            }
        // Absent from a libcurl without HTTP/2, which does without then.
        case .negotiated: trySet(CCURL_LONG_HTTP_VERSION, CCURL_HTTP_VERSION_2TLS)
        }
    }

    private mutating func setProxy(_ configuration: CurlTransport.Configuration, origin: HTTPOrigin) {
        switch configuration.proxy.wrapped {
        case .environment where !origin.isLoopback && configuration.unixSocketPath == nil: break
        case .environment, .none: return set(CCURL_STRING_PROXY, "")
        case .server(let server):
            set(CCURL_STRING_PROXY, server.location)
            // Without it, `no_proxy` in the environment would count.
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
        // The header for the server is none of the proxy's business.
        set(CCURL_LONG_HEADEROPT, CCURL_HEADER_SEPARATE)
    }
}
