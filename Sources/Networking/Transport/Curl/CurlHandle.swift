import CCurl
import Foundation

/// An easy handle, used for one transfer after another on the engine's thread.
///
/// The handle and the buffer for its error's words are freed with this object; the header lines when the next
/// transfer begins or this one is over.
@safe final class CurlHandle {
    private let easy: OpaquePointer
    private let words: UnsafeMutablePointer<CChar>
    private var lines: OpaquePointer?

    init?() {
        guard let easy = unsafe ccurl_easy_init() else { return nil }
        unsafe self.easy = easy
        unsafe words = .allocate(capacity: CCURL_ERROR_SIZE)
        unsafe words.initialize(repeating: 0, count: CCURL_ERROR_SIZE)
    }

    deinit {
        unsafe ccurl_easy_cleanup(easy)
        unsafe ccurl_list_free(lines)
        unsafe words.deallocate()
    }

    /// The words of the last error; empty if libcurl had none.
    var errorText: String { unsafe String(cString: words) }

    /// Adds the transfer to those that are driven; false if libcurl refused.
    func join(_ multi: OpaquePointer) -> Bool {
        unsafe ccurl_multi_add(multi, easy) == Int32(CCURL_OK)
    }

    /// Takes the transfer out of those that are driven, wherever it stands.
    func leave(_ multi: OpaquePointer) {
        _ = unsafe ccurl_multi_remove(multi, easy)
    }

    /// Forgets the transfer; connections and resolved names stay with the multi handle.
    func reset() {
        unsafe ccurl_easy_reset(easy)
        unsafe ccurl_list_free(lines)
        unsafe lines = nil
    }

    /// Sets up everything for a transfer, which must outlive it; false if libcurl refused something.
    func prepare(for transfer: CurlTransfer, configuration: CurlTransport.Configuration) -> Bool {
        let request = transfer.exchange.request
        unsafe words[0] = 0
        var settings = unsafe Settings(easy: easy)
        setConnection(&settings, origin: request.origin, configuration: configuration)
        setRequest(&settings, request)
        setHeaders(&settings, request.headerLines)
        setFunctions(&settings, transfer)
        if request.hasBody { setBody(&settings, request, transfer) }
        return settings.areAccepted
    }

    private func setConnection(
        _ settings: inout Settings,
        origin: HTTPOrigin,
        configuration: CurlTransport.Configuration
    ) {
        settings.set(CCURL_LONG_NOSIGNAL, 1)
        settings.set(CCURL_LONG_PROTOCOLS, CCURL_PROTOCOLS_HTTP_AND_HTTPS)
        settings.set(CCURL_LONG_FOLLOWLOCATION, 0)
        settings.set(CCURL_LONG_HTTP09_ALLOWED, 0)
        settings.set(CCURL_LONG_SUPPRESS_CONNECT_HEADERS, 1)
        settings.set(CCURL_LONG_TCP_KEEPALIVE, 1)
        settings.set(CCURL_LONG_CONNECTTIMEOUT_MS, configuration.connectTimeout.milliseconds)
        settings.set(CCURL_LONG_MAXAGE_CONN, (configuration.idleTimeout.milliseconds + 999) / 1000)
        if origin.scheme == "https" {
            settings.set(CCURL_LONG_SSL_VERIFYPEER, 1)
            settings.set(CCURL_LONG_SSL_VERIFYHOST, 2)
            settings.set(CCURL_LONG_SSLVERSION, CCURL_TLS_1_2)
        }
        if configuration.proxy == .none || origin.isLoopback { settings.set(CCURL_STRING_PROXY, "") }
        // Absent from a libcurl without HTTP/2 and from one before 7.87; it does without then.
        settings.trySet(CCURL_LONG_HTTP_VERSION, CCURL_HTTP_VERSION_2TLS)
        settings.trySet(CCURL_LONG_QUICK_EXIT, 1)
    }

    private func setRequest(_ settings: inout Settings, _ request: CurlRequest) {
        settings.set(CCURL_STRING_URL, request.url)
        settings.set(CCURL_LONG_PATH_AS_IS, 1)
        settings.set(CCURL_STRING_ACCEPT_ENCODING, "")
        switch request.method {
        case .head: settings.set(CCURL_LONG_NOBODY, 1)
        case .get where !request.hasBody: settings.set(CCURL_LONG_HTTPGET, 1)
        default: settings.set(CCURL_STRING_CUSTOMREQUEST, request.method.rawValue)
        }
    }

    private func setHeaders(_ settings: inout Settings, _ headerLines: [String]) {
        for line in headerLines {
            guard let longer = unsafe ccurl_list_append(lines, line) else { return settings.refuse() }
            unsafe lines = longer
        }
        if let lines = unsafe lines { settings.check(unsafe ccurl_easy_set_headers(easy, lines)) }
    }

    private func setFunctions(_ settings: inout Settings, _ transfer: CurlTransfer) {
        let context = unsafe Unmanaged.passUnretained(transfer).toOpaque()
        settings.check(unsafe ccurl_easy_set_context(easy, context))
        settings.check(unsafe ccurl_easy_set_error_buffer(easy, words))
        settings.check(
            unsafe ccurl_easy_set_header_function(
                easy,
                { octets, size, count, context in
                    guard let octets = unsafe octets, let transfer = unsafe CurlTransfer.behind(context) else {
                        return 0
                    }
                    let line = unsafe UnsafeRawBufferPointer(start: octets, count: size * count)
                    let bytes = unsafe line.assumingMemoryBound(to: UInt8.self)
                    return unsafe transfer.receive(headerLine: bytes.span) ? size * count : 0
                },
                context
            )
        )
        settings.check(
            unsafe ccurl_easy_set_write_function(
                easy,
                { octets, size, count, context in
                    guard let octets = unsafe octets, let transfer = unsafe CurlTransfer.behind(context) else {
                        return 0
                    }
                    let part = unsafe UnsafeRawBufferPointer(start: octets, count: size * count)
                    return unsafe transfer.receive(octets: part.assumingMemoryBound(to: UInt8.self)) ? size * count : 0
                },
                context
            )
        )
        let code = unsafe ccurl_easy_set_request_function(
            easy,
            { context, _, _, _, _ in unsafe CurlTransfer.behind(context)?.beginRequest() == true ? 0 : 1 },
            context
        )
        // Without the question before each request, only a new connection keeps libcurl from sending it twice.
        if code != Int32(CCURL_OK), !transfer.exchange.request.method.isIdempotent {
            settings.set(CCURL_LONG_FRESH_CONNECT, 1)
        }
    }

    private func setBody(_ settings: inout Settings, _ request: CurlRequest, _ transfer: CurlTransfer) {
        settings.set(CCURL_LONG_POST, 1)
        // A body that fits is sent together with the header; libcurl needs it at hand for that.
        guard request.body.count > 64 << 10 else {
            let code = unsafe request.body.withUnsafeBytes { octets in
                unsafe ccurl_easy_set_copied_body(
                    easy,
                    octets.baseAddress ?? UnsafeRawPointer(words),
                    Int64(octets.count)
                )
            }
            return settings.check(code)
        }
        settings.check(
            unsafe ccurl_easy_set_read_body(
                easy,
                { buffer, size, count, context in
                    guard let transfer = unsafe CurlTransfer.behind(context) else { return CCURL_READ_ABORT }
                    return unsafe transfer.copyBody(
                        to: UnsafeMutableRawBufferPointer(start: buffer, count: size * count)
                    )
                },
                { context, offset, origin in
                    unsafe origin == 0 && CurlTransfer.behind(context)?.seekBody(to: offset) == true ? 0 : 1
                },
                Unmanaged.passUnretained(transfer).toOpaque(),
                Int64(request.body.count)
            )
        )
    }
}

extension CurlHandle {
    /// Collects whether libcurl took every setting.
    @safe private struct Settings {
        private let easy: OpaquePointer
        private(set) var areAccepted = true

        init(easy: OpaquePointer) {
            unsafe self.easy = easy
        }

        mutating func set(_ option: ccurl_long_option, _ value: Int) {
            check(unsafe ccurl_easy_set_long(easy, option, value))
        }

        func trySet(_ option: ccurl_long_option, _ value: Int) {
            _ = unsafe ccurl_easy_set_long(easy, option, value)
        }

        mutating func set(_ option: ccurl_string_option, _ value: String) {
            check(unsafe ccurl_easy_set_string(easy, option, value))
        }

        mutating func check(_ code: Int32) {
            if code != Int32(CCURL_OK) { refuse() }
        }

        mutating func refuse() {
            areAccepted = false
        }
    }
}

extension CurlTransfer {
    /// The transfer that libcurl was given as a context.
    static func behind(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        unsafe context.map { unsafe Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The transfer of a handle that libcurl reports.
    static func of(_ easy: OpaquePointer) -> CurlTransfer? {
        unsafe behind(ccurl_easy_context(easy))
    }
}

extension Duration {
    /// Whole milliseconds, rounded up, 1…2³¹−1.
    var milliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < 2_000_000 else { return Int(Int32.max) }
        guard seconds >= 0, attoseconds >= 0 else { return 1 }
        return max(1, Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
    }
}
