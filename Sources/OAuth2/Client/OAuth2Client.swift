import Foundation
public import Networking

/// A client of an authorization server: asks its endpoints, each once.
///
/// ```swift
/// let oauth = OAuth2Client(server: server, clientAuthentication: .clientSecretBasic(clientID: "api", secret: secret))
/// guard try await oauth.introspect(token).isActive else { return .unauthorized }
/// ```
///
/// It keeps no tokens: ``OAuth2Authenticator/signIn(with:)-(IssuedTokens)`` goes on with those that it gets, and an authenticator gets
/// by itself those that need nobody's help.
///
/// Requests are repeated while the server fails for the moment, for as long as ``OAuth2Timing/timeout`` allows. Redirects are never
/// followed: they would carry credentials to wherever they point. Nothing that was sent is in an error.
public struct OAuth2Client: Sendable {
    /// The server.
    public let server: AuthorizationServer
    /// How the client proves who it is.
    public let clientAuthentication: any ClientAuthentication
    let client: NetworkClient
    let timing: OAuth2Timing
    let hints: DPoPServerState
    let key: ClientKey
    let refreshes: ClientRefreshes

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - server: The server. For a client that shows a certificate for other reasons than to authenticate, take
    ///     ``AuthorizationServer/usingMutualTLSAliases()``.
    ///   - clientAuthentication: How the client proves who it is.
    ///   - dpop: The key that tokens are to be bound to; `nil` for bearer tokens.
    ///   - client: What sends the requests.
    ///   - timing: How long one call may take, and how often a failing endpoint is asked.
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
        hints = DPoPServerState(timeSource: timing.timeSource, journal: TokenJournal())
        key = ClientKey(dpop)
        refreshes = ClientRefreshes(timeSource: timing.timeSource)
    }

    /// Sends a form to an endpoint that wants to know which client asks, and reads the answer.
    ///
    /// - Parameters:
    ///   - form: The form's fields.
    ///   - endpoint: The endpoint; `nil` if the server has none.
    ///   - place: How the endpoint is called in errors.
    ///   - read: Reads an answer with a status of 2xx, given the secrets that its errors must not repeat.
    /// - Returns: What was read.
    /// - Throws: ``OAuth2Error``; `NetworkError` with the code `cancelled`, or `CancellationError`.
    func post<Value>(
        _ form: [(name: String, value: String)],
        to endpoint: URL?,
        place: String,
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
                throw OAuth2Error(.assertionFailed, "the client could not make the proof of who it is", cause: error)
            }
            return (try request.urlRequest, request.secrets)
        } read: {
            try await read($0, $1)
        }
    }
}

extension URL? {
    /// The endpoint, if the server has it.
    ///
    /// - Throws: ``OAuth2Error`` with the code `endpointMissing`.
    func required(_ place: String) throws(OAuth2Error) -> URL {
        guard let self else {
            throw OAuth2Error(
                .endpointMissing,
                "\(place) of the server is not known; it has none, or AuthorizationServer was made without it"
            )
        }
        return self
    }
}
