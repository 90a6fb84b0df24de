import Foundation
import FoundationNetworking
public import Networking

/// Finds out where a server's endpoints are, and keeps that up to date: from the metadata that it publishes
/// ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414),
/// [OpenID Connect Discovery 1.0](https://openid.net/specs/openid-connect-discovery-1_0.html)).
///
/// ```swift
/// let discovery = AuthorizationServerDiscovery(issuer: "https://id.example")
/// let server = try await discovery.server()
/// ```
///
/// The server is asked when the first caller needs it and when its answer has become old, once for all callers. While it can't be
/// asked, or answers something else, the old answer is good for some time more. Share one discovery for each server.
public final class AuthorizationServerDiscovery: Sendable {
    /// How metadata are looked up and kept.
    public struct Options: Sendable {
        /// Where to look, in this order: the next place is tried where the one before has no document.
        public var documents: [WellKnownDocument] = [.openID, .oauth2]
        /// How long metadata are used if the server does not say; an hour by default.
        public var lifetime: Duration = .seconds(3_600)
        /// How long metadata are used whatever the server says, at least; a minute by default.
        public var minimumLifetime: Duration = .seconds(60)
        /// How long metadata are used whatever the server says, at most; a day by default.
        public var maximumLifetime: Duration = .seconds(86_400)
        /// How long after that they are used while the server can't be asked; a day by default, zero for not at all.
        public var staleLifetime: Duration = .seconds(86_400)
        /// How long nobody asks again after that has failed and old metadata did; 30 seconds by default.
        public var retryInterval: Duration = .seconds(30)
        /// How the server is asked: in 10 seconds at most, twice, by default.
        public var timing = OAuth2Timing(timeout: .seconds(10), attempts: 2)

        /// Makes options.
        public init() {}
    }

    /// The server's issuer identifier.
    public let issuer: String
    private let client: NetworkClient
    private let options: Options
    private let hints: DPoPServerState
    private let cache: SingleFlightCache<String, (server: AuthorizationServer, lifetime: Duration)>

    /// Makes a discovery; nothing is asked yet.
    ///
    /// - Parameters:
    ///   - issuer: The server's issuer identifier, exactly as the server writes it.
    ///   - client: What asks.
    ///   - options: How metadata are looked up and kept.
    public init(issuer: String, client: NetworkClient = NetworkClient(), options: Options = Options()) {
        self.issuer = issuer
        self.client = client
        self.options = options
        hints = DPoPServerState(timeSource: options.timing.timeSource, journal: TokenJournal())
        // Each look-up has its own limit; this is for those that ignore it.
        var policy = SingleFlightCache<String, (server: AuthorizationServer, lifetime: Duration)>.Policy(
            timeout: options.timing.timeout * (options.documents.count + 1)
        )
        policy.lifetime = \.lifetime
        policy.staleLifetime = options.staleLifetime
        policy.retryInterval = { ($0 as? OAuth2Error)?.isOutage == true ? options.retryInterval : nil }
        cache = SingleFlightCache(timeSource: options.timing.timeSource, policy: policy)
    }

    /// The server, as it says it is.
    ///
    /// - Returns: The server.
    /// - Throws: ``OAuth2Error``: `invalidIssuer`, `insecureTransport`, `issuerMismatch`, `serverTransient`, `serverUnreachable`, or
    ///   `protocolViolation` for what is no metadata document; `CancellationError` if the caller is cancelled while it waits.
    public func server() async throws -> AuthorizationServer {
        do {
            return try await cache.value(for: issuer) { [self] in try await lookUp() }.server
        } catch let error as NetworkError where error.code == .timedOut {
            throw OAuth2Error(.serverUnreachable, "the server metadata did not come in time", cause: error)
        }
    }

    /// Makes the next caller ask the server, such as after it has moved an endpoint; until it answers, the old metadata are kept for
    /// the time of an outage.
    public func expire() { cache.expire(issuer) }

    private func lookUp() async throws -> (server: AuthorizationServer, lifetime: Duration) {
        var failure = OAuth2Error(.endpointMissing, "no place is given where the server publishes its metadata")
        for document in options.documents {
            do { return try await read(try document.url(issuer: issuer)) } catch let error as OAuth2Error {
                failure = error
                // Only where there is nothing may the document be elsewhere.
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
    /// Whether a server that said something else before can be taken to be out of order.
    ///
    /// One that names another issuer, or wants to be asked without TLS, is not.
    fileprivate var isOutage: Bool { [.serverTransient, .serverUnreachable, .protocolViolation].contains(code) }
}
