public import Networking

extension LoopbackServer {
    /// The limits, TLS settings and time source of a server.
    public struct Configuration: Sendable {
        /// The maximum size of a request header in bytes, beyond which the status is 431; 64 KiB by
        /// default.
        public var maximumHeaderSize = 64 << 10
        /// The maximum number of header fields, beyond which the status is 431; 256 by default.
        package var maximumHeaderCount = 256
        /// The maximum size of a body in bytes, beyond which the status is 413; 64 MiB by default.
        public var maximumBodySize = 64 << 20
        /// The server's behavior for `Expect: 100-continue`.
        package var continuePolicy = ContinuePolicy.answer
        /// A Boolean value that indicates whether ``LoopbackServer/requests`` records requests;
        /// they are counted in any case.
        package var recordsRequests = true
        /// A Boolean value that indicates whether ``LoopbackServer/connections`` records
        /// connections; they are counted in any case.
        package var recordsConnections = true
        /// The TLS settings; with `nil`, the default, the server uses plain HTTP.
        public var tls: TLS?
        /// The time source for arrival times and delays.
        public var time = TimeSource.system

        /// Creates the default configuration.
        public init() {}

        var parserLimits: RequestParser.Limits {
            RequestParser.Limits(
                head: RequestHeadReader.Limits(fields: maximumHeaderSize, fieldCount: maximumHeaderCount),
                body: maximumBodySize
            )
        }
    }

    /// The server's behavior for `Expect: 100-continue`
    /// ([RFC 9110 §10.1.1](https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1)).
    package enum ContinuePolicy: Sendable, Hashable {
        /// Responds with `100 (Continue)` unless the body has already arrived.
        case answer
        /// Waits for the body without a response, like old servers.
        case ignore
        /// Responds with a status code, such as 417 or 401, without reading the body or calling a
        /// route, and closes the connection.
        case refuse(Int)
    }

    /// A request that the server rejected because it was malformed or exceeded a limit.
    public struct Rejection: Sendable, Hashable {
        /// The number of the connection; the first connection has the number 1.
        public let connection: Int
        /// The status code of the response, after which the server closed the connection.
        public let status: Int
        /// The reason for the rejection.
        public let reason: String
    }
}
