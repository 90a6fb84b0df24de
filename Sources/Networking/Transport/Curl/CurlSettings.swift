import CCurl
import Foundation
import Glibc

/// The settings of an easy handle, which record whether libcurl accepted all of them.
@safe struct CurlSettings {
    let easy: OpaquePointer
    private(set) var areAccepted = true
    var functions = ccurl_functions()

    init(easy: OpaquePointer) {
        unsafe self.easy = easy
    }

    mutating func set(_ option: ccurl_long_option, _ value: Int) {
        check(unsafe ccurl_easy_set_long(easy, option, value))
    }

    /// This libcurl may not have the option.
    func trySet(_ option: ccurl_long_option, _ value: Int) {
        _ = unsafe ccurl_easy_set_long(easy, option, value)
    }

    mutating func set(_ option: ccurl_string_option, _ value: String?) {
        check(unsafe ccurl_easy_set_string(easy, option, value))
    }

    /// The list must outlive the transfer.
    mutating func set(_ option: ccurl_list_option, _ lines: CurlLines?) {
        check(unsafe ccurl_easy_set_list(easy, option, lines?.head))
    }

    mutating func check(_ code: Int32) {
        if code != Int32(CCURL_OK) { areAccepted = false }
    }
}

extension Duration {
    /// Whole milliseconds, rounded up and limited to 1…2³¹−1.
    var milliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < 2_000_000 else { return Int(Int32.max) }
        guard seconds >= 0, attoseconds >= 0 else { return 1 }
        return max(1, Int(clamping: seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
    }
}

extension CurlTransport.ProtocolVersion {
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
    /// Before it makes a new connection, the transfer fails.
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

// Settings for the message.
extension CurlSettings {
    /// Sets the options that requests of the same kind share.
    mutating func setRequest(_ request: CurlRequest, configuration: CurlTransport.Configuration) {
        set(CCURL_LONG_PATH_AS_IS, 1)
        // An empty text would stand for all of libcurl's codings.
        if configuration.decodesContent, !ContentDecoder.acceptedCodings.isEmpty {
            set(CCURL_STRING_ACCEPT_ENCODING, ContentDecoder.acceptedCodings)
            set(CCURL_LONG_HTTP_CONTENT_DECODING, 0)
        }
        switch request.method {
        case .head: set(CCURL_LONG_NOBODY, 1)
        case .get where !request.hasBody: set(CCURL_LONG_HTTPGET, 1)
        default: set(CCURL_STRING_CUSTOMREQUEST, request.method.rawValue)
        }
    }

    mutating func setBody(_ request: CurlRequest) {
        set(CCURL_LONG_POST, 1)
        switch request.body {
        case .held(let data): if request.body.isReadWhileSent { setReadBody(length: data.count) }
        case .streamed(let body): setReadBody(length: body.length)
        }
    }

    /// libcurl can fill its buffer a hundred times before anything else is served, also with bytes
    /// that belong to no body; larger buffers hardly make downloads faster.
    private static let receivingSize = 10 << 10

    /// A larger buffer makes uploads faster.
    func setBuffers(of transfer: CurlTransfer) {
        trySet(CCURL_LONG_BUFFERSIZE, min(Self.receivingSize, transfer.exchange.limits.maximumDownloadRate ?? .max))
        if transfer.upload != nil {
            trySet(CCURL_LONG_UPLOAD_BUFFERSIZE, transfer.configuration.sendingSize)
        }
    }

    /// Sets the options that differ from the last message; if `isForwarded`, a proxy may get the
    /// message instead of a tunnel to the server.
    mutating func setMessage(_ request: CurlRequest, isForwarded: Bool, after last: Message?) {
        if last?.url != request.url {
            set(CCURL_STRING_URL, request.url)
            set(CCURL_STRING_REQUEST_TARGET, isForwarded ? nil : request.target)
        }
        if request.lines != nil || last?.hasLines ?? true { set(CCURL_LIST_HTTPHEADER, request.lines) }
        if let lines = request.proxyLines { set(CCURL_LIST_PROXYHEADER, lines) }
        if request.hasBody, !request.body.isReadWhileSent, case .held(let data) = request.body { setCopiedBody(data) }
    }

    struct Message {
        let url: String
        let hasLines: Bool

        init(_ request: CurlRequest) {
            url = request.url
            hasLines = request.lines != nil
        }
    }

    private mutating func setReadBody(length: Int?) {
        unsafe functions.read = { buffer, size, count, context in
            guard let transfer = unsafe CurlHandle.transfer(behind: context) else { return CCURL_READ_ABORT }
            // With a limited bandwidth, one part is at most what a second allows.
            let limit = min(size * count, transfer.exchange.limits.maximumUploadRate ?? .max)
            let room = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: limit)
            return switch unsafe transfer.copyBody(to: room) {
            case .octets(let count): count
            case .heldBack: CCURL_PAUSE
            case .refused: CCURL_READ_ABORT
            }
        }
        unsafe functions.seek = { context, offset, origin in
            let transfer = unsafe CurlHandle.transfer(behind: context)
            return origin == 0 && transfer?.seekBody(to: offset) == true ? 0 : 1
        }
        // HTTP/1.1 sends a body without a length in chunks.
        unsafe check(ccurl_easy_set_body_size(easy, Int64(length ?? -1)))
    }

    private mutating func setCopiedBody(_ body: Data) {
        let code = unsafe body.withUnsafeBytes { octets in
            // libcurl requires a pointer even for an empty body.
            var nothing: UInt8 = 0
            guard let start = octets.baseAddress else { return unsafe ccurl_easy_set_copied_body(easy, &nothing, 0) }
            return unsafe ccurl_easy_set_copied_body(easy, start, Int64(octets.count))
        }
        check(code)
    }
}

// The callbacks for a running transfer. The context is the handle, which outlives the transfer.
extension CurlSettings {
    mutating func setFunctions(of handle: CurlHandle) {
        unsafe functions.header = { octets, size, count, context in
            guard let octets = unsafe octets, let transfer = unsafe CurlHandle.transfer(behind: context) else {
                return 0
            }
            let line = unsafe UnsafeRawBufferPointer(start: octets, count: size * count)
            let bytes = unsafe line.assumingMemoryBound(to: UInt8.self)
            return unsafe transfer.receive(headerLines: bytes.span) ? size * count : 0
        }
        unsafe functions.write = { octets, size, count, context in
            guard let octets = unsafe octets, let transfer = unsafe CurlHandle.transfer(behind: context) else {
                return 0
            }
            let part = unsafe UnsafeRawBufferPointer(start: octets, count: size * count)
            return switch unsafe transfer.receive(octets: part.assumingMemoryBound(to: UInt8.self)) {
            case .taken: size * count
            case .refused: 0
            case .heldBack: CCURL_PAUSE
            }
        }
        // libcurl would start a thread for a name lookup.
        unsafe functions.resolver = { _, _, context in
            unsafe CurlHandle.transfer(behind: context)?.mayLookUp() == true ? 0 : 1
        }
        unsafe functions.request = { context, peer, _, peerPort, localPort in
            guard let transfer = unsafe CurlHandle.transfer(behind: context) else { return 1 }
            let connection = unsafe CurlConnectionName(peer: peer, peerPort: peerPort, localPort: localPort)
            return transfer.beginRequest(on: connection) ? 0 : 1
        }
        setSocketFunction()
        let context = unsafe Unmanaged.passUnretained(handle).toOpaque()
        unsafe check(ccurl_easy_set_context(easy, context))
        unsafe check(ccurl_easy_set_functions(easy, &functions, context))
    }

    /// The callback observes HTTP/2 connections through libcurl's log messages.
    mutating func setWordsFunction() {
        unsafe functions.words = { _, kind, octets, count, context in
            guard let octets = unsafe octets, let transfer = unsafe CurlHandle.transfer(behind: context) else {
                return 0
            }
            if Int(kind) == CCURL_WORDS_TLS_RECEIVED { transfer.receiveRecord() }
            guard Int(kind) == CCURL_WORDS_TEXT else { return 0 }
            let words = unsafe UnsafeRawBufferPointer(start: octets, count: count)
            unsafe transfer.hear(words.assumingMemoryBound(to: UInt8.self))
            return 0
        }
    }

    /// The callback creates sockets, so that child processes don't inherit them.
    private mutating func setSocketFunction() {
        unsafe functions.make_socket = { context, _, kind in
            guard let kind = unsafe kind, let handle = unsafe CurlHandle.behind(context), let transfer = handle.transfer
            else { return -1 }
            guard !transfer.requiresKeptConnection else {
                transfer.missesKeptConnection = true
                return -1
            }
            if transfer.configuration.unixSocketPath == nil { transfer.observation?.resolve() }
            let socket = unsafe handle.socketOwner?.make(kind, for: transfer.activity) ?? -1
            guard socket >= 0 else {
                if NetworkError.isDescriptorLimit(errno) { transfer.socketError = errno }
                return -1
            }
            guard transfer.setUp(socket, family: unsafe kind.pointee.family) else {
                handle.socketOwner?.close(socket)
                return -1
            }
            handle.noteOpening(at: socket)
            return socket
        }
    }
}

/// The properties of a transfer that determine a handle's settings, besides the configuration.
///
/// Transfers with equal keys can reuse a handle's settings. An unusual transfer has no key.
struct CurlSettingsKey: Equatable {
    enum Shape: Equatable {
        case get
        /// libcurl copies the body.
        case held(HTTPMethod)
    }

    let isSecure: Bool
    /// The environment's proxy isn't used for a local host.
    let isLoopback: Bool
    let isStreamed: Bool
    let shape: Shape

    init?(_ transfer: CurlTransfer) {
        let request = transfer.request
        guard !transfer.needsNewConnection, transfer.observation == nil, request.proxyLines == nil,
            !request.body.isReadWhileSent, !transfer.exchange.limits.hasRates
        else { return nil }
        if request.hasBody {
            shape = .held(request.method)
        } else if request.method == .get {
            shape = .get
        } else {
            return nil
        }
        if case .parts = transfer.submission.recipient { isStreamed = true } else { isStreamed = false }
        isSecure = request.origin.scheme == "https"
        isLoopback = request.origin.isLoopback
    }
}
