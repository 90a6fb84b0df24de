import CCurl

// What decides how connections are made and which of them may be shared.
extension CurlSettings {
    mutating func setConnection(_ request: CurlRequest, configuration: CurlTransport.Configuration) {
        let origin = request.origin
        set(CCURL_LONG_NOSIGNAL, 1)
        set(CCURL_LONG_PROTOCOLS, CCURL_PROTOCOLS_HTTP_AND_HTTPS)
        set(CCURL_LONG_FOLLOWLOCATION, 0)
        set(CCURL_LONG_HTTP09_ALLOWED, 0)
        set(CCURL_LONG_SUPPRESS_CONNECT_HEADERS, 1)
        set(CCURL_LONG_TCP_KEEPALIVE, 1)
        set(CCURL_LONG_CONNECTTIMEOUT_MS, configuration.connectTimeout.milliseconds)
        set(CCURL_LONG_MAXAGE_CONN, (configuration.idleTimeout.milliseconds + 999) / 1000)
        if origin.scheme == "https" { setTLS() }
        if configuration.proxy == .none || origin.isLoopback { set(CCURL_STRING_PROXY, "") }
        // Absent from a libcurl without HTTP/2 and from one before 7.87; it does without then.
        trySet(CCURL_LONG_HTTP_VERSION, CCURL_HTTP_VERSION_2TLS)
        trySet(CCURL_LONG_QUICK_EXIT, 1)
    }

    private mutating func setTLS() {
        set(CCURL_LONG_SSL_VERIFYPEER, 1)
        set(CCURL_LONG_SSL_VERIFYHOST, 2)
        set(CCURL_LONG_SSLVERSION, CCURL_TLS_1_2)
    }
}
