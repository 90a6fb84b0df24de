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
/// server. Errors never contain anything that was sent. Each request can fail with an
/// ``OAuth2Error``: `endpointMissing`, `insecureTransport`, `invalidClient`, `requestRejected`,
/// `serverTransient`, `serverUnreachable` or `protocolViolation`; or, if the caller is cancelled,
/// with a `CancellationError`.
public struct OAuth2Client: Sendable {
    let location: ServerLocation
    /// The client's authentication.
    public let clientAuthentication: any ClientAuthentication
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

    /// The issuer identifier of the server.
    package var issuer: String { location.issuer }

    /// Returns the client with another journal, for an authenticator that counts.
    func recording(in journal: TokenJournal) -> OAuth2Client {
        var client = self
        client.journal = journal
        client.hints = DPoPServerState(timeSource: timing.timeSource, journal: journal)
        return client
    }

    /// Sends a form to an endpoint that authenticates the client, and reads a 2xx response with a
    /// closure, given the secrets that errors can't repeat.
    ///
    /// - Throws: ``OAuth2Error``; `CancellationError` if the task is cancelled.
    func post<Value>(
        _ form: [(name: String, value: String)],
        to endpoint: (AuthorizationServer) -> URL?,
        place: String,
        accepting accepted: String = "application/json",
        read: (HTTPResponse, SentSecrets) async throws -> Value
    ) async throws -> Value {
        let server = try await server
        let url = try endpoint(server).required(place)
        var exchange = EndpointExchange(place: place, url: url, client: client, timing: timing, hints: hints)
        exchange.usesAssertion = clientAuthentication.usesAssertion
        exchange.isOfClient = true
        return try await exchange.value { date in
            var request = TokenRequest(server: server, form: form, endpoint: url)
            try await authenticate(&request, at: date)
            var message = try request.urlRequest
            message.setValue(accepted, forHTTPHeaderField: "Accept")
            return (message, request.secrets)
        } read: {
            try await read($0, $1)
        }
    }

    /// Adds the client's credential and a proof for the DPoP key, if there is one.
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
    /// Returns the endpoint, if the server has it.
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
