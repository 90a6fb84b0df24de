import Foundation

/// A request in libcurl's terms, prepared on the caller's thread because the engine has only one.
struct CurlRequest: Sendable {
    /// A body that's produced while it's sent.
    struct StreamedBody: Sendable {
        enum Source: Sendable {
            case file(URL, length: Int)
            case producer(HTTPBody.Producer)
        }

        let length: Int?
        let isReplayable: Bool
        let source: Source
    }

    /// The body of a request.
    enum Body: Sendable {
        case held(Data)
        case streamed(StreamedBody)

        /// A Boolean value that indicates whether libcurl reads the body in parts instead of
        /// sending it with the header.
        var isReadWhileSent: Bool {
            switch self {
            case .held(let data): data.count > 64 << 10
            case .streamed: true
            }
        }

        var isEmpty: Bool {
            if case .held(let data) = self { data.isEmpty } else { false }
        }

        /// A Boolean value that indicates whether a copy of the body is too large to keep.
        var isLarge: Bool {
            if case .held(let data) = self { data.count > 4 << 10 } else { true }
        }
    }

    let url: String
    /// The URL's path and query, which libcurl 8.14 and later would change: they omit an empty
    /// query and decode percent-encoded characters.
    let target: String
    let origin: HTTPOrigin
    let method: HTTPMethod
    /// The header fields for the server, and the ones that libcurl must not add.
    let lines: CurlLines?
    /// The header fields for the HTTP proxy only, or `nil`.
    let proxyLines: CurlLines?
    let body: Body
    /// A Boolean value that indicates whether the request has a body, possibly an empty one.
    let hasBody: Bool
    let observer: (@Sendable (HTTPTransportEvent) -> Void)?

    /// Prepares a request, or throws `invalidRequest`.
    init(_ request: HTTPRequest, limits: HTTPTransportLimits) throws(NetworkError) {
        try limits.validateRates()
        origin = try request.validate()
        url = request.url.absoluteString
        target = Self.target(of: url)
        method = request.method
        body = try Self.body(request, isPaced: limits.maximumUploadRate != nil)
        hasBody = !body.isEmpty || request.method.anticipatesContent
        var proxyFields: [String] = []
        lines = CurlLines(Self.lines(request.headers, hasBody: hasBody, proxyFields: &proxyFields))
        proxyLines = CurlLines(proxyFields)
        observer = request.observer
        try NetworkError.require(
            url.utf8.count + (lines?.size ?? 0) + (proxyLines?.size ?? 0) <= Self.maximumHeaderSize,
            "the request's URL and header fields exceed \(Self.maximumHeaderSize) bytes; send less, or use the body"
        )
        try NetworkError.require(
            max(lines?.longest ?? 0, proxyLines?.longest ?? 0) <= Self.maximumFieldSize,
            "a header field of the request exceeds \(Self.maximumFieldSize) bytes; send less, or use the body"
        )
    }

    private static func target(of url: String) -> String {
        let text = url.utf8.prefix { $0 != UInt8(ascii: "#") }
        // The scheme and its colon, two slashes and the authority.
        let authority = text.drop { $0 != UInt8(ascii: ":") }.dropFirst(3)
        let target = authority.drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        return target.first == UInt8(ascii: "/") ? String(Substring(target)) : "/" + Substring(target)
    }

    /// The maximum size of the URL and header fields.
    ///
    /// libcurl fails above 1 MiB, including the fields that it adds and a short body, and reports
    /// that it's out of memory.
    private static let maximumHeaderSize = 900_000
    /// The maximum size of a header field.
    ///
    /// libcurl 8.14 silently omits a field of more than 300 KiB.
    private static let maximumFieldSize = 300_000

    private static func body(_ request: HTTPRequest, isPaced: Bool) throws(NetworkError) -> Body {
        switch request.body.source {
        case .none: return .held(Data())
        case .data(let data) where isPaced && !data.isEmpty:
            // libcurl would send a short body at once.
            return .streamed(
                StreamedBody(length: data.count, isReplayable: true, source: .producer { try await $0(data) })
            )
        case .data(let data): return .held(data)
        case .file(let url, let length):
            guard length > 0 else { return .held(Data()) }
            return .streamed(StreamedBody(length: length, isReplayable: true, source: .file(url, length: length)))
        case .stream(let length, let isReplayable, let producer):
            let length = if let length { length } else { try announcedLength(request.headers) }
            try NetworkError.require(length ?? 0 >= 0, "the request's body has a negative length")
            // The producer isn't called for an empty body.
            guard length != 0 else { return .held(Data()) }
            return .streamed(StreamedBody(length: length, isReplayable: isReplayable, source: .producer(producer)))
        }
    }

    /// Returns the length in the caller's `Content-Length`, for a body of unknown length.
    private static func announcedLength(_ headers: HTTPHeaders) throws(NetworkError) -> Int? {
        var length: Int?
        for field in headers where field.name.equalsIgnoringASCIICase("Content-Length") {
            let text = field.value
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int(text) else {
                throw NetworkError(
                    .invalidRequest,
                    "the Content-Length header field isn't a number of bytes; remove it"
                )
            }
            try NetworkError.require(
                length == nil || length == count,
                "the Content-Length header fields contradict each other; remove them"
            )
            length = count
        }
        return length
    }

    /// Returns the header fields, and the ones that libcurl must not add.
    private static func lines(_ headers: HTTPHeaders, hasBody: Bool, proxyFields: inout [String]) -> [String] {
        var lines: [String] = []
        lines.reserveCapacity(headers.count + 2)
        var hasContentType = false
        var hasExpect = false
        for field in headers {
            let value = field.value[...].trimmingHTTPWhitespace
            // `Name;` is a field with an empty value, whereas `Name:` removes the field.
            let line = field.name + (value.isEmpty ? ";" : ": " + value)
            // Checking the length first rules out most names cheaply.
            switch field.name.utf8.count {
            case 14 where field.name.equalsIgnoringASCIICase("Content-Length"): continue
            case 19 where field.name.equalsIgnoringASCIICase("Proxy-Authorization"):
                proxyFields.append(line)
                continue
            case 12: hasContentType = hasContentType || field.name.equalsIgnoringASCIICase("Content-Type")
            case 6: hasExpect = hasExpect || field.name.equalsIgnoringASCIICase("Expect")
            default: break
            }
            lines.append(line)
        }
        if hasBody {
            if !hasContentType { lines.append("Content-Type:") }
            if !hasExpect { lines.append("Expect:") }
        }
        return lines
    }
}

extension HTTPMethod {
    /// A Boolean value that indicates whether a request without a body needs `Content-Length: 0`
    /// ([RFC 9110 §8.6](https://www.rfc-editor.org/rfc/rfc9110#section-8.6)).
    var anticipatesContent: Bool { self == .post || self == .put || self == .patch || self == .query }
}
