public import Foundation

/// A response whose body is received while it is read.
public struct HTTPResponseStream: Sendable {
    /// The URL that answered: after redirects, the last one.
    public var url: URL
    /// The status code.
    public var status: Int
    /// The protocol version: `HTTP/1.1`, `HTTP/2`.
    public var version: String
    /// The header fields, in order, repeated ones apart.
    public var headers: HTTPHeaders
    /// The redirects that were followed, oldest first.
    public var redirects: [RedirectHop]
    /// The body after content decoding, received while it is read.
    public var body: HTTPResponseBody

    init(_ received: Received) {
        let head = received.response
        url = head.url
        status = head.status
        version = head.version
        headers = head.headers
        redirects = head.redirects
        body = received.stream ?? HTTPResponseBody(head.body)
    }
}
