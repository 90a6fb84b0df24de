import Foundation
import FoundationNetworking
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
    private let client: NetworkClient
    private let options: Options
    private let hints: DPoPServerState
    private let cache: SingleFlightCache<String, (server: AuthorizationServer, lifetime: Duration)>

    /// Creates a discovery without sending a request.
    ///
    /// - Parameters:
    ///   - issuer: The server's issuer identifier, exactly as the server writes it.
    ///   - client: The network client that sends the requests.
    ///   - options: The options for loading and caching metadata.
    public init(issuer: String, client: NetworkClient = NetworkClient(), options: Options = Options()) {
        self.issuer = issuer
        self.client = client
        self.options = options
        hints = DPoPServerState(timeSource: options.timing.timeSource, journal: TokenJournal())
        // Each load has its own timeout. This one is for loads that ignore it.
        var policy = SingleFlightCache<String, (server: AuthorizationServer, lifetime: Duration)>.Policy(
            timeout: options.timing.timeout * (options.documents.count + 1)
        )
        policy.lifetime = \.lifetime
        policy.staleLifetime = options.staleLifetime
        policy.retryInterval = { ($0 as? OAuth2Error)?.isOutage == true ? options.retryInterval : nil }
        cache = SingleFlightCache(timeSource: options.timing.timeSource, policy: policy)
    }

    /// Returns the server with the endpoints in its metadata.
    ///
    /// - Returns: The server.
    /// - Throws: ``OAuth2Error``: `invalidIssuer`, `insecureTransport`, `issuerMismatch`,
    ///   `serverTransient`, `serverUnreachable`, or `protocolViolation` for an invalid metadata
    ///   document; `CancellationError` if the caller is cancelled while it waits.
    public func server() async throws -> AuthorizationServer {
        do {
            return try await cache.value(for: issuer) { [self] in try await lookUp() }.server
        } catch let error as NetworkError where error.code == .timedOut {
            throw OAuth2Error(.serverUnreachable, "the server metadata request timed out", cause: error)
        }
    }

    /// Makes the next caller reload the metadata, such as after an endpoint has moved.
    ///
    /// If the server is unavailable, the old metadata is still used for `staleLifetime`.
    public func expire() { cache.expire(issuer) }

    private func lookUp() async throws -> (server: AuthorizationServer, lifetime: Duration) {
        var failure = OAuth2Error(.endpointMissing, "the discovery's options name no metadata document")
        for document in options.documents {
            do { return try await read(try document.url(issuer: issuer)) } catch let error as OAuth2Error {
                failure = error
                // Only if the document doesn't exist, try the next one.
                guard let status = error.status, [400, 403, 404, 405, 410].contains(status) else { throw error }
            }
        }
        throw failure
    }

    private func read(_ url: URL) async throws -> (server: AuthorizationServer, lifetime: Duration) {
        let place = "the server metadata's URL"
        let exchange = EndpointExchange(
            place: place,
            url: url,
            client: client,
            timing: options.timing,
            hints: hints
        )
        return try await exchange.value { _ in
            var request = URLRequest(url: url)
            request.setValue("application/json", forHTTPHeaderField: "Accept")
            return (request, .none)
        } read: { response, secrets in
            let metadata = try response.jsonObject(from: place, hiding: secrets)
            let server = try AuthorizationServer(metadata: metadata, issuer: issuer)
            let lifetime =
                CacheLifetime.read(response.headers, at: options.timing.timeSource.date()) ?? options.lifetime
            return (server, min(max(lifetime, options.minimumLifetime), options.maximumLifetime))
        }
    }
}

extension OAuth2Error {
    /// A Boolean value that indicates whether the failure may be temporary.
    ///
    /// Another issuer or an insecure endpoint isn't temporary.
    fileprivate var isOutage: Bool { [.serverTransient, .serverUnreachable, .protocolViolation].contains(code) }
}
