import CCurl

/// A failure reported by libcurl, translated to a ``NetworkError``.
struct CurlFailure {
    let code: Int32
    let text: String
    let origin: HTTPOrigin
    /// 0 if no tunnel was requested.
    var proxyStatus = 0
    /// The request was sent, and the response's header is incomplete.
    var isReadingHead = false
    var isHTTP2 = false

    private var words: String {
        String((text.isEmpty ? unsafe String(cString: ccurl_easy_strerror(code)) : text).prefix(200))
    }

    /// Returns `nil` if libcurl reported success; libcurl's messages name hosts and causes, but
    /// never a header's value or a body.
    func networkError(connectTimeout: Duration, phase: NetworkError.Timeout.Phase) -> NetworkError? {
        guard Int(code) != CCURL_OK else { return nil }
        if let failure = proxyFailure ?? connectionFailure(connectTimeout, phase) { return failure }
        if isTLS { return NetworkError(.tls, "the TLS handshake with \(origin) failed: \(words)") }
        if isLoss { return NetworkError(.connectionLost, "the connection to \(origin) ended early: \(words)") }
        if isHeaderTooLarge {
            return NetworkError(
                .invalidResponse,
                "the response header from \(origin) has a line over 100 KiB or exceeds libcurl's total limit; "
                    + "the server must send less"
            )
        }
        if isMalformed {
            return NetworkError(.invalidResponse, "\(origin) sent a malformed HTTP response: \(words)")
        }
        return NetworkError(.unknown, "the request to \(origin) failed: \(words) (libcurl error \(code))")
    }

    private var proxyFailure: NetworkError? {
        switch proxyStatus {
        case 0, 200...299: nil
        case 407:
            NetworkError(
                .proxyAuthenticationRequired,
                "the proxy requires valid credentials for a tunnel to \(origin); set them in the proxy selection"
            )
        default: NetworkError(.cannotConnect, "the proxy denied a tunnel to \(origin) with status \(proxyStatus)")
        }
    }

    private func connectionFailure(_ connectTimeout: Duration, _ phase: NetworkError.Timeout.Phase) -> NetworkError? {
        switch Int(code) {
        case CCURL_COULDNT_RESOLVE_HOST:
            NetworkError(.cannotResolveHost, "the host of \(origin) can't be resolved: \(words)")
        case CCURL_COULDNT_CONNECT, CCURL_COULDNT_RESOLVE_PROXY, CCURL_PROXY_HANDSHAKE:
            NetworkError(.cannotConnect, "can't connect to \(origin): \(words)")
        case CCURL_OPERATION_TIMEDOUT:
            .connectTimedOut(connectTimeout, phase, origin)
        case CCURL_URL_MALFORMAT:
            NetworkError(.invalidRequest, "libcurl can't read the URL of a request to \(origin): \(words)")
        case CCURL_UNSUPPORTED_PROTOCOL where isProtocolMissing:
            NetworkError(.transportUnavailable, "this libcurl doesn't support \(origin.scheme): \(words)")
        default: nil
        }
    }

    private var isTLS: Bool {
        switch Int(code) {
        case CCURL_SSL_CONNECT_ERROR: !isHandshakeCut
        case CCURL_SSL_ENGINE_NOTFOUND, CCURL_SSL_ENGINE_SETFAILED, CCURL_SSL_ENGINE_INITFAILED, CCURL_SSL_CERTPROBLEM,
            CCURL_SSL_CIPHER, CCURL_PEER_FAILED_VERIFICATION, CCURL_SSL_CACERT_BADFILE, CCURL_SSL_SHUTDOWN_FAILED,
            CCURL_SSL_CRL_BADFILE, CCURL_SSL_ISSUER_ERROR, CCURL_SSL_PINNEDPUBKEYNOTMATCH, CCURL_SSL_INVALIDCERTSTATUS,
            CCURL_SSL_CLIENTCERT:
            true
        default: false
        }
    }

    private var isLoss: Bool {
        switch Int(code) {
        case CCURL_SSL_CONNECT_ERROR: isHandshakeCut
        case CCURL_RECV_ERROR: !isChunking && !isHTTP2Framing
        case CCURL_GOT_NOTHING: !isHTTP2
        // Code 16 is the result for a stream whose connection the server closes after GOAWAY.
        case CCURL_SEND_ERROR, CCURL_PARTIAL_FILE, CCURL_SEND_FAIL_REWIND, CCURL_HTTP2, CCURL_AGAIN: !isHTTP2Shutdown
        case CCURL_HTTP2_STREAM: !isHTTP2Violation
        default: false
        }
    }

    private var isMalformed: Bool {
        switch Int(code) {
        case CCURL_RECV_ERROR: isChunking || isHTTP2Framing
        case CCURL_UNSUPPORTED_PROTOCOL: !isProtocolMissing
        // With HTTP/2, libcurl closed the connection. A server that closes it causes another code.
        case CCURL_GOT_NOTHING: isHTTP2
        case CCURL_HTTP2_STREAM: isHTTP2Violation
        case CCURL_SEND_ERROR, CCURL_HTTP2: isHTTP2Shutdown
        case CCURL_WEIRD_SERVER_REPLY, CCURL_BAD_CONTENT_ENCODING, CCURL_TOO_LARGE, CCURL_WRITE_ERROR: true
        // libcurl 7.88 reports these for a header line over its limit, a header that begins with a
        // folded line, and an invalid chunk size.
        case CCURL_OUT_OF_MEMORY, CCURL_BAD_FUNCTION_ARGUMENT: true
        default: false
        }
    }

    // libcurl uses one code for several causes here. Only its message distinguishes them.
    private var isChunking: Bool { words.contains("chunk") }
    /// libcurl, rather than the server, lacks the protocol.
    private var isProtocolMissing: Bool { words.contains("not supported or disabled in libcurl") }
    /// libcurl 7.88 reports that it's out of memory.
    private var isHeaderTooLarge: Bool {
        isReadingHead && [CCURL_OUT_OF_MEMORY, CCURL_TOO_LARGE].contains(Int(code))
    }
    private var isHTTP2Framing: Bool { words.contains("nghttp2") }
    /// The message names a stream error by either side
    /// ([RFC 9113 §7](https://www.rfc-editor.org/rfc/rfc9113#section-7)).
    private var isHTTP2Violation: Bool {
        [
            "PROTOCOL_ERROR", "FLOW_CONTROL_ERROR", "FRAME_SIZE_ERROR", "COMPRESSION_ERROR", "STREAM_CLOSED",
            "before getting all response header fields",
        ].contains { words.contains($0) }
    }
    /// libcurl 8.23 closed the connection.
    private var isHTTP2Shutdown: Bool { words.contains("nghttp2 shuts down") && isHTTP2Violation }
    private var isHandshakeCut: Bool { words.contains("SSL_ERROR_SYSCALL") || words.contains("reset by peer") }

    /// libcurl was told to fail when it was about to look up the proxy's name or the origin's.
    static func wantsProxy(code: Int32, text: String, proxy: NameLookup.Name?) -> Bool {
        switch Int(code) {
        case CCURL_COULDNT_RESOLVE_PROXY: return true
        // A SOCKS proxy from the environment may leave name resolution to the client.
        case CCURL_PROXY_HANDSHAKE: return false
        default:
            // Since 8.13, libcurl identifies the host only in its message: “Could not resolve
            // proxy: proxy.example”. 8.23 names it: “Error 42 resolving proxy.example:3128”.
            guard let start = text.firstRange(of: " resolving ")?.upperBound else {
                return text.contains("resolve proxy")
            }
            return proxy.map { text[start...].lowercased() == "\($0.host):\($0.port)" } ?? false
        }
    }
}

extension NetworkError {
    static func connectTimedOut(_ time: Duration, _ phase: Timeout.Phase, _ origin: HTTPOrigin) -> Self {
        Self(.connect, phase, "can't connect to \(origin) within \(time) (connectTimeout)", code: .cannotConnect)
    }
}

extension NetworkError {
    static var transportClosed: Self { Self(.closed, "the transport was closed") }

    static var cannotBegin: Self {
        // Since 8.20, libcurl opens a descriptor before the first request of each kind of traffic.
        if let number = missingDescriptor { return noDescriptor(number, "can't start the request") }
        return Self(.unknown, "libcurl couldn't start the request; the process may be out of memory")
    }

    static func missedDeadline(_ exchange: CurlExchange, _ phase: Timeout.Phase) -> Self {
        .timedOut(.deadline, of: exchange.limits, phase, exchange.request.origin)
    }
}
