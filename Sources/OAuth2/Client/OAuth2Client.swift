import Foundation
import FoundationNetworking
public import Networking
import TokenGeneration

/// A client of an authorization server, which sends requests to its endpoints.
///
/// ```swift
/// let oauth = OAuth2Client(
///     server: server,
///     clientAuthentication: .clientSecretBasic(clientID: "api", secret: secret)
/// )
/// guard try await oauth.introspect(token).isActive else { return .unauthorized }
/// ```
///
/// The client doesn't keep tokens. Pass the tokens of a user to
/// ``OAuth2Authenticator/signIn(with:)-(IssuedTokens)``. For grants that need no user, an
/// authenticator requests the tokens itself.
///
/// The client retries a request while the server is temporarily failing, for up to
/// ``OAuth2Timing/timeout``. It never follows redirects, which would carry credentials to another
/// server. Errors never show anything that was sent. Each request can fail with an
/// ``OAuth2Error``: `endpointMissing`, `insecureTransport`, `invalidClient`, `requestRejected`,
/// `serverTransient`, `serverUnreachable` or `protocolViolation`; or, if the caller is cancelled,
/// with a `CancellationError`.
public struct OAuth2Client: Sendable {
    let location: ServerLocation
    package let clientAuthentication: any ClientAuthentication
    let client: NetworkClient
    var timing: OAuth2Timing
    var hints: DPoPServerState
    var journal: TokenJournal
    let key: ClientKey
    let refreshes: ClientRefreshes

    /// Creates a client of a known server.
    ///
    /// - Parameters:
    ///   - server: The server. If the client presents a certificate for a purpose other than
    ///     authentication, pass ``AuthorizationServer/usingMutualTLSAliases()``.
    ///   - clientAuthentication: The client's authentication.
    ///   - dpop: The key that tokens are bound to
    ///     ([RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)). The default, `nil`, requests
    ///     bearer tokens.
    ///   - client: The network client that sends the requests. Don't add an authenticator of the
    ///     same tokens to its interceptors.
    ///   - timing: The timeout of a call, the number of attempts, and the clock.
    public init(
        server: AuthorizationServer,
        clientAuthentication: any ClientAuthentication,
        dpop: DPoPKey? = nil,
        client: NetworkClient = NetworkClient(),
        timing: OAuth2Timing = OAuth2Timing()
    ) {
        self.init(.known(server), clientAuthentication, dpop, client, timing)
    }

    /// Creates a client that discovers its server when it needs it first.
    ///
    /// A service can therefore start while the server is down. If the discovery fails, so does the
    /// request that needs it, and the next one tries again. Concurrent requests share one
    /// discovery.
    ///
    /// - Parameters:
    ///   - discovery: The discovery of the server.
    ///   - clientAuthentication: The client's authentication.
    ///   - dpop: The key that tokens are bound to. The default, `nil`, requests bearer tokens.
    ///   - client: The network client that sends the requests. Don't add an authenticator of the
    ///     same tokens to its interceptors.
    ///   - timing: The timeout of a call, the number of attempts, and the clock.
    public init(
        discovery: AuthorizationServerDiscovery,
        clientAuthentication: any ClientAuthentication,
        dpop: DPoPKey? = nil,
        client: NetworkClient = NetworkClient(),
        timing: OAuth2Timing = OAuth2Timing()
    ) {
        self.init(.discovered(discovery), clientAuthentication, dpop, client, timing)
    }

    private init(
        _ location: ServerLocation,
        _ clientAuthentication: any ClientAuthentication,
        _ dpop: DPoPKey?,
        _ client: NetworkClient,
        _ timing: OAuth2Timing
    ) {
        self.location = location
        self.clientAuthentication = clientAuthentication
        self.client = client
        self.timing = timing
        journal = TokenJournal(client.options.observers)
        hints = DPoPServerState(timeSource: timing.timeSource, journal: journal)
        key = ClientKey(dpop)
        refreshes = ClientRefreshes(timeSource: timing.timeSource)
    }

    /// The server, with its endpoints for certificates if the client authenticates with one.
    ///
    /// - Throws: The ``OAuth2Error`` of ``AuthorizationServerDiscovery/server()`` if it can't be
    ///   discovered. A known server throws nothing.
    public var server: AuthorizationServer {
        get async throws(OAuth2Error) {
            let server = try await location.server()
            return clientAuthentication.usesMutualTLS ? server.usingMutualTLSAliases() : server
        }
    }

    package var issuer: String { location.issuer }

    /// Returns the client with another journal, for an authenticator that counts.
    func recording(in journal: TokenJournal) -> OAuth2Client {
        var client = self
        client.journal = journal
        client.hints = DPoPServerState(timeSource: timing.timeSource, journal: journal)
        return client
    }

    /// Sends a form with the client's authentication, and reads a 2xx response with a closure.
    func post<Value>(
        _ form: [(name: String, value: String)],
        to endpoint: (AuthorizationServer) -> URL?,
        place: String,
        accepting accepted: String = "application/json",
        read: (HTTPResponse) async throws -> Value
    ) async throws -> Value {
        let server = try await server
        let url = try endpoint(server).required(place)
        var exchange = EndpointExchange(place: place, url: url, client: client, timing: timing, hints: hints)
        exchange.usesAssertion = clientAuthentication.usesAssertion
        exchange.credential = .client
        do {
            return try await exchange.value { date in
                var request = TokenRequest(server: server, form: form, endpoint: url)
                try await authenticate(&request, at: date)
                var message = try request.urlRequest
                message.setValue(accepted, forHTTPHeaderField: "Accept")
                return message
            } read: {
                try await read($0)
            }
        } catch let error as OAuth2Error {
            throw clientAuthentication.explaining(error)
        }
    }

    func authenticate(
        _ request: inout TokenRequest,
        at date: Date,
        proof: DPoPProofGenerator? = nil,
        nonce: String? = nil
    ) async throws(OAuth2Error) {
        try clientAuthentication.checkCertificate(of: client)
        do {
            try await clientAuthentication.authenticate(&request, at: date)
            guard let proof else { return }
            request.headers["DPoP"] = try proof.proof(
                method: "POST",
                url: request.endpoint.absoluteString,
                nonce: nonce,
                date: date
            )
        } catch {
            request.assertionUse?.release()
            throw error as? OAuth2Error
                ?? OAuth2Error(.assertionFailed, "the client's credential can't be created", cause: error)
        }
    }
}

extension URL? {
    func required(_ place: String) throws(OAuth2Error) -> URL {
        guard let self else {
            throw OAuth2Error(
                .endpointMissing,
                "the URL of \(place) isn't known; the server has none, or AuthorizationServer was created without it"
            )
        }
        return self
    }
}

/// The timeout of requests to an authorization server, the number of attempts, and the clock.
///
/// ```swift
/// let oauth = OAuth2Client(
///     server: server,
///     clientAuthentication: authentication,
///     timing: .init(timeout: .seconds(10))
/// )
/// ```
public struct OAuth2Timing: Sendable {
    /// The maximum time for a call or for getting a token, including all attempts.
    ///
    /// The default is 30 seconds. The callers' own deadlines don't change it.
    public var timeout: Duration
    /// The maximum number of attempts within the timeout.
    ///
    /// The default is 3; the minimum is 1.
    public var attempts: Int
    /// The time to wait before sending a refresh token again if its response was lost.
    ///
    /// The default is 20 seconds.
    ///
    /// The first request may still be on its way, and servers treat the reuse of a refresh token as
    /// theft. Use a shorter delay only for servers that tolerate reuse or don't rotate the tokens.
    ///
    /// If hosts share a token, no other host sends it for this long after one has announced a
    /// refresh. The announcing host sends within a quarter of it, with a request timeout of a half.
    public var lostRequestDelay: Duration
    /// The server's treatment of refresh tokens that are used twice.
    ///
    /// The default is ``RefreshTokenRotation/rotating(grace:)`` without a grace period, which is
    /// correct for every server.
    public var rotation: RefreshTokenRotation
    /// The time that a resource server may need to recognize a new token.
    ///
    /// The default is `nil`: it recognizes tokens immediately.
    ///
    /// If the resource server rejects a request within two seconds after its token was issued, the
    /// client sends the request once more with the same token after this time.
    public var replicationDelay: Duration?
    /// The longest pause that the client accepts from a token endpoint's `Retry-After`.
    ///
    /// The default is 5 minutes.
    public var longestRetryAfter: Duration
    /// The source of time.
    ///
    /// Use the same one for the network clients that send the requests.
    public var timeSource: TimeSource
    /// The source of random numbers from 0 through 1, which spread the load of many clients.
    public var random: @Sendable () -> Double

    /// Creates timing options.
    public init(
        timeout: Duration = .seconds(30),
        attempts: Int = 3,
        lostRequestDelay: Duration = .seconds(20),
        rotation: RefreshTokenRotation = .rotating(),
        replicationDelay: Duration? = nil,
        longestRetryAfter: Duration = .seconds(300),
        timeSource: TimeSource = .system,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
    ) {
        self.timeout = timeout
        self.attempts = attempts
        self.lostRequestDelay = lostRequestDelay
        self.rotation = rotation
        self.replicationDelay = replicationDelay
        self.longestRetryAfter = longestRetryAfter
        self.timeSource = timeSource
        self.random = random
    }
}
