public import Foundation
public import Networking

/// A request as the loopback server received it, whole.
public struct LoopbackRequest: Sendable {
    /// The method.
    public let method: HTTPMethod
    /// The request target as it was sent: usually a path and a query.
    public let target: String
    /// The header fields in the order in which they came.
    public let headers: HTTPHeaders
    /// The fields that came after a chunked body.
    public let trailers: HTTPHeaders
    /// The body, without the chunked coding.
    public let body: Data
    /// The protocol version, `HTTP/1.1` or `HTTP/1.0`.
    public let version: String
    /// The number of the connection it came on: the first that the server accepted is 1.
    public let connection: Int
    /// When the request was whole.
    public let arrival: ContinuousClock.Instant
    /// The certificate that the client showed in the TLS handshake, as DER; `nil` if it showed none.
    public let clientCertificateDER: Data?

    /// The path as it was sent, percent-escapes kept, without the query.
    ///
    /// For the absolute form, which is sent to a proxy, it is the path in the URL. For a target that has no path
    /// (`CONNECT` and `OPTIONS *`) it is the whole target.
    public var path: String {
        let target = originForm
        return String(target.prefix { $0 != "?" })
    }

    /// The query as it was sent, without the question mark; `nil` if there is none.
    public var query: String? {
        let target = originForm
        return target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) }
    }

    /// The names and values in the query, in order, decoded as servers usually do: `+` is a space.
    public var queryItems: [URLQueryItem] {
        query.map { FormText.items(in: $0.utf8) } ?? []
    }

    /// The names and values in an `application/x-www-form-urlencoded` body, in order.
    ///
    /// The `Content-Type` isn't looked at.
    public var formItems: [URLQueryItem] {
        FormText.items(in: body)
    }

    /// The first value of a name in the query.
    ///
    /// - Parameter name: The name, decoded.
    /// - Returns: The value; `nil` if the name isn't there.
    public func queryValue(_ name: String) -> String? {
        queryItems.first { $0.name == name }?.value
    }

    /// The first value of a name in the body's form.
    ///
    /// - Parameter name: The name, decoded.
    /// - Returns: The value; `nil` if the name isn't there.
    public func formValue(_ name: String) -> String? {
        formItems.first { $0.name == name }?.value
    }

    private var originForm: Substring {
        guard !target.hasPrefix("/"), let scheme = target.range(of: "://") else { return target[...] }
        let rest = target[scheme.upperBound...]
        return rest.firstIndex { $0 == "/" || $0 == "?" }.map { rest[$0...] } ?? "/"
    }
}

extension LoopbackRequest {
    init(
        _ message: RequestParser.Message,
        connection: Int,
        arrival: ContinuousClock.Instant,
        clientCertificateDER: Data? = nil
    ) {
        method = message.head.method
        target = message.head.target
        headers = message.head.headers
        trailers = message.trailers
        body = Data(message.body)
        version = message.head.minorVersion == 1 ? "HTTP/1.1" : "HTTP/1.0"
        self.connection = connection
        self.arrival = arrival
        self.clientCertificateDER = clientCertificateDER
    }
}
