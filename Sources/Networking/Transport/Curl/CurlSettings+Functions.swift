import CCurl

// What libcurl calls while a transfer runs.
extension CurlSettings {
    mutating func setFunctions(of transfer: CurlTransfer) {
        let context = unsafe Unmanaged.passUnretained(transfer).toOpaque()
        unsafe set { unsafe ccurl_easy_set_context($0, context) }
        unsafe set { easy in
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
        }
        unsafe set { easy in
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
        }
        unsafe setRequestFunction(of: transfer, context)
    }

    private mutating func setRequestFunction(of transfer: CurlTransfer, _ context: UnsafeMutableRawPointer) {
        var code = Int32(CCURL_OK)
        unsafe set { easy in
            code = unsafe ccurl_easy_set_request_function(
                easy,
                { context, _, _, _, _ in unsafe CurlTransfer.behind(context)?.beginRequest() == true ? 0 : 1 },
                context
            )
            return Int32(CCURL_OK)
        }
        // Without the question before each request, only a new connection keeps libcurl from sending it twice.
        if code != Int32(CCURL_OK), !transfer.exchange.request.method.isIdempotent {
            set(CCURL_LONG_FRESH_CONNECT, 1)
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
