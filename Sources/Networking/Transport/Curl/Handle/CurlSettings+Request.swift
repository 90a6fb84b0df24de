import CCurl
import Foundation

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

    /// The size of libcurl's buffer for a response, in bytes.
    ///
    /// libcurl can fill it a hundred times before anything else is served, also with bytes that
    /// belong to no body. Larger buffers hardly make downloads faster.
    private static let receivingSize = 10 << 10

    /// Sets the sizes of libcurl's buffers; a larger one makes uploads faster.
    func setBuffers(of transfer: CurlTransfer) {
        trySet(CCURL_LONG_BUFFERSIZE, min(Self.receivingSize, transfer.exchange.limits.maximumDownloadRate ?? .max))
        if transfer.upload != nil {
            trySet(CCURL_LONG_UPLOAD_BUFFERSIZE, transfer.configuration.sendingSize)
        }
    }

    /// Sets the options that differ from the last message, if any.
    ///
    /// If `isForwarded`, a proxy may get the message instead of a tunnel to the server.
    mutating func setMessage(_ request: CurlRequest, isForwarded: Bool, after last: Message?) {
        if last?.url != request.url {
            set(CCURL_STRING_URL, request.url)
            set(CCURL_STRING_REQUEST_TARGET, isForwarded ? nil : request.target)
        }
        if request.lines != nil || last?.hasLines ?? true { set(CCURL_LIST_HTTPHEADER, request.lines) }
        if let lines = request.proxyLines { set(CCURL_LIST_PROXYHEADER, lines) }
        if request.hasBody, !request.body.isReadWhileSent, case .held(let data) = request.body { setCopiedBody(data) }
    }

    /// The settings that often stay the same from message to message.
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
