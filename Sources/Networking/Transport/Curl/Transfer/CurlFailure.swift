import CCurl

/// What libcurl says about a transfer that failed, in this module's terms.
struct CurlFailure {
    private let code: Int32
    private let text: String
    private let origin: HTTPOrigin
    private let proxyStatus: Int
    private let isReadingHead: Bool
    private let isHTTP2: Bool

    /// Reads libcurl's result; `nil` if it is success.
    ///
    /// - Parameters:
    ///   - code: libcurl's result.
    ///   - text: libcurl's words.
    ///   - origin: Where the request was going.
    ///   - proxyStatus: What a proxy answered when it was asked for a tunnel; 0 if none was.
    ///   - isReadingHead: Whether the request was sent and the response's header isn't whole.
    ///   - isHTTP2: Whether the request was sent with HTTP/2.
    init?(
        code: Int32,
        text: String,
        origin: HTTPOrigin,
        proxyStatus: Int = 0,
        isReadingHead: Bool = false,
        isHTTP2: Bool = false
    ) {
        guard Int(code) != CCURL_OK else { return nil }
        self.proxyStatus = proxyStatus
        self.isReadingHead = isReadingHead
        self.isHTTP2 = isHTTP2
        self.code = code
        let words = text.isEmpty ? unsafe String(cString: ccurl_easy_strerror(code)) : text
        self.text = String(words.prefix(200))
        self.origin = origin
    }

    /// The error for the caller; libcurl's words name hosts and causes, never a header's value or a body.
    func networkError(connectTimeout: Duration, phase: NetworkError.Timeout.Phase) -> NetworkError {
        if let failure = proxyFailure ?? connectionFailure(connectTimeout, phase) { return failure }
        if isTLS { return NetworkError(.tls, "the TLS handshake with \(origin) failed: \(text)") }
        if isLoss { return NetworkError(.connectionLost, "the connection to \(origin) ended too early: \(text)") }
        if isHeaderTooLarge {
            return NetworkError(
                .invalidResponse,
                "the response's header of \(origin) has a line of more than 100 KiB, or more than libcurl accepts altogether; "
                    + "the server must send less"
            )
        }
        if isMalformed {
            return NetworkError(.invalidResponse, "\(origin) did not answer in well-formed HTTP: \(text)")
        }
        return NetworkError(.unknown, "the exchange with \(origin) failed: \(text) (libcurl error \(code))")
    }

    private var proxyFailure: NetworkError? {
        switch proxyStatus {
        case 0, 200...299: nil
        case 407:
            NetworkError(
                .proxyAuthenticationRequired,
                "the proxy wants credentials, or others, for a tunnel to \(origin); give them in the proxy selection"
            )
        default: NetworkError(.cannotConnect, "the proxy refused a tunnel to \(origin) with status \(proxyStatus)")
        }
    }

    private func connectionFailure(_ connectTimeout: Duration, _ phase: NetworkError.Timeout.Phase) -> NetworkError? {
        switch Int(code) {
        case CCURL_COULDNT_RESOLVE_HOST:
            NetworkError(.cannotResolveHost, "the host of \(origin) has no address: \(text)")
        case CCURL_COULDNT_CONNECT, CCURL_COULDNT_RESOLVE_PROXY, CCURL_PROXY_HANDSHAKE:
            NetworkError(.cannotConnect, "no connection to \(origin): \(text)")
        case CCURL_OPERATION_TIMEDOUT:
            .connectTimedOut(connectTimeout, phase, origin)
        case CCURL_URL_MALFORMAT:
            NetworkError(.invalidRequest, "libcurl can't read the URL of a request to \(origin): \(text)")
        case CCURL_UNSUPPORTED_PROTOCOL where isProtocolMissing:
            NetworkError(.transportUnavailable, "this libcurl can't speak \(origin.scheme): \(text)")
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
        // Code 16 is what becomes of a stream whose connection the server closes after GOAWAY.
        case CCURL_SEND_ERROR, CCURL_PARTIAL_FILE, CCURL_SEND_FAIL_REWIND, CCURL_HTTP2, CCURL_AGAIN: true
        case CCURL_HTTP2_STREAM: !isHTTP2Violation
        default: false
        }
    }

    private var isMalformed: Bool {
        switch Int(code) {
        case CCURL_RECV_ERROR: isChunking || isHTTP2Framing
        case CCURL_UNSUPPORTED_PROTOCOL: !isProtocolMissing
        // A server that closes the connection without an answer has another code with HTTP/2; this is libcurl's end of it.
        case CCURL_GOT_NOTHING: isHTTP2
        case CCURL_HTTP2_STREAM: isHTTP2Violation
        case CCURL_WEIRD_SERVER_REPLY, CCURL_BAD_CONTENT_ENCODING, CCURL_TOO_LARGE, CCURL_WRITE_ERROR: true
        // So libcurl 7.88 says that a header line is larger than its own limit, that a header begins with a folded line, and
        // that a chunk's size is none.
        case CCURL_OUT_OF_MEMORY, CCURL_BAD_FUNCTION_ARGUMENT: true
        default: false
        }
    }

    // libcurl has one code for several causes here; only its words tell them apart.
    private var isChunking: Bool { text.contains("chunk") }
    /// All others are about what the server speaks.
    private var isProtocolMissing: Bool { text.contains("not supported or disabled in libcurl") }
    /// libcurl 7.88 has no memory for a line beyond its limit.
    private var isHeaderTooLarge: Bool {
        isReadingHead && [CCURL_OUT_OF_MEMORY, CCURL_TOO_LARGE].contains(Int(code))
    }
    private var isHTTP2Framing: Bool { text.contains("nghttp2") }
    /// The stream's error code ([RFC 9113 §7](https://www.rfc-editor.org/rfc/rfc9113#section-7)), which either side may have found.
    private var isHTTP2Violation: Bool {
        [
            "PROTOCOL_ERROR", "FLOW_CONTROL_ERROR", "FRAME_SIZE_ERROR", "COMPRESSION_ERROR", "STREAM_CLOSED",
            "before getting all response header fields",
        ].contains { text.contains($0) }
    }
    private var isHandshakeCut: Bool { text.contains("SSL_ERROR_SYSCALL") || text.contains("reset by peer") }
}

extension CurlFailure {
    /// The host whose name libcurl was about to look up when it was told to fail.
    enum WantedHost {
        case origin, proxy
    }

    /// Reads the result of a transfer that was told to fail.
    static func wantedHost(code: Int32, text: String) -> WantedHost {
        switch Int(code) {
        case CCURL_COULDNT_RESOLVE_PROXY: .proxy
        // A SOCKS proxy that the environment names may leave it to the client to look the host's name up.
        case CCURL_COULDNT_RESOLVE_HOST, CCURL_PROXY_HANDSHAKE: .origin
        // libcurl 8.13 says which only in words.
        default: text.contains("proxy") ? .proxy : .origin
        }
    }
}

extension NetworkError {
    /// The error of a connection that took too long.
    static func connectTimedOut(_ time: Duration, _ phase: Timeout.Phase, _ origin: HTTPOrigin) -> Self {
        Self(.connect, phase, "no connection to \(origin) within \(time) (connectTimeout)", code: .cannotConnect)
    }
}
