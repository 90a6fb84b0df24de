public import Foundation
public import FoundationNetworking

/// A response as interceptors and callers see it.
public struct HTTPResponse: Sendable {
    /// The URL that answered: after redirects, the last one.
    public var url: URL
    /// The status code.
    public var status: Int
    /// The protocol version: `HTTP/1.1`, `HTTP/2`.
    public var version: String
    /// The header fields, in order, repeated ones apart.
    public var headers: HTTPHeaders
    /// The body after content decoding; empty if there is none.
    public var body: Data
    /// The redirects that were followed, oldest first.
    public var redirects: [RedirectHop]

    /// Makes a response.
    ///
    /// - Parameters:
    ///   - url: The URL that answered.
    ///   - status: The status code.
    ///   - version: The protocol version.
    ///   - headers: The header fields.
    ///   - body: The body after content decoding.
    ///   - redirects: The redirects that were followed, oldest first.
    public init(
        url: URL,
        status: Int,
        version: String = "HTTP/1.1",
        headers: HTTPHeaders = [:],
        body: Data = Data(),
        redirects: [RedirectHop] = []
    ) {
        self.url = url
        self.status = status
        self.version = version
        self.headers = headers
        self.body = body
        self.redirects = redirects
    }

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

extension HTTPURLResponse {
    /// Whether the status is 200…299.
    public var isSuccessful: Bool { (200...299).contains(statusCode) }
}
