public import Foundation
public import Networking
import Synchronization
import TokenGeneration

/// An authenticator for a protected resource of which only the URL is known, such as a server of
/// the Model Context Protocol.
///
/// ```swift
/// var metadata = ClientMetadata(["client_name": "Assistant"])
/// metadata.redirectURIs = ["http://127.0.0.1:4711/callback"]
/// let authenticator = ProtectedResourceAuthenticator(
///     resource: url,
///     client: metadata,
///     scope: .within("tools.read tools.call")
/// ) { url, request in
///     let receiver = try LoopbackRedirectReceiver(port: 4711)
///     openBrowser(at: url)
///     return try await receiver.redirect(for: request)
/// }
/// let client = NetworkClient(interceptors: [authenticator])
/// ```
///
/// The first request goes out without a token. If the resource rejects it, the authenticator
///
/// 1. discovers the resource's metadata
///    ([RFC 9728](https://www.rfc-editor.org/rfc/rfc9728)) and that of its authorization server
///    ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)), which must support PKCE with `S256`;
/// 2. gets a client ID: a stored one, the URL of the client's metadata document, or one from the
///    server's registration endpoint ([RFC 7591](https://www.rfc-editor.org/rfc/rfc7591));
/// 3. asks the user to sign in, unless the store has the user's tokens;
/// 4. sends the request again with a token for this resource alone
///    ([RFC 8707](https://www.rfc-editor.org/rfc/rfc8707)).
///
/// Later, it refreshes tokens as an ``OAuth2Authenticator`` does. When the grant ends, or the
/// resource demands more scope or another authentication of the user, the user signs in again. All
/// requests of all clients share one sign-in. A sign-in continues when its requests time out: a
/// request waits for at most its own timeout. Use ``signIn()`` to sign in before the first request.
public final class ProtectedResourceAuthenticator: ObservableInterceptor {
    /// A closure that sends the user to a URL and returns the URL of the redirect.
    ///
    /// Its second argument is the request, for
    /// ``LoopbackRedirectReceiver/redirect(for:verifiedBy:within:timeSource:)``.
    public typealias Browser = @Sendable (URL, AuthorizationRequest) async throws -> URL

    private struct State {
        var connection: Connection?
        /// The number of sign-ins so far.
        var generation = 0
        var task: SharedTask<Connection>?
        var observers: [any ClientObserver] = []
    }

    /// A signed-in user at one authorization server.
    fileprivate struct Connection: Sendable {
        let generation: Int
        let resource: ProtectedResource
        let oauth: OAuth2Client
        let issuer: String
        let authenticator: OAuth2Authenticator
        /// The names that were requested in this process.
        var requested: [String]
    }

    /// The reason for a sign-in.
    fileprivate struct Cause: Sendable {
        var challenges: [String] = []
        var demand: ResourceDemand?
        /// The grant has ended, so tokens in the store don't help.
        var hasEnded = false
    }

    private let url: URL
    private let metadata: ClientMetadata
    private let scope: Scope
    private let user: String
    private let store: any TokenStore
    private let options: Options
    private let browser: Browser
    private let state = Mutex(State())

    /// Creates an authenticator, which sends nothing before the first request.
    ///
    /// - Parameters:
    ///   - resource: The URL of the resource. Requests to its origin get the token.
    ///   - client: The client's metadata. Its first redirect URI receives the user. Without other
    ///     values, the client is a public one with the grant types `authorization_code` and
    ///     `refresh_token`.
    ///   - scope: The rule for the scope that the resource gets.
    ///   - user: A name without secrets that keeps different users' tokens in the store apart. The
    ///     default is `user`.
    ///   - store: The storage for tokens. The default keeps them in memory.
    ///   - options: The options.
    ///   - browser: The closure that sends the user to the authorization server.
    public init(
        resource: URL,
        client: ClientMetadata,
        scope: Scope,
        user: String = "user",
        store: any TokenStore = InMemoryTokenStore(),
        options: Options = Options(),
        browser: @escaping Browser
    ) {
        url = resource
        metadata = client
        self.scope = scope
        self.user = user
        self.store = store
        self.options = options
        self.browser = browser
    }

    /// The discovered resource; `nil` before the first sign-in.
    public var resource: ProtectedResource? { state.withLock { $0.connection?.resource } }

    /// Signs the user in now, unless the user is signed in.
    ///
    /// - Throws: ``OAuth2Error``: the errors of
    ///   ``ProtectedResource/discover(after:matching:client:timing:)``,
    ///   ``ProtectedResource/authorizationServer(client:timing:isTrusted:)``,
    ///   ``ClientRegistrar/register(_:initialAccessToken:)`` and of the token request;
    ///   `endpointMissing` if the client has no ID for the server; `protocolViolation` if the
    ///   server doesn't support PKCE; `insufficientScope` if the resource demands scope that the
    ///   rule doesn't allow. Any error of the browser's closure.
    public func signIn() async throws {
        let current = state.withLock { $0.connection }
        guard let current else {
            _ = try await connection(after: 0, Cause(), until: nil)
            return
        }
        guard try await current.authenticator.needsSignIn else { return }
        _ = try await connection(after: current.generation, Cause(hasEnded: true), until: nil)
    }

    /// Deletes the tokens in memory and in the store.
    ///
    /// The next request that the resource rejects asks the user to sign in.
    ///
    /// - Throws: The errors of ``OAuth2Authenticator/signOut()``.
    public func signOut() async throws {
        let connection = state.withLock { state in
            defer { state.connection = nil }
            return state.connection
        }
        try await connection?.authenticator.signOut()
    }

    // MARK: Requests

    /// Adds the authenticator.
    public func add(to chain: inout InterceptorChain) {
        let interceptor = AuthenticationInterceptor { ResourceSession(self) }
        chain.addAuthenticator(interceptor, credentialFields: ["Authorization", "DPoP"])
    }

    package func add(_ observers: [any ClientObserver]) {
        let authenticator = state.withLock { state in
            state.observers = state.observers.merging(observers)
            return state.connection?.authenticator
        }
        authenticator?.add(observers)
    }

    fileprivate func covers(_ request: HTTPRequest) -> Bool {
        guard request.headers["Authorization"] == nil, let origin = HTTPOrigin(request.url) else { return false }
        return origin == HTTPOrigin(url)
    }

    fileprivate var current: Connection? { state.withLock { $0.connection } }

    fileprivate var generation: Int { state.withLock { $0.generation } }

    /// Returns a connection that is newer than a failed request, which one task makes for all.
    fileprivate func connection(
        after generation: Int,
        _ cause: Cause,
        until deadline: ContinuousClock.Instant?
    ) async throws -> Connection {
        let found: (connection: Connection?, task: SharedTask<Connection>?) = state.withLock { state in
            if let connection = state.connection, connection.generation > generation { return (connection, nil) }
            if let task = state.task, !task.isOver { return (nil, task) }
            let previous = state.connection
            let task = SharedTask(timeout: nil, timeSource: options.timing.timeSource) { [self] in
                try await connect(cause, replacing: previous)
            }
            state.task = task
            return (nil, task)
        }
        if let connection = found.connection { return connection }
        guard let task = found.task else { throw CancellationError() }
        return try await task.value(until: deadline)
    }

    // MARK: Sign-in

    private func connect(_ cause: Cause, replacing previous: Connection?) async throws -> Connection {
        let resource = try await discover(cause, previous)
        let timing = discoveryTiming
        let server = try await resource.authorizationServer(
            client: options.client,
            timing: timing,
            isTrusted: options.isTrusted
        )
        // A server without PKCE lets an attacker inject a code (OAuth 2.1 §7.5.2).
        guard server.values(of: "code_challenge_methods_supported")?.contains("S256") == true else {
            throw OAuth2Error(.protocolViolation, "the authorization server doesn't support PKCE with S256")
        }
        let requested = try await names(for: resource, cause.demand, previous?.requested ?? [])
        let isSame = previous.map {
            $0.issuer.isExactly(server.issuer) && $0.resource.identifier.isExactly(resource.identifier)
        }
        let oauth: OAuth2Client
        let authenticator: OAuth2Authenticator
        if let previous, isSame == true {
            (oauth, authenticator) = (previous.oauth, previous.authenticator)
        } else {
            oauth = OAuth2Client(
                server: server,
                clientAuthentication: try await clientAuthentication(at: server, resource, requested),
                client: options.client,
                timing: options.timing
            )
            authenticator = OAuth2Authenticator(
                client: oauth,
                grant: UserGrant(identifier: user, resources: [resource.identifier]),
                resources: [url],
                store: store
            )
            authenticator.add(state.withLock { $0.observers })
        }
        var granted = requested
        if previous == nil, !cause.hasEnded, try await !authenticator.needsSignIn {
            // The server states no scope if it granted what was requested, which isn't stored.
            granted = (try? await authenticator.accessToken())?.scope?.spaceSeparated ?? []
        } else {
            let tokens = try await tokens(for: resource, requested, cause.demand, server, oauth)
            try await authenticator.signIn(with: tokens)
        }
        return state.withLock { state in
            state.generation += 1
            let connection = Connection(
                generation: state.generation,
                resource: resource,
                oauth: oauth,
                issuer: server.issuer,
                authenticator: authenticator,
                requested: granted
            )
            state.connection = connection
            return connection
        }
    }

    private var discoveryTiming: OAuth2Timing {
        var timing = options.timing
        timing.timeout = min(timing.timeout, .seconds(10))
        timing.attempts = min(timing.attempts, 2)
        return timing
    }

    private func discover(_ cause: Cause, _ previous: Connection?) async throws -> ProtectedResource {
        do {
            return try await ProtectedResource.discover(
                at: url,
                cause.challenges,
                matching: options.matching,
                client: options.client,
                timing: discoveryTiming
            )
        } catch let error as OAuth2Error {
            // A demand needn't name the metadata again.
            guard let previous, error.code == .endpointMissing else { throw error }
            var resource = previous.resource
            resource.demandedScopes = cause.demand?.scope ?? []
            return resource
        }
    }

    /// Returns the names to request: the earlier ones and those that the resource demands.
    private func names(
        for resource: ProtectedResource,
        _ demand: ResourceDemand?,
        _ earlier: [String]
    ) async throws -> [String] {
        var names = earlier
        for name in try await scope.names(for: resource) where !names.contains(where: name.isExactly) {
            names.append(name)
        }
        guard demand?.isForScope == true, names.count == earlier.count else { return names }
        // The resource rejects the tokens that the user could give, so don't ask again.
        var error = OAuth2Error(
            .insufficientScope,
            "the resource rejects a token with the scope that it names; ask its operator for the required scope"
        )
        error.demand = demand
        throw error
    }

    private func clientAuthentication(
        at server: AuthorizationServer,
        _ resource: ProtectedResource,
        _ names: [String]
    ) async throws -> any ClientAuthentication {
        if let known = try await options.registration(server.issuer) { return known.clientAuthentication }
        if let clientID = options.clientID, server.metadata["client_id_metadata_document_supported"] == true {
            return .none(clientID: clientID)
        }
        guard server.registrationEndpoint != nil else {
            throw OAuth2Error(
                .endpointMissing,
                "the authorization server doesn't register clients\(options.clientID == nil ? "" : " or accept metadata documents"); "
                    + "register one there and return it from `registration`"
            )
        }
        var metadata = metadata
        if metadata.grantTypes.isEmpty { metadata.grantTypes = ["authorization_code", "refresh_token"] }
        if metadata.tokenEndpointAuthenticationMethod == nil { metadata.tokenEndpointAuthenticationMethod = "none" }
        if metadata.members["application_type"] == nil, metadata.redirectURIs.first?.hasPrefix("http://") == true {
            metadata.members["application_type"] = "native"
        }
        if metadata.scope.isEmpty { metadata.scope = scope.all(of: resource, names) }
        let registrar = ClientRegistrar(server: server, client: options.client, timing: options.timing)
        let registered = try await registrar.register(metadata)
        try await options.registered(registered, server.issuer)
        return registered.clientAuthentication
    }

    private func tokens(
        for resource: ProtectedResource,
        _ names: [String],
        _ demand: ResourceDemand?,
        _ server: AuthorizationServer,
        _ oauth: OAuth2Client
    ) async throws -> IssuedTokens {
        guard let redirectURI = metadata.redirectURIs.first else {
            throw OAuth2Error(.malformedRequest, "the client's metadata has no redirect URI; set redirectURIs")
        }
        var parameters: [String: String] = [:]
        if let demand, !demand.acrValues.isEmpty {
            parameters["acr_values"] = demand.acrValues.joined(separator: " ")
        }
        parameters["max_age"] = demand?.maxAge.map { String($0.components.seconds) }
        let request = try oauth.authorizationRequest(
            redirectURI: redirectURI,
            scope: names.isEmpty ? nil : names.joined(separator: " "),
            resources: [resource.identifier],
            additionalParameters: parameters
        )
        let page =
            server.requiresPushedAuthorizationRequests
            ? try await oauth.push(request).url(at: server) : try request.url(at: server)
        var grant = try request.grant(from: await browser(page, request), of: server)
        grant.resources = [resource.identifier]
        return try await oauth.tokens(for: grant, idToken: .skipIDTokenCheck)
    }
}

/// The authentication of one request.
private struct ResourceSession: AuthenticationSession {
    /// The maximum number of sign-ins for one request.
    private static let limit = 2

    private let owner: ProtectedResourceAuthenticator
    private var inner: OAuth2Session?
    private var generation = 0
    private var signIns = 0

    init(_ owner: ProtectedResourceAuthenticator) { self.owner = owner }

    mutating func authenticate(_ request: inout HTTPRequest, _ context: InterceptorContext) async throws {
        inner = nil
        guard owner.covers(request) else { return }
        guard var connection = owner.current else {
            generation = owner.generation
            return
        }
        do { try await authenticate(&request, context, connection) } catch let error as OAuth2Error {
            guard error.code == .reauthenticationRequired else { throw error }
            connection = try await owner.connection(
                after: connection.generation,
                .init(hasEnded: true),
                until: context.deadline
            )
            try await authenticate(&request, context, connection)
        }
    }

    private mutating func authenticate(
        _ request: inout HTTPRequest,
        _ context: InterceptorContext,
        _ connection: ProtectedResourceAuthenticator.Connection
    ) async throws {
        generation = connection.generation
        var session = OAuth2Session(connection.authenticator)
        try await session.authenticate(&request, context)
        inner = session
    }

    mutating func evaluate(_ answer: AuthenticationAnswer) async -> Retry.Action {
        let action = await inner?.evaluate(answer) ?? .none
        guard let error = answer.error, let cause = cause(of: error, answer, action), signIns < Self.limit else {
            return action
        }
        signIns += 1
        do {
            _ = try await owner.connection(after: generation, cause, until: answer.context.deadline)
            return .retry
        } catch {
            return .noRetry(.custom(error))
        }
    }

    /// Returns the reason for a sign-in, or `nil` if a sign-in doesn't help.
    private func cause(
        of error: ServerError,
        _ answer: AuthenticationAnswer,
        _ action: Retry.Action
    ) -> ProtectedResourceAuthenticator.Cause? {
        let challenges = error.headers.values(for: "WWW-Authenticate")
        guard inner != nil else {
            guard error.errorCode == 401, owner.covers(answer.request) else { return nil }
            return .init(challenges: challenges)
        }
        guard case .noRetry(.custom(let reason as OAuth2Error)) = action else { return nil }
        switch reason.code {
        case .insufficientScope, .stepUpRequired: return .init(challenges: challenges, demand: reason.demand)
        case .reauthenticationRequired: return .init(hasEnded: true)
        default: return nil
        }
    }
}

extension ResourceDemand {
    /// A Boolean value that indicates whether only the scope of the token was insufficient.
    fileprivate var isForScope: Bool { acrValues.isEmpty && maxAge == nil && claims == nil }
}

extension RegisteredClient {
    /// The authentication that the server expects of the client.
    fileprivate var clientAuthentication: any ClientAuthentication {
        guard let clientSecret, metadata.tokenEndpointAuthenticationMethod != "none" else {
            return .none(clientID: clientID)
        }
        return metadata.tokenEndpointAuthenticationMethod == "client_secret_post"
            ? .clientSecretPost(clientID: clientID, secret: clientSecret)
            : .clientSecretBasic(clientID: clientID, secret: clientSecret)
    }
}
