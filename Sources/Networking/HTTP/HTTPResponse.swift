public import Foundation
public import FoundationNetworking

/// A response as interceptors and callers see it: its head, and its body or a stream of it.
public struct HTTPResponse: Sendable {
    /// The URL that responded: after redirects, the last one.
    public var url: URL
    /// The status code.
    public var status: Int
    /// The protocol version: `HTTP/1.1`, `HTTP/2`.
    public var version: String
    /// The header fields, in order, repeated ones apart.
    public var headers: HTTPHeaders
    /// The body after content decoding.
    ///
    /// It is empty if there is none, and while the body can still be read from ``stream``.
    public var body: Data
    /// The fields after the ``body`` ([RFC 9110 §6.5](https://www.rfc-editor.org/rfc/rfc9110#section-6.5)).
    public var trailers: HTTPHeaders
    /// The redirects that were followed, oldest first.
    public var redirects: [RedirectHop]
    /// The body that is received while it is read; `nil` if it is in ``body``.
    var unread: HTTPResponseBody?

    /// Makes a response.
    ///
    /// - Parameters:
    ///   - url: The URL that responded.
    ///   - status: The status code.
    ///   - version: The protocol version.
    ///   - headers: The header fields.
    ///   - body: The body after content decoding.
    ///   - trailers: The fields after the body.
    ///   - redirects: The redirects that were followed, oldest first.
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
        self.init(
            url: url,
            status: response.status,
            version: response.version,
            headers: response.headers,
            body: response.body,
            trailers: response.trailers,
            redirects: redirects
        )
        unread = response.stream
    }

    /// The body in parts: what ``NetworkClient/stream(_:options:)`` receives, or the ``body`` as one part.
    public var stream: HTTPResponseBody { unread ?? HTTPResponseBody(body, trailers: trailers) }

    /// Whether the status is 200…299.
    public var isSuccessful: Bool { (200...299).contains(status) }

    /// The head of the response as Foundation's type, in which repeated fields are joined by commas.
    public var urlResponse: HTTPURLResponse {
        let fields = Dictionary(headers.map { ($0.name, $0.value) }) { "\($0), \($1)" }
        guard
            let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: version, headerFields: fields)
        else {
            // No argument makes swift-corelibs-foundation return nil; the tests try odd ones.
            fatalError("not a response")  // reason: the initializer is failable in name only
        }
        return response
    }
}

// What the attempt loop does with a response.
extension HTTPResponse {
    /// Whether all requests went to one scheme, host and port, so that the first one's credentials were for the server that responded.
    var isFromFirstOrigin: Bool {
        guard !redirects.isEmpty else { return true }
        let origin = HTTPOrigin(url)
        return redirects.allSatisfy { HTTPOrigin($0.url) == origin }
    }

    /// Takes what an interceptor made of the response.
    ///
    /// A body in it replaces the one that is being received.
    mutating func replace(with response: Self) {
        let unread = unread
        self = response
        if body.isEmpty {
            self.unread = unread
        } else {
            self.unread = nil
            unread?.cancel()
        }
    }

    /// Receives the rest of the body.
    mutating func collect(upTo limit: Int) async throws {
        guard let unread else { return }
        body = try await unread.collect(upTo: limit)
        trailers = unread.trailers
        self.unread = nil
    }
}

extension HTTPURLResponse {
    /// Whether the status is 200…299.
    public var isSuccessful: Bool { (200...299).contains(statusCode) }
}
