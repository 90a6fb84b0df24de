public import Foundation
public import Networking
internal import OpenSSLCrypto
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
    private struct State {
        var connection: Connection?
        /// The number of sign-ins so far.
        var generation = 0
        var signOuts = 0
        var task: SharedTask<Connection>?
        var observers: [any ClientObserver] = []
        /// By issuer.
        var lostClients: [ByteComparedString: LostClients] = [:]
    }

    /// The registered clients that a server doesn't know anymore, and their replacement.
    struct LostClients {
        var ids: Set<ByteComparedString> = []
        var replacement: RegisteredClient?
        /// A Boolean value that indicates whether a user has signed in with the replacement.
        var isProven = false
    }

    /// A signed-in user at one authorization server.
    struct Connection: Sendable {
        var generation = 0
        let resource: ProtectedResource
        let oauth: OAuth2Client
        let server: AuthorizationServer
        let authenticator: OAuth2Authenticator
        /// The names that were requested in this process.
        let requested: [String]
        /// The demand that the sign-in answered.
        let demand: ResourceDemand?
    }

    /// The reason for a sign-in.
    struct Cause: Sendable {
        var challenges: [String] = []
        var demand: ResourceDemand?
        /// The grant has ended, so tokens in the store don't help.
        var hasEnded = false
    }

    let url: URL
    let metadata: ClientMetadata
    let scope: Scope
    let user: String
    let store: any TokenStore
    let options: Options
    let browser: @Sendable (URL, AuthorizationRequest) async throws -> URL
    private let state = Mutex(State())

    /// Creates an authenticator for one user, whose tokens it keeps in memory.
    ///
    /// It sends nothing before the first request.
    ///
    /// - Parameters:
    ///   - resource: The URL of the resource. Requests to its origin get the token.
    ///   - client: The client's metadata. Its first redirect URI receives the user. Without other
    ///     values, the client is a public one with the grant types `authorization_code` and
    ///     `refresh_token`.
    ///   - scope: The rule for the scope that the resource gets.
    ///   - options: The options.
    ///   - browser: A closure that sends the user to a URL and returns the URL of the redirect. Its
    ///     second argument is the request, for
    ///     ``LoopbackRedirectReceiver/redirect(for:verifiedBy:within:timeSource:)``.
    public convenience init(
        resource: URL,
        client: ClientMetadata,
        scope: Scope,
        options: Options = Options(),
        browser: @escaping @Sendable (URL, AuthorizationRequest) async throws -> URL
    ) {
        self.init(
            resource: resource,
            client: client,
            scope: scope,
            user: "user",
            store: InMemoryTokenStore(),
            options: options,
            browser: browser
        )
    }

    /// Creates an authenticator for one user, whose tokens are in a store.
    ///
    /// It sends nothing before the first request.
    ///
    /// - Parameters:
    ///   - resource: The URL of the resource. Requests to its origin get the token.
    ///   - client: The client's metadata. Its first redirect URI receives the user. Without other
    ///     values, the client is a public one with the grant types `authorization_code` and
    ///     `refresh_token`.
    ///   - scope: The rule for the scope that the resource gets.
    ///   - user: A name without secrets for the user. Users of the same name share their tokens in
    ///     the store, so there is no default.
    ///   - store: The storage for tokens.
    ///   - options: The options.
    ///   - browser: A closure that sends the user to a URL and returns the URL of the redirect. Its
    ///     second argument is the request, for
    ///     ``LoopbackRedirectReceiver/redirect(for:verifiedBy:within:timeSource:)``.
    public init(
        resource: URL,
        client: ClientMetadata,
        scope: Scope,
        user: String,
        store: any TokenStore,
        options: Options = Options(),
        browser: @escaping @Sendable (URL, AuthorizationRequest) async throws -> URL
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

    /// Deletes the tokens in memory and in the store, and ends a sign-in in progress.
    ///
    /// The next request that the resource rejects asks the user to sign in. Before the first
    /// sign-in of a process, the resource is discovered to find the tokens in the store.
    ///
    /// - Throws: The errors of ``OAuth2Authenticator/signOut()``, and of the discovery as
    ///   ``signIn()`` does. The tokens may then still be in the store.
    public func signOut() async throws {
        let (connection, task) = state.withLock { state in
            defer {
                state.signOuts += 1
                (state.connection, state.task) = (nil, nil)
            }
            return (state.connection, state.task)
        }
        task?.abandon(with: Self.signedOut)
        if let connection {
            try await connection.authenticator.signOut()
        } else {
            try await storedAuthenticator()?.signOut()
        }
    }

    static var signedOut: OAuth2Error { OAuth2Error(.reauthenticationRequired, "the user has signed out") }

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

    func covers(_ request: HTTPRequest) -> Bool {
        guard request.headers["Authorization"] == nil, let origin = HTTPOrigin(request.url) else { return false }
        return origin == HTTPOrigin(url)
    }

    var current: Connection? { state.withLock { $0.connection } }

    var generation: Int { state.withLock { $0.generation } }

    var signOuts: Int { state.withLock { $0.signOuts } }

    var observers: [any ClientObserver] { state.withLock { $0.observers } }

    /// Returns a connection that is newer than a failed request, which one task makes for all.
    func connection(
        after generation: Int,
        _ cause: Cause,
        until deadline: ContinuousClock.Instant?
    ) async throws -> Connection {
        let found: (connection: Connection?, task: SharedTask<Connection>?) = state.withLock { state in
            if let connection = state.connection, connection.generation > generation { return (connection, nil) }
            if let task = state.task, !task.isOver { return (nil, task) }
            let (previous, signOuts) = (state.connection, state.signOuts)
            let task = SharedTask(timeout: nil, timeSource: options.timing.timeSource) { [self] in
                try await connect(cause, replacing: previous, after: signOuts)
            }
            state.task = task
            return (nil, task)
        }
        if let connection = found.connection { return connection }
        guard let task = found.task else { throw CancellationError() }
        return try await task.value(until: deadline)
    }

    /// Makes a connection the current one, unless the user has signed out since.
    func connected(_ connection: Connection, after signOuts: Int) -> Connection? {
        state.withLock { state in
            guard state.signOuts == signOuts else { return nil }
            state.generation += 1
            state.connection = connection
            state.connection?.generation = state.generation
            state.lostClients[ByteComparedString(connection.server.issuer)]?.isProven = true
            return state.connection
        }
    }

    // MARK: Lost clients

    /// Notes that a server doesn't know a client anymore, and returns `true` if a sign-in with a
    /// new registration may help.
    ///
    /// A replacement that never worked isn't replaced: the server would get new clients endlessly.
    func lose(_ clientID: String, of server: AuthorizationServer, after error: OAuth2Error) -> Bool {
        guard error.code == .invalidClient || error.serverCode == "unauthorized_client",
            server.registrationEndpoint != nil, options.clientID?.isExactly(clientID) != true
        else { return false }
        return state.withLock { state in
            var lost = state.lostClients[ByteComparedString(server.issuer)] ?? LostClients()
            if lost.replacement?.clientID.isExactly(clientID) == true {
                guard lost.isProven else { return false }
                (lost.replacement, lost.isProven) = (nil, false)
            }
            lost.ids.insert(ByteComparedString(clientID))
            state.lostClients[ByteComparedString(server.issuer)] = lost
            return true
        }
    }

    func lostClients(of issuer: String) -> LostClients? {
        state.withLock { $0.lostClients[ByteComparedString(issuer)] }
    }

    func replaceLostClients(of issuer: String, by client: RegisteredClient) {
        state.withLock { $0.lostClients[ByteComparedString(issuer)]?.replacement = client }
    }
}

private struct ResourceSession: AuthenticationSession {
    /// The maximum number of sign-ins for one request.
    private static let limit = 2

    private let owner: ProtectedResourceAuthenticator
    private var inner: OAuth2Session?
    private var generation = 0
    private var signIns = 0
    /// The demand that the last sign-in answered.
    private var demand: ResourceDemand?

    init(_ owner: ProtectedResourceAuthenticator) { self.owner = owner }

    mutating func authenticate(_ request: inout HTTPRequest, _ context: InterceptorContext) async throws {
        inner = nil
        guard owner.covers(request) else { return }
        guard var connection = owner.current else {
            generation = owner.generation
            return
        }
        do { try await authenticate(&request, context, connection) } catch let error as OAuth2Error {
            let clientID = connection.oauth.clientAuthentication.clientID
            guard error.code == .reauthenticationRequired || owner.lose(clientID, of: connection.server, after: error)
            else { throw error }
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
        guard let error = answer.error, let cause = cause(of: error, to: answer.request, action), signIns < Self.limit,
            // The user has just met it, and the resource isn't satisfied.
            cause.demand == nil || cause.demand != demand
        else { return action }
        signIns += 1
        do {
            demand = try await owner.connection(after: generation, cause, until: answer.context.deadline).demand
            return .retry
        } catch {
            return .noRetry(.custom(error))
        }
    }

    /// Returns the reason for a sign-in, or `nil` if a sign-in doesn't help.
    private func cause(
        of error: ServerError,
        to request: HTTPRequest,
        _ action: Retry.Action
    ) -> ProtectedResourceAuthenticator.Cause? {
        let challenges = error.headers.values(for: "WWW-Authenticate")
        guard inner != nil else {
            guard error.errorCode == 401, owner.covers(request) else { return nil }
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
