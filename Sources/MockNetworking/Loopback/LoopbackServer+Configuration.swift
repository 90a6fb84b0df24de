public import Networking

extension LoopbackServer {
    /// What a server accepts and where its time comes from.
    public struct Configuration: Sendable {
        /// The largest header section accepted, in octets; a larger one is answered with the status 431.
        ///
        /// 64 KiB by default.
        public var maximumHeaderSize = 64 << 10
        /// The largest number of header fields accepted; more are answered with the status 431.
        ///
        /// 256 by default.
        package var maximumHeaderCount = 256
        /// The largest body accepted, in octets; a larger one is answered with the status 413.
        ///
        /// 64 MiB by default.
        public var maximumBodySize = 64 << 20
        /// What happens when a client sends `Expect: 100-continue`.
        package var continuePolicy = ContinuePolicy.answer
        /// Whether ``LoopbackServer/requests`` keeps what comes; counts are kept anyway.
        package var recordsRequests = true
        /// Whether ``LoopbackServer/connections`` keeps what comes; counts are kept anyway.
        package var recordsConnections = true
        /// What the server shows in TLS handshakes; `nil`, the default, for plain HTTP.
        public var tls: TLS?
        /// Where arrival times come from and how delays are waited for.
        public var time = TimeSource.system

        /// Makes the default configuration.
        public init() {}

        var parserLimits: RequestParser.Limits {
            RequestParser.Limits(
                head: RequestHeadReader.Limits(fields: maximumHeaderSize, fieldCount: maximumHeaderCount),
                body: maximumBodySize
            )
        }
    }

    /// What happens when a client sends `Expect: 100-continue`
    /// ([RFC 9110 §10.1.1](https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1)).
    package struct ContinuePolicy: Sendable, Hashable {
        enum Wrapped: Sendable, Hashable {
            case answer
            case ignore
            case refuse(Int)
        }

        let wrapped: Wrapped

        /// The server answers `100 (Continue)` unless the body is there already.
        package static let answer = Self(wrapped: .answer)
        /// The server waits for the body and says nothing, as old servers do.
        package static let ignore = Self(wrapped: .ignore)

        /// The server answers without having seen the body, and ends the connection; no route is asked.
        ///
        /// - Parameter status: The status code, such as 417 or 401.
        /// - Returns: The policy.
        package static func refuse(_ status: Int) -> Self { Self(wrapped: .refuse(status)) }
    }

    /// Something that was not a well-formed request, or was larger than the limits.
    public struct Rejection: Sendable, Hashable {
        /// The number of the connection; the first that the server accepted is 1.
        public let connection: Int
        /// The status with which it was answered before the connection ended.
        public let status: Int
        /// What was wrong.
        public let reason: String
    }
}
