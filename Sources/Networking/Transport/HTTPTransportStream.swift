/// A response whose body is received while it is read.
public struct HTTPTransportStream: Sendable {
    /// The status code, 200…999.
    public var status: Int
    /// The protocol version, such as `HTTP/1.1` or `HTTP/2`; empty if the transport can't tell.
    public var version: String
    /// The header fields, in order, repeated ones apart.
    public var headers: HTTPHeaders
    /// The body after content decoding.
    public var body: HTTPResponseBody

    /// Makes a response.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - version: The protocol version.
    ///   - headers: The header fields, in order.
    ///   - body: The body after content decoding.
    public init(status: Int, version: String = "HTTP/1.1", headers: HTTPHeaders = [:], body: HTTPResponseBody) {
        self.status = status
        self.version = version
        self.headers = headers
        self.body = body
    }
}
