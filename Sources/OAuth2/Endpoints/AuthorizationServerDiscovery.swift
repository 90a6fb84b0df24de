public import Networking

/// A cache of a server's published metadata, which it loads and refreshes
/// ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414),
/// [OpenID Connect Discovery 1.0](https://openid.net/specs/openid-connect-discovery-1_0.html)).
///
/// ```swift
/// let discovery = AuthorizationServerDiscovery(issuer: "https://id.example")
/// let server = try await discovery.server()
/// ```
///
/// The discovery loads the metadata when the first caller needs it and again after it has expired,
/// once for all callers. If the server is unavailable or sends an invalid response, the discovery
/// continues to use the expired metadata for a limited time. Share one discovery for each server.
public final class AuthorizationServerDiscovery: Sendable {
    /// The options for loading and caching metadata.
    public struct Options: Sendable {
        /// The documents to try, in this order, until one exists.
        public var documents: [WellKnownDocument] = [.openID, .oauth2]
        /// The lifetime of metadata if the server doesn't specify one.
        ///
        /// The default is one hour.
        public var lifetime: Duration = .seconds(3_600)
        /// The minimum lifetime of metadata, regardless of the server's value.
        ///
        /// The default is one minute.
        public var minimumLifetime: Duration = .seconds(60)
        /// The maximum lifetime of metadata, regardless of the server's value.
        ///
        /// The default is one day.
        public var maximumLifetime: Duration = .seconds(86_400)
        /// The time to use expired metadata while the server is unavailable.
        ///
        /// The default is one day. Zero disables it.
        public var staleLifetime: Duration = .seconds(86_400)
        /// The time to wait before the next attempt while expired metadata is in use.
        ///
        /// The default is 30 seconds.
        public var retryInterval: Duration = .seconds(30)
        /// The timeout and the number of attempts.
        ///
        /// The default is 10 seconds and two attempts.
        public var timing = OAuth2Timing(timeout: .seconds(10), attempts: 2)

        /// Creates the default options.
        public init() {}
    }

    /// The server's issuer identifier.
    public let issuer: String
    private let source: MetadataSource<AuthorizationServer>

    /// Creates a discovery without sending a request.
    ///
    /// - Parameters:
    ///   - issuer: The server's issuer identifier, exactly as the server writes it.
    ///   - client: The network client that sends the requests.
    ///   - options: The options for loading and caching metadata.
    public init(issuer: String, client: NetworkClient = NetworkClient(), options: Options = Options()) {
        self.issuer = issuer
        source = MetadataSource(
            issuer: issuer,
            client: client,
            options: options,
            parse: AuthorizationServer.init(metadata:issuer:)
        )
    }

    /// Returns the server with the endpoints in its metadata.
    ///
    /// - Returns: The server.
    /// - Throws: ``OAuth2Error``: `invalidIssuer`, `insecureTransport`, `issuerMismatch`,
    ///   `serverTransient`, `serverUnreachable`, or `protocolViolation` for an invalid metadata
    ///   document; `CancellationError` if the caller is cancelled while it waits.
    public func server() async throws -> AuthorizationServer { try await source.value() }

    /// Makes the next caller reload the metadata, such as after an endpoint has moved.
    ///
    /// If the server is unavailable, the old metadata is still used for `staleLifetime`.
    public func expire() { source.expire() }
}
