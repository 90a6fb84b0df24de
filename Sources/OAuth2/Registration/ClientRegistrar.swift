public import Foundation
import FoundationNetworking
public import Networking
import TokenGeneration

/// A client of the dynamic registration endpoint, which registers clients
/// ([RFC 7591](https://www.rfc-editor.org/rfc/rfc7591)) and manages their registrations
/// ([RFC 7592](https://www.rfc-editor.org/rfc/rfc7592)).
///
/// ```swift
/// let registrar = ClientRegistrar(server: server)
/// let registered = try await registrar.register(
///     ClientMetadata(["client_name": "Reports"]),
///     initialAccessToken: token
/// )
/// ```
///
/// Store the result: without it, the registration can't be managed.
public struct ClientRegistrar: Sendable {
    let server: AuthorizationServer
    private let client: NetworkClient
    private let timing: OAuth2Timing
    private let hints: DPoPServerState

    /// Creates a registrar.
    ///
    /// - Parameters:
    ///   - server: The server.
    ///   - client: The network client that sends the requests.
    ///   - timing: The timeout of a call, the number of attempts, and the clock.
    public init(
        server: AuthorizationServer,
        client: NetworkClient = NetworkClient(),
        timing: OAuth2Timing = OAuth2Timing()
    ) {
        self.server = server
        self.client = client
        self.timing = timing
        hints = DPoPServerState(timeSource: timing.timeSource, journal: TokenJournal(client.options.observers))
    }

    /// Registers a client.
    ///
    /// The request is sent only once, because a second one might register another client.
    ///
    /// - Parameters:
    ///   - metadata: The client's metadata, which may include a `software_statement`.
    ///   - initialAccessToken: The token that authorizes the registration. The default, `nil`, is
    ///     for servers with open registration.
    /// - Returns: The registered client. The server may have changed the requested metadata.
    /// - Throws: ``OAuth2Error``: `requestRejected` with the server's code, such as
    ///   `invalid_redirect_uri`, `invalid_client_metadata` or `invalid_software_statement`;
    ///   `accessTokenRejected`, `endpointMissing`, `insecureTransport`, `serverTransient`,
    ///   `serverUnreachable`, `protocolViolation`; `CancellationError` if the task is cancelled.
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
        ) { response in
            try RegisteredClient(AnswerMembers(response, from: place), issuer: server.issuer)
        }
    }

    /// Reads a client's registration.
    ///
    /// - Parameter registered: The client.
    /// - Returns: The current registration. Store it in place of the old one, because the server
    ///   may have replaced the secret or the token.
    /// - Throws: The errors of ``register(_:initialAccessToken:)``; `endpointMissing` if the server
    ///   doesn't let clients manage their registrations.
    public func read(_ registered: RegisteredClient) async throws -> RegisteredClient {
        try await manage(.get, registered, body: nil)
    }

    /// Replaces a client's registered metadata.
    ///
    /// - Parameters:
    ///   - registered: The client.
    ///   - metadata: The complete new metadata; the server removes members that are missing. Start
    ///     with ``RegisteredClient/metadata``.
    /// - Returns: The current registration, to store in place of the old one.
    /// - Throws: The errors of ``read(_:)``.
    public func update(_ registered: RegisteredClient, to metadata: ClientMetadata) async throws -> RegisteredClient {
        var body = metadata.members
        for name in RegisteredClient.ownMembers { body[name] = nil }
        body["client_id"] = .string(registered.clientID)
        return try await manage(.put, registered, body: body)
    }

    /// Deletes a registration, which also invalidates everything that was issued to the client.
    ///
    /// - Parameter registered: The client.
    /// - Throws: The errors of ``read(_:)``.
    public func delete(_ registered: RegisteredClient) async throws {
        let place = "the client's registration"
        try await send(
            .delete,
            to: try registered.registrationURL.required(place),
            token: registered.registrationAccessToken,
            body: nil,
            place: place
        ) { response in
            guard response.status == 204 || response.status == 200 else {
                throw OAuth2Error(
                    .protocolViolation,
                    "\(place) wasn't deleted: the server responded with status \(response.status) instead of 204",
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
        ) { response in
            try RegisteredClient(
                AnswerMembers(response, from: place),
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
        read: (HTTPResponse) async throws -> Value
    ) async throws -> Value {
        var exchange = EndpointExchange(place: place, url: url, client: client, timing: timing, hints: hints)
        exchange.credential = token == nil && method == .post ? .missingToken : .accessToken
        // Other methods may also rotate the token, and the response with the new one might be lost.
        exchange.isRepeatable = method == .get
        return try await exchange.value { _ in
            var request = URLRequest(url: url)
            request.httpMethod = method.description
            request.setValue("application/json", forHTTPHeaderField: "Accept")
            if let token { request.setAuthorization(token.expose { "Bearer \($0)" }) }
            if let body {
                request.setValue("application/json", forHTTPHeaderField: "Content-Type")
                request.httpBody = body.serializedData()
            }
            return request
        } read: {
            try await read($0)
        }
    }
}

/// A client's registration, with the credentials to manage it
/// ([RFC 7591 §3.2.1](https://www.rfc-editor.org/rfc/rfc7591#section-3.2.1),
/// [RFC 7592 §3](https://www.rfc-editor.org/rfc/rfc7592#section-3)).
public struct RegisteredClient: Sendable, Hashable {
    /// The client's identifier.
    public let clientID: String
    /// The client's secret, if it has one.
    public let clientSecret: Secret?
    /// The time when the secret expires, or `nil` if it never does.
    public let clientSecretExpiry: Date?
    /// The token for reading, updating and deleting the registration, if the server supports it.
    public let registrationAccessToken: Secret?
    /// The URL for reading, updating and deleting the registration, if the server supports it.
    public let registrationURL: URL?
    /// The registered metadata, which may differ from the requested one.
    public let metadata: ClientMetadata

    /// Creates a client from a stored registration.
    public init(
        clientID: String,
        clientSecret: Secret? = nil,
        clientSecretExpiry: Date? = nil,
        registrationAccessToken: Secret? = nil,
        registrationURL: URL? = nil,
        metadata: ClientMetadata = ClientMetadata()
    ) {
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.clientSecretExpiry = clientSecretExpiry
        self.registrationAccessToken = registrationAccessToken
        self.registrationURL = registrationURL
        self.metadata = metadata
    }

    /// Keeps credentials of the old registration that the response omits.
    init(_ answer: AnswerMembers, issuer: String, updating old: RegisteredClient? = nil) throws(OAuth2Error) {
        clientID = try answer.required("client_id")
        guard old == nil || clientID.utf8.elementsEqual((old?.clientID ?? "").utf8) else {
            throw answer.wrong("client_id")
        }
        if let secret = try answer.string("client_secret") {
            clientSecret = Secret(secret)
            // Zero means that the secret never expires.
            clientSecretExpiry = try answer.date("client_secret_expires_at")
                .flatMap { $0.timeIntervalSince1970 == 0 ? nil : $0 }
        } else {
            clientSecret = old?.clientSecret
            clientSecretExpiry = old?.clientSecretExpiry
        }
        let token = try answer.string("registration_access_token")
        guard token.map({ HTTPSyntax.isToken68($0[...]) }) ?? true else {
            throw answer.wrong("registration_access_token")
        }
        registrationAccessToken = token.map { Secret($0) } ?? old?.registrationAccessToken
        if let text = try answer.string("registration_client_uri") {
            guard let url = URL(string: text), url.host != nil else { throw answer.wrong("registration_client_uri") }
            try url.checkIsEndpoint(ofIssuer: issuer, "registration_client_uri")
            registrationURL = url
        } else {
            registrationURL = old?.registrationURL
        }
        var members = answer.members
        for name in Self.ownMembers { members[name] = nil }
        metadata = ClientMetadata(members)
    }

    /// [RFC 7592 §2.2](https://www.rfc-editor.org/rfc/rfc7592#section-2.2).
    static let ownMembers = [
        "client_id", "client_secret", "client_secret_expires_at", "client_id_issued_at", "registration_access_token",
        "registration_client_uri",
    ]
}
