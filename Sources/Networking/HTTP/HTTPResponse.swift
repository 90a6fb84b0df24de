public import Foundation
public import FoundationNetworking

/// An HTTP response with its body, or with a stream of it.
public struct HTTPResponse: Sendable {
    /// The URL that responded, after any redirects.
    public var url: URL
    /// The status code.
    public var status: Int
    /// The protocol version, such as `HTTP/1.1` or `HTTP/2`.
    public var version: String
    /// The header fields, in order; repeated fields are separate.
    public var headers: HTTPHeaders
    /// The decoded body, without its content coding.
    ///
    /// It's empty for a response without a body, and until the body is read from ``stream``.
    public var body: Data
    /// The trailer fields ([RFC 9110 §6.5](https://www.rfc-editor.org/rfc/rfc9110#section-6.5)).
    public var trailers: HTTPHeaders
    /// The redirects that the client followed, oldest first.
    public var redirects: [RedirectHop]
    /// The way in which a ``CacheInterceptor`` answered; `nil` if the response is the server's.
    public internal(set) var cacheUse: CacheUse?
    /// The unread body of a streamed response; `nil` if it's in ``body``.
    var unread: HTTPResponseBody?
    /// A Boolean value that indicates whether the transport removed a content coding from the body,
    /// so that the response's digests aren't about these bytes.
    package var isDecoded = false

    /// Creates a response.
    public init(
        url: URL,
        status: Int,
        version: String = "HTTP/1.1",
        headers: HTTPHeaders = [:],
        body: Data = Data(),
        trailers: HTTPHeaders = [:],
        redirects: [RedirectHop] = []
    ) {
        self.url = url
        self.status = status
        self.version = version
        self.headers = headers
        self.body = body
        self.trailers = trailers
        self.redirects = redirects
    }

    init(_ response: HTTPTransportResponse, from url: URL, redirects: [RedirectHop] = []) {
        self.url = url
        status = response.status
        version = response.version
        headers = response.headers
        body = response.body
        trailers = response.trailers
        self.redirects = redirects
        unread = response.stream
        isDecoded = response.isDecoded
    }

    /// The body in parts, as from ``NetworkClient/stream(_:options:)``, or ``body`` as one part.
    public var stream: HTTPResponseBody { unread ?? HTTPResponseBody(body, trailers: trailers) }

    /// A Boolean value that indicates whether the status is 200…299.
    public var isSuccessful: Bool { (200...299).contains(status) }

    /// The header of the response as Foundation's type, which joins repeated fields with commas.
    ///
    /// It has no field whose name isn't a token, and no `Content-Type` or `Content-Disposition` of
    /// more than 8 KiB: Foundation would need quadratic time for them.
    public var urlResponse: HTTPURLResponse {
        let repeated = Dictionary(grouping: headers.filter { HTTPSyntax.isToken($0.name) }) { $0.name.lowercased() }
        var fields: [String: String] = [:]
        for (name, repeated) in repeated {
            let value = repeated.map(\.value).joined(separator: ", ")
            let isParsed = name == "content-type" || name == "content-disposition"
            if !isParsed || value.utf8.count <= 8_192 { fields[repeated[0].name] = value }
        }
        guard
            let response = HTTPURLResponse(
                url: url,
                statusCode: status,
                httpVersion: version,
                headerFields: fields
            )
        else {
            // swift-corelibs-foundation never returns nil here; the tests cover unusual arguments.
            fatalError("not a response")  // reason: the initializer never fails
        }
        return response
    }
    var isFromFirstOrigin: Bool {
        guard !redirects.isEmpty else { return true }
        let origin = HTTPOrigin(url)
        return redirects.allSatisfy { HTTPOrigin($0.url) == origin }
    }

    mutating func collect(upTo limit: Int) async throws {
        guard let unread else { return }
        body = try await unread.collect(upTo: limit)
        trailers = unread.trailers
        self.unread = nil
    }
}

extension HTTPURLResponse {
    /// A Boolean value that indicates whether the status is 200…299.
    public var isSuccessful: Bool { (200...299).contains(statusCode) }
}

/// The class of a status code ([RFC 9110 §15](https://www.rfc-editor.org/rfc/rfc9110#section-15)).
@nonexhaustive
public enum HTTPStatusClass: Sendable, Hashable {
    /// 1xx: the request was received, and a final response follows.
    case informational
    /// 2xx: the request was received, understood and accepted.
    case successful
    /// 3xx: the request needs further action.
    case redirection
    /// 4xx: the request is invalid or can't be fulfilled.
    case clientError
    /// 5xx: the server failed to fulfill an apparently valid request.
    case serverError
    /// A number that isn't an HTTP status code.
    case unknown

    package init(status: Int) {
        switch status {
        case 100...199: self = .informational
        case 200...299: self = .successful
        case 300...399: self = .redirection
        case 400...499: self = .clientError
        case 500...599: self = .serverError
        default: self = .unknown
        }
    }
}

extension HTTPResponse {
    /// The class of the status.
    public var statusClass: HTTPStatusClass { HTTPStatusClass(status: status) }
}
