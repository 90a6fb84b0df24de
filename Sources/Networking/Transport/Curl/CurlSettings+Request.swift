import CCurl
import Foundation

// What goes over the wire.
extension CurlSettings {
    mutating func setRequest(_ request: CurlRequest) {
        set(CCURL_STRING_URL, request.url)
        set(CCURL_LONG_PATH_AS_IS, 1)
        set(CCURL_STRING_ACCEPT_ENCODING, "")
        switch request.method {
        case .head: set(CCURL_LONG_NOBODY, 1)
        case .get where !request.hasBody: set(CCURL_LONG_HTTPGET, 1)
        default: set(CCURL_STRING_CUSTOMREQUEST, request.method.rawValue)
        }
    }

    mutating func setBody(_ request: CurlRequest, _ transfer: CurlTransfer) {
        set(CCURL_LONG_POST, 1)
        // A body that fits is sent together with the header; libcurl needs it at hand for that.
        guard request.body.count > 64 << 10 else { return setCopiedBody(request.body) }
        unsafe set { easy in
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
        }
    }

    private mutating func setCopiedBody(_ body: Data) {
        unsafe body.withUnsafeBytes { octets in
            unsafe set { easy in
                // libcurl takes no pointer for a string; of an empty body it only looks at the pointer.
                guard let start = octets.baseAddress else {
                    var nothing: UInt8 = 0
                    return unsafe ccurl_easy_set_copied_body(easy, &nothing, 0)
                }
                return unsafe ccurl_easy_set_copied_body(easy, start, Int64(octets.count))
            }
        }
    }
}
