import Foundation

/// A request in libcurl's terms, worked out on the caller's thread because the engine has only one.
struct CurlRequest: Sendable {
    let url: String
    let origin: HTTPOrigin
    let method: HTTPMethod
    let headerLines: [String]
    let body: Data
    /// Whether a message with a body, perhaps an empty one, is sent.
    let hasBody: Bool

    init(_ request: HTTPTransportRequest) throws(NetworkError) {
        try request.validate()
        guard let origin = HTTPOrigin(request.url) else {
            throw NetworkError(.invalidRequest, "the URL has no scheme and host; give an absolute URL")
        }
        self.origin = origin
        url = request.url.absoluteString
        method = request.method
        body =
            switch request.body.source {
            case .none: Data()
            case .data(let data): data
            case .file, .stream: throw NetworkError(.invalidRequest, "this transport sends bodies from memory only")
            }
        hasBody = !body.isEmpty || request.method.anticipatesContent
        headerLines = Self.lines(request.headers, hasBody: hasBody)
    }

    /// The fields in libcurl's notation: `Name;` is an empty value, while `Name:` means that libcurl must not add the field
    /// itself.
    private static func lines(_ headers: HTTPHeaders, hasBody: Bool) -> [String] {
        var lines: [String] = []
        lines.reserveCapacity(headers.count + 2)
        var hasContentType = false
        var hasExpect = false
        for field in headers {
            if field.name.equalsIgnoringASCIICase("Content-Length") { continue }
            hasContentType = hasContentType || field.name.equalsIgnoringASCIICase("Content-Type")
            hasExpect = hasExpect || field.name.equalsIgnoringASCIICase("Expect")
            let value = field.value.trimmingHTTPWhitespace
            lines.append(value.isEmpty ? field.name + ";" : "\(field.name): \(value)")
        }
        if hasBody {
            if !hasContentType { lines.append("Content-Type:") }
            if !hasExpect { lines.append("Expect:") }
        }
        return lines
    }
}

extension HTTPMethod {
    /// Whether a request without a body says so with `Content-Length: 0`
    /// ([RFC 9110 §8.6](https://www.rfc-editor.org/rfc/rfc9110#section-8.6)).
    var anticipatesContent: Bool { self == .post || self == .put || self == .patch }
}

extension String {
    /// The text without the spaces and tabs around it.
    fileprivate var trimmingHTTPWhitespace: Substring {
        let text = utf8
        func isWhitespace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        guard let first = text.firstIndex(where: { !isWhitespace($0) }),
            let last = text.lastIndex(where: { !isWhitespace($0) })
        else { return "" }
        return Substring(text[first...last])
    }
}
