import Foundation
import FoundationNetworking
public import Networking
import TokenGeneration

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
/// once for all callers, with a conditional request if the server sent an `ETag` or a
/// `Last-Modified`. If the server is unavailable or sends an invalid response, the discovery
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
        /// The bounds of the lifetime that a server can specify.
        ///
        /// The default is one minute to one day.
        public var lifetimeBounds: ClosedRange<Duration> = .seconds(60) ... .seconds(86_400)
        /// The time to use expired metadata while the server is unavailable.
        ///
        /// The default is one day. Zero disables it.
        public var staleLifetime: Duration = .seconds(86_400)
        /// The time to wait before the next attempt while expired metadata is in use.
        package var retryInterval: Duration = .seconds(30)
        /// The timeout and the number of attempts.
        ///
        /// The default is 10 seconds and two attempts.
        public var timing = OAuth2Timing(timeout: .seconds(10), attempts: 2)

        /// Creates the default options.
        public init() {}
    }

    package let issuer: String
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

enum ServerLocation: Sendable {
    case known(AuthorizationServer)
    case discovered(AuthorizationServerDiscovery)

    var issuer: String {
        switch self {
        case .known(let server): server.issuer
        case .discovered(let discovery): discovery.issuer
        }
    }

    func server() async throws(OAuth2Error) -> AuthorizationServer {
        switch self {
        case .known(let server): return server
        case .discovered(let discovery):
            do { return try await discovery.server() } catch {
                throw error as? OAuth2Error
                    ?? OAuth2Error(.serverUnreachable, "the server metadata can't be loaded", cause: error)
            }
        }
    }
}

/// A cache of a value from an issuer's published metadata, which loads and refreshes it.
final class MetadataSource<Value: Sendable>: Sendable {
    private let issuer: String
    private let client: NetworkClient
    private let options: AuthorizationServerDiscovery.Options
    private let parse: @Sendable (JSONObject, String) throws(OAuth2Error) -> Value
    private let hints: DPoPServerState
    private let cache: SingleFlightCache<String, FetchedDocument<Value>>

    init(
        issuer: String,
        client: NetworkClient,
        options: AuthorizationServerDiscovery.Options,
        parse: @escaping @Sendable (JSONObject, String) throws(OAuth2Error) -> Value
    ) {
        self.issuer = issuer
        self.client = client
        self.options = options
        self.parse = parse
        hints = DPoPServerState(timeSource: options.timing.timeSource, journal: TokenJournal(client.options.observers))
        // Each load has its own timeout. This one is for loads that ignore it.
        var policy = SingleFlightCache<String, FetchedDocument<Value>>.Policy(
            timeout: options.timing.timeout * (options.documents.count + 1)
        )
        policy.timeoutError = {
            OAuth2Error(.serverUnreachable, "the server metadata request timed out", cause: $0)
        }
        policy.lifetime = { document in
            let lifetime = document.lifetime(at: options.timing.timeSource.date()) ?? options.lifetime
            return min(max(lifetime, options.lifetimeBounds.lowerBound), options.lifetimeBounds.upperBound)
        }
        policy.staleLifetime = options.staleLifetime
        policy.pause = { error, _ in (error as? OAuth2Error)?.isOutage == true ? options.retryInterval : nil }
        cache = SingleFlightCache(timeSource: options.timing.timeSource, policy: policy)
    }

    func value() async throws -> Value {
        try await cache.value(for: issuer) { [self] in try await document(after: $0) }.content
    }

    func expire() { cache.expire(issuer) }

    private func document(after latest: FetchedDocument<Value>?) async throws -> FetchedDocument<Value> {
        var failure = OAuth2Error(.endpointMissing, "the discovery's options name no metadata document")
        for document in options.documents {
            do {
                let exchange = EndpointExchange(
                    place: "the server metadata's URL",
                    url: try document.url(issuer: issuer),
                    client: client,
                    timing: options.timing,
                    hints: hints
                )
                return try await exchange.document(after: latest) { try parse($0, issuer) }
            } catch let error as OAuth2Error {
                failure = error
                // Only if the document doesn't exist, try the next one.
                guard error.isMissingDocument else { throw error }
            }
        }
        throw failure
    }
}

extension EndpointExchange {
    /// Gets the JSON object at the URL, unless the server confirms the latest document.
    func document<Content: Sendable>(
        after latest: FetchedDocument<Content>? = nil,
        _ read: (JSONObject) throws -> Content
    ) async throws -> FetchedDocument<Content> {
        try await value { _ in
            FetchedDocument.request(for: url, accept: "application/json", after: latest)
        } read: { response in
            try await FetchedDocument(response, from: url, after: latest, at: timing.timeSource.date()) { response in
                try read(try response.jsonObject(from: place))
            }
        }
    }
}

extension OAuth2Error {
    var isMissingDocument: Bool { status.map { [400, 403, 404, 405, 410].contains($0) } ?? false }

    /// Another issuer or an insecure endpoint isn't temporary.
    fileprivate var isOutage: Bool { [.serverTransient, .serverUnreachable, .protocolViolation].contains(code) }
}
