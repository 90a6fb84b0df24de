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
/// Requests are repeated while the server fails for the moment, for as long as ``Options/timeout`` allows. Redirects are never
/// followed: they would carry credentials to wherever they point. Nothing that was sent is in an error.
public struct OAuth2Client: Sendable {
    /// How endpoints are asked.
    public struct Options: Sendable {
        /// How long one call may take, all attempts included; 30 seconds by default.
        public var timeout: Duration
        /// How often an endpoint is asked in that time that fails for the moment; three times by default.
        public var attempts: Int
        /// The largest answer accepted, in octets; 1 MiB by default.
        public var maximumBodySize: Int
        /// Where time comes from.
        public var timeSource: TimeSource
        /// Where the random numbers of 0…1 come from that spread the attempts of many clients.
        public var random: @Sendable () -> Double

        /// Makes options.
        ///
        /// - Parameters:
        ///   - timeout: How long one call may take.
        ///   - attempts: How often an endpoint is asked that fails for the moment; at least once.
        ///   - maximumBodySize: The largest answer accepted, in octets.
        ///   - timeSource: Where time comes from.
        ///   - random: Where random numbers of 0…1 come from.
        public init(
            timeout: Duration = .seconds(30),
            attempts: Int = 3,
            maximumBodySize: Int = 1 << 20,
            timeSource: TimeSource = .system,
            random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
        ) {
            self.timeout = timeout
            self.attempts = max(1, attempts)
            self.maximumBodySize = maximumBodySize
            self.timeSource = timeSource
            self.random = random
        }
    }

    /// The server.
    public let server: AuthorizationServer
    /// How the client proves who it is.
    public let clientAuthentication: any ClientAuthentication
    let client: NetworkClient
    let options: Options
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
    ///   - options: How endpoints are asked.
    public init(
        server: AuthorizationServer,
        clientAuthentication: any ClientAuthentication,
        dpop: DPoPKey? = nil,
        client: NetworkClient = NetworkClient(),
        options: Options = Options()
    ) {
        self.server = clientAuthentication.usesMutualTLS ? server.usingMutualTLSAliases() : server
        self.clientAuthentication = clientAuthentication
        self.client = client
        self.options = options
        hints = DPoPServerState(timeSource: options.timeSource, journal: TokenJournal())
        key = ClientKey(dpop)
        refreshes = ClientRefreshes(timeSource: options.timeSource)
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
            options: options,
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
