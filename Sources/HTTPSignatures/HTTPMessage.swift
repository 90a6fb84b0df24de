import Foundation
public import FoundationNetworking
public import Networking
public import TokenGeneration

/// A request or response without its content, as its signer or verifier knows it.
///
/// Signatures cover components of a message
/// ([RFC 9421 §2](https://www.rfc-editor.org/rfc/rfc9421#section-2)). The values come only from
/// here, so the creator of a message decides whom to trust. In particular, the URL must be the one
/// that the client used. Behind a proxy, take its origin from the configuration:
///
/// ```swift
/// let message = HTTPMessage(
///     method: request.method,
///     target: request.target,
///     at: "https://api.example",
///     headers: request.headers
/// )
/// ```
public struct HTTPMessage: Sendable, Redacted {
    indirect enum Start: Sendable {
        case request(method: HTTPMethod, url: String, target: String?)
        case response(status: Int, request: HTTPMessage?)
    }

    let start: Start
    /// The header fields, with repeated fields kept separate.
    public var headers: HTTPHeaders
    /// The trailer fields, if they are known.
    public var trailers: HTTPHeaders
    /// A Boolean value that indicates whether repeated fields may look like one with commas.
    var hasCombinedFields = false

    /// The method and the URL without its query, or the status, and the names of the header fields.
    public var description: String {
        let names = headers.map(\.name).joined(separator: ", ")
        switch start {
        case .request(let method, let url, _):
            return "\(method) \(String(url.unicodeScalars.prefix { $0 != "?" && $0 != "#" })) with \(names)"
        case .response(let status, _): return "\(status) with \(names)"
        }
    }
}

extension HTTPMessage {
    /// Creates a request with its absolute URL.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The absolute URL as the client sends it, without a fragment.
    ///   - headers: The header fields, with repeated fields kept separate.
    ///   - trailers: The trailer fields. The default is empty.
    public init(method: HTTPMethod, url: String, headers: HTTPHeaders, trailers: HTTPHeaders = [:]) {
        self.init(start: .request(method: method, url: url, target: nil), headers: headers, trailers: trailers)
    }

    /// Creates a request that a server received.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - target: The request target as received, such as `/orders?open=1`. Of an absolute URL,
    ///     only the path and the query are used.
    ///   - origin: The scheme and host by which clients know the server, such as
    ///     `https://api.example`, from the configuration. Never take it from `Forwarded` or
    ///     `X-Forwarded-Host`, which clients can set.
    ///   - headers: The header fields, with repeated fields kept separate.
    ///   - trailers: The trailer fields. The default is empty.
    public init(
        method: HTTPMethod,
        target: String,
        at origin: String,
        headers: HTTPHeaders,
        trailers: HTTPHeaders = [:]
    ) {
        let url = origin + TargetURI.pathAndQuery(of: target)
        self.init(start: .request(method: method, url: url, target: target), headers: headers, trailers: trailers)
    }

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The header fields, with repeated fields kept separate.
    ///   - trailers: The trailer fields. The default is empty.
    ///   - request: The request that caused the response, as it was sent, for components with
    ///     `req`.
    public init(status: Int, headers: HTTPHeaders, trailers: HTTPHeaders = [:], request: HTTPMessage?) {
        self.init(start: .response(status: status, request: request), headers: headers, trailers: trailers)
    }

    /// Creates a request from a `URLRequest`, for example in a test.
    ///
    /// The result is `nil` if the request has no URL or no method.
    ///
    /// - Parameter request: The request, in which repeated fields look like one with commas.
    public init?(_ request: URLRequest) {
        guard let url = request.url, let method = HTTPMethod(request.httpMethod ?? "GET") else { return nil }
        let fields = (request.allHTTPHeaderFields ?? [:]).map { HTTPHeaders.Field(name: $0.key, value: $0.value) }
        self.init(method: method, url: TargetURI.sent(url.absoluteString, host: nil), headers: HTTPHeaders(fields))
        hasCombinedFields = true
    }

    init(_ request: HTTPRequest) {
        let url = TargetURI.sent(request.url.absoluteString, host: request.headers["Host"])
        self.init(method: request.method, url: url, headers: request.headers)
    }

    package var isRequest: Bool {
        if case .request = start { true } else { false }
    }

    /// `nil` for a request, or if it's unknown.
    var request: HTTPMessage? {
        if case .response(_, let request) = start { request } else { nil }
    }

    func setting(_ fields: HTTPHeaders) -> Self {
        var message = self
        for field in fields { message.headers[field.name] = field.value }
        return message
    }
}
