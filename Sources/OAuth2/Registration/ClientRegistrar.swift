import Foundation
import FoundationNetworking
public import Networking
import TokenGeneration

/// Registers clients at a server, by themselves ([RFC 7591](https://www.rfc-editor.org/rfc/rfc7591)), and manages what is
/// registered ([RFC 7592](https://www.rfc-editor.org/rfc/rfc7592)).
///
/// ```swift
/// let registrar = ClientRegistrar(server: server)
/// let registered = try await registrar.register(ClientMetadata(["client_name": "Reports"]), initialAccessToken: token)
/// ```
///
/// Keep what comes back: there is no other way to the registration.
public struct ClientRegistrar: Sendable {
    /// The server.
    public let server: AuthorizationServer
    private let client: NetworkClient
    private let timing: OAuth2Timing
    private let hints: DPoPServerState

    /// Makes a registrar.
    ///
    /// - Parameters:
    ///   - server: The server.
    ///   - client: What sends the requests.
    ///   - timing: How long one call may take, and how often a failing server is asked.
    public init(
        server: AuthorizationServer,
        client: NetworkClient = NetworkClient(),
        timing: OAuth2Timing = OAuth2Timing()
    ) {
        self.server = server
        self.client = client
        self.timing = timing
        hints = DPoPServerState(timeSource: timing.timeSource, journal: TokenJournal())
    }

    /// Registers a client.
    ///
    /// The request is sent once: repeated, it might register another.
    ///
    /// - Parameters:
    ///   - metadata: What the client says of itself. A `software_statement` is one of its members.
    ///   - initialAccessToken: What entitles to register; `nil` where everybody may.
    /// - Returns: The client, as it is registered: the server may have changed what was asked for.
    /// - Throws: ``OAuth2Error``: `requestRejected` with the server's code, such as `invalid_redirect_uri`,
    ///   `invalid_client_metadata` or `invalid_software_statement`; `accessTokenRejected`, `endpointMissing`, `insecureTransport`,
    ///   `serverTransient`, `serverUnreachable`, `protocolViolation`; `NetworkError` with the code `cancelled`, or `CancellationError`.
    public func register(
        _ metadata: ClientMetadata,
        initialAccessToken: Secret? = nil
    ) async throws -> RegisteredClient {
        let place = "the registration endpoint"
        return try await send(
            .post,
            to: try server.registrationEndpoint.required(place),
            token: initialAccessToken,
            body: metadata.members,
            place: place
        ) { response, secrets in
            let members = try response.jsonObject(from: place, hiding: secrets)
            return try RegisteredClient(AnswerMembers(members: members, place: place), issuer: server.issuer)
        }
    }

    /// Reads what a client is registered as.
    ///
    /// - Parameter registered: The client.
    /// - Returns: The client as it is now; keep it in place of the old one, whose secret or token may have been replaced.
    /// - Throws: As ``register(_:initialAccessToken:)``; `endpointMissing` if the registration can't be managed.
    public func read(_ registered: RegisteredClient) async throws -> RegisteredClient {
        try await manage(.get, registered, body: nil)
    }

    /// Changes what a client is registered as.
    ///
    /// - Parameters:
    ///   - registered: The client.
    ///   - metadata: All that is to be registered from now on: what is missing is taken away. Begin with
    ///     ``RegisteredClient/metadata``.
    /// - Returns: The client as it is now; keep it in place of the old one, whose secret or token may have been replaced.
    /// - Throws: As ``register(_:initialAccessToken:)``; `endpointMissing` if the registration can't be managed.
    public func update(_ registered: RegisteredClient, to metadata: ClientMetadata) async throws -> RegisteredClient {
        var body = metadata.members
        for name in RegisteredClient.ownMembers { body[name] = nil }
        body["client_id"] = .string(registered.clientID)
        return try await manage(.put, registered, body: body)
    }

    /// Deletes a registration: the client is no more, and what it was issued is no longer good.
    ///
    /// - Parameter registered: The client.
    /// - Throws: As ``register(_:initialAccessToken:)``; `endpointMissing` if the registration can't be managed.
    public func delete(_ registered: RegisteredClient) async throws {
        let place = "the client's registration"
        try await send(
            .delete,
            to: try registered.registrationURL.required(place),
            token: registered.registrationAccessToken,
            body: nil,
            place: place
        ) { response, _ in
            guard response.status == 204 || response.status == 200 else {
                throw OAuth2Error(
                    .protocolViolation,
                    "\(place) was not deleted: the answer is \(response.status) instead of 204",
                    status: response.status
                )
            }
        }
    }

    private func manage(
        _ method: HTTPMethod,
        _ registered: RegisteredClient,
        body: JSONObject?
    ) async throws -> RegisteredClient {
        let place = "the client's registration"
        return try await send(
            method,
            to: try registered.registrationURL.required(place),
            token: registered.registrationAccessToken,
            body: body,
            place: place
        ) { response, secrets in
            try RegisteredClient(
                AnswerMembers(members: response.jsonObject(from: place, hiding: secrets), place: place),
                issuer: server.issuer,
                updating: registered
            )
        }
    }

    private func send<Value>(
        _ method: HTTPMethod,
        to url: URL,
        token: Secret?,
        body: JSONObject?,
        place: String,
        read: (HTTPResponse, SentSecrets) async throws -> Value
    ) async throws -> Value {
        var exchange = EndpointExchange(place: place, url: url, client: client, timing: timing, hints: hints)
        // A token may be replaced by each of the others, too, and the answer with the new one be lost.
        exchange.isRepeatable = method == .get
        return try await exchange.value { _ in
            var request = URLRequest(url: url)
            request.httpMethod = method.description
            request.setValue("application/json", forHTTPHeaderField: "Accept")
            var secrets: [String] = []
            if let token {
                secrets.append(token.expose { $0 })
                request.setAuthorization("Bearer \(secrets[0])")
            }
            if let body {
                request.setValue("application/json", forHTTPHeaderField: "Content-Type")
                request.httpBody = body.serializedData()
                if let statement = body["software_statement"]?.string { secrets.append(statement) }
            }
            return (request, SentSecrets(secrets))
        } read: {
            try await read($0, $1)
        }
    }
}
