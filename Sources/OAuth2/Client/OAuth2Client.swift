import Foundation
import FoundationNetworking
public import Networking

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
/// with a `NetworkError` with the code `cancelled` or `CancellationError`.
public struct OAuth2Client: Sendable {
    /// The server.
    public let server: AuthorizationServer
    /// The client's authentication.
    public let clientAuthentication: any ClientAuthentication
    let client: NetworkClient
    let timing: OAuth2Timing
    let hints: DPoPServerState
    let key: ClientKey
    let refreshes: ClientRefreshes

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - server: The server. If the client presents a certificate for a purpose other than
    ///     authentication, pass ``AuthorizationServer/usingMutualTLSAliases()``.
    ///   - clientAuthentication: The client's authentication.
    ///   - dpop: The key that tokens are bound to. The default, `nil`, requests bearer tokens.
    ///   - client: The network client that sends the requests.
    ///   - timing: The timeout of a call, the number of attempts, and the clock.
    public init(
        server: AuthorizationServer,
        clientAuthentication: any ClientAuthentication,
        dpop: DPoPKey? = nil,
        client: NetworkClient = NetworkClient(),
        timing: OAuth2Timing = OAuth2Timing()
    ) {
        self.server = clientAuthentication.usesMutualTLS ? server.usingMutualTLSAliases() : server
        self.clientAuthentication = clientAuthentication
        self.client = client
        self.timing = timing
        hints = DPoPServerState(timeSource: timing.timeSource, journal: TokenJournal(client.options.observers))
        key = ClientKey(dpop)
        refreshes = ClientRefreshes(timeSource: timing.timeSource)
    }

    /// Sends a form to an endpoint that authenticates the client, and reads a 2xx response with a
    /// closure, given the secrets that errors can't repeat.
    ///
    /// - Throws: ``OAuth2Error``; `NetworkError` with the code `cancelled`, or `CancellationError`.
    func post<Value>(
        _ form: [(name: String, value: String)],
        to endpoint: URL?,
        place: String,
        accepting accepted: String = "application/json",
        read: (HTTPResponse, SentSecrets) async throws -> Value
    ) async throws -> Value {
        let url = try endpoint.required(place)
        let exchange = EndpointExchange(
            place: place,
            url: url,
            client: client,
            timing: timing,
            hints: hints,
            usesAssertion: clientAuthentication.usesAssertion,
            isOfClient: true
        )
        try clientAuthentication.checkCertificate(of: client)
        return try await exchange.value { date in
            var request = TokenRequest(server: server, form: form, endpoint: url)
            do {
                try await clientAuthentication.authenticate(&request, at: date)
            } catch let error as OAuth2Error {
                throw error
            } catch {
                throw OAuth2Error(.assertionFailed, "the client's credential can't be created", cause: error)
            }
            var message = try request.urlRequest
            message.setValue(accepted, forHTTPHeaderField: "Accept")
            return (message, request.secrets)
        } read: {
            try await read($0, $1)
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
