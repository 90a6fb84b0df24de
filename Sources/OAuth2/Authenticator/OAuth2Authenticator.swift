import Foundation
public import FoundationNetworking
public import Networking
internal import OpenSSLCrypto
import Synchronization
import TokenGeneration

/// An interceptor that adds an OAuth 2 access token to requests and keeps the token fresh.
///
/// ```swift
/// let oauth = OAuth2Client(
///     discovery: AuthorizationServerDiscovery(issuer: "https://as.example"),
///     clientAuthentication: .clientSecretBasic(
///         clientID: "reports",
///         secret: Secret(secret)
///     )
/// )
/// let authenticator = OAuth2Authenticator(
///     client: oauth,
///     grant: ClientCredentialsGrant(scope: "reports.read"),
///     resources: [api]
/// )
/// let client = NetworkClient(interceptors: [authenticator])
/// ```
///
/// - The first request gets a token, and so does the first one after the token has expired.
///   Concurrent requests share one token request. A cancelled caller stops waiting at once and
///   doesn't stop the others.
/// - When a token nears its expiry, the authenticator replaces it in the background while requests
///   continue to use it.
/// - The authenticator retries a request that is rejected with 401 once: with the current token if
///   it carried an older one, after a refresh if it carried the current one. If the server rejects
///   a freshly issued token, the request fails with ``OAuth2Error/Code/freshTokenRejected`` as the
///   reason in its error.
/// - A rotated refresh token is stored before any request uses the access token that came with it.
///
/// The authenticator sends tokens only over `https`, except to loopback addresses, and only to the
/// given origins. It leaves a request with an `Authorization` field unchanged.
public final class OAuth2Authenticator: URLRequestAuthenticator, ObservableInterceptor {
    private static let widerLimit = 16
    private static let widerLifetime = Duration.seconds(3_600)

    /// `Authorization` and `DPoP`.
    public let credentialFields: Set = ["Authorization", "DPoP"]
    let base: CachedTokenSource
    let timing: OAuth2Timing
    let options: Options
    let isDPoP: Bool
    let journal: TokenJournal
    /// The nonces and clocks of the resources; the token endpoint keeps the authorization server's.
    let hints: DPoPServerState
    let resources: ResourceRule
    let withheld = Mutex<Set<HTTPOrigin>>([])
    private let grantSource: GrantTokenSource?
    private let wideGrant: (grant: any Grant, makeSource: @Sendable (any Grant) -> GrantTokenSource)?
    /// The sources of wider grants, and those that the application provides for demands.
    private let wider = Mutex<[WiderKey: (source: CachedTokenSource, used: ContinuousClock.Instant)]>([:])

    private enum WiderKey: Hashable {
        case grant(ByteComparedString)
        case demand(ResourceDemand)
    }

    /// Creates an authenticator for tokens that a client gets with a grant.
    ///
    /// If the client discovers its server, the first request loads the metadata. If that fails, so
    /// does the request, with an ``OAuth2Error`` as its cause. The next request after the backoff
    /// tries again.
    ///
    /// - Parameters:
    ///   - client: The client of the server that issues the tokens. Its DPoP key binds them, and
    ///     its timing limits the requests.
    ///   - grant: The grant that entitles the client to a token.
    ///   - resources: The origins that get the token. Other requests are left unchanged.
    ///   - store: The storage for tokens. The default keeps them in memory.
    ///   - options: The authenticator's options.
    public convenience init(
        client: OAuth2Client,
        grant: any Grant,
        resources: ResourceRule,
        store: any TokenStore = InMemoryTokenStore(),
        options: Options = Options()
    ) {
        let journal = TokenJournal(client.client.options.observers)
        let client = client.recording(in: journal)
        let makeSource = { @Sendable (grant: any Grant) in
            GrantTokenSource(client: client, grant: grant, store: store)
        }
        self.init(makeSource(grant), resources, client.timing, options, journal, client, wider: (grant, makeSource))
    }

    private init(
        _ source: any TokenSource,
        _ resources: ResourceRule,
        _ timing: OAuth2Timing,
        _ options: Options,
        _ journal: TokenJournal,
        _ client: OAuth2Client? = nil,
        wider wideGrant: (grant: any Grant, makeSource: @Sendable (any Grant) -> GrantTokenSource)? = nil
    ) {
        base = CachedTokenSource(source, timing: timing, journal: journal)
        grantSource = source as? GrantTokenSource
        self.wideGrant = wideGrant
        isDPoP = client?.key.dpop != nil
        self.timing = timing
        self.options = options
        self.journal = journal
        hints = DPoPServerState(timeSource: timing.timeSource, journal: journal)
        self.resources = resources
    }

    /// Creates an authenticator for tokens from any source.
    ///
    /// - Parameters:
    ///   - source: The source of tokens. The authenticator caches them as a ``CachedTokenSource``
    ///     does, so the source doesn't need to.
    ///   - resources: The origins that get the token. Other requests are left unchanged.
    ///   - timing: The time limits and retry delays of token requests.
    ///   - options: The authenticator's options.
    public convenience init(
        source: any TokenSource,
        resources: ResourceRule,
        timing: OAuth2Timing = OAuth2Timing(),
        options: Options = Options()
    ) {
        self.init(source, resources, timing, options, TokenJournal())
    }

    /// The numbers of events so far.
    ///
    /// The observers of the client, and those of each `NetworkClient` that has the authenticator
    /// among its interceptors, receive every ``OAuth2Event``.
    public var counters: OAuth2Counters { journal.counters }

    /// The observers that receive every ``OAuth2Event``.
    public var observers: [any ClientObserver] { journal.observers }

    // MARK: Sign-out

    /// Deletes the tokens in memory and in the store.
    ///
    /// Only ``signIn(with:)-(Secret)`` brings new ones.
    ///
    /// Callers that wait for a token fail at once, with the code `reauthenticationRequired`. A
    /// pending token request continues, and its tokens are deleted too. The server isn't notified;
    /// revoke the refresh token there, too.
    ///
    /// If the grant needs a user, the store records the sign-out, so that other processes, and this
    /// one after a restart, stay signed out.
    ///
    /// - Throws: ``OAuth2Error`` with the code `storeFailed` or `storeBusy` if the tokens may still
    ///   be in the store. They are deleted from memory in any case.
    public func signOut() async throws {
        let all = sources
        for source in all { source.signOut() }
        wider.withLock { $0 = [:] }
        journal.add(.signedOut)
        var failure: (any Error)?
        for source in all {
            do { try await (source.source as? GrantTokenSource)?.signOut() } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
        // The store is empty now, so tokens that appear in it later come from a new sign-in.
        for source in all { source.lookAgain() }
    }

    /// Continues with a new refresh token after a sign-out or the end of a grant.
    ///
    /// - Parameter refreshToken: A newly granted refresh token.
    /// - Throws: ``OAuth2Error`` with the code `storeFailed` or `storeBusy` if the refresh token
    ///   couldn't be stored; nothing has changed then.
    public func signIn(with refreshToken: Secret) async throws {
        try await signIn(TokenRecord(awaiting: refreshToken))
    }

    /// Continues with newly granted tokens: for the first time, or after a sign-out or a grant's
    /// end.
    ///
    /// - Parameter tokens: The tokens. If they are bound to a key, the authenticator needs a
    ///   ``DPoPKey`` of the same kind.
    /// - Throws: ``OAuth2Error`` with the code `storeFailed` or `storeBusy` if the tokens couldn't
    ///   be stored; nothing has changed then.
    public func signIn(with tokens: IssuedTokens) async throws {
        try await signIn(
            TokenRecord(
                tokens.accessToken,
                refreshToken: tokens.refreshToken,
                boundKey: tokens.boundKey,
                at: timing.timeSource
            )
        )
    }

    /// A Boolean value that indicates whether the user must sign in before a request gets a token:
    /// for the first time, after a sign-out, or because the grant has ended.
    ///
    /// It's `false` for a grant that needs no user. Reading it loads the stored tokens and sends no
    /// request, so a grant that the server has revoked counts until a request finds that out.
    ///
    /// - Throws: ``OAuth2Error`` with the code `storeFailed`, `storeDamaged`, `storeTooNew` or
    ///   `storeBusy` if the tokens can't be read.
    public var needsSignIn: Bool {
        get async throws {
            guard base.current() == nil else { return false }
            guard let grantSource else { return base.isDead }
            return try await grantSource.needsSignIn(
                for: TokenRequirements { [base] in base.isKnown($0.fingerprint) }
            )
        }
    }

    private func signIn(_ record: TokenRecord) async throws {
        try await grantSource?.signIn(record)
        for source in sources { source.signIn() }
        journal.add(.signedIn)
    }

    // MARK: Sources

    var sources: [CachedTokenSource] {
        [base] + wider.withLock { $0.values.map(\.source) }
    }

    func widerSource(answering demand: ResourceDemand) -> CachedTokenSource? {
        if let wideGrant, let grant = grant(answering: demand) {
            return widerSource(.grant(ByteComparedString(grant.identifier))) { wideGrant.makeSource(grant) }
        }
        return widerSource(.demand(demand)) { options.stepUpSource?(demand) }
    }

    func knownWiderSource(answering demand: ResourceDemand) -> CachedTokenSource? {
        knownWiderSource(
            grant(answering: demand).map { .grant(ByteComparedString($0.identifier)) } ?? .demand(demand)
        )
    }

    /// Returns the grant that meets a demand, as far as the application allows it.
    private func grant(answering demand: ResourceDemand) -> (any Grant)? {
        guard let grant = wideGrant?.grant, demand.claims == nil || options.sendsDemandedClaims else { return nil }
        let own = (grant as? any RepeatableGrant)?.access.scope?.spaceSeparated ?? []
        let additional = options.additionalScope?.spaceSeparated ?? []
        let allowed = Set((own + additional).map(ByteComparedString.init))
        let demanded = Set(demand.scope.map(ByteComparedString.init))
        guard demanded.isSubset(of: allowed) else { return nil }
        // The application's order, so that a resource doesn't get a token for each order of names.
        var demand = demand
        demand.scope = additional.filter { demanded.contains(ByteComparedString($0)) }
        return grant.details?.answering(demand)
    }

    private func knownWiderSource(_ key: WiderKey) -> CachedTokenSource? {
        let now = timing.timeSource.now()
        return wider.withLock { wider in
            wider[key]?.used = now
            return wider[key]?.source
        }
    }

    private func widerSource(_ key: WiderKey, make: () -> (any TokenSource)?) -> CachedTokenSource? {
        if let known = knownWiderSource(key) { return known }
        let now = timing.timeSource.now()
        // This runs outside the lock because it may call the application's closure. If two callers
        // create a source at once, one is kept.
        guard let source = make() else { return nil }
        return wider.withLock { wider in
            if let known = wider[key] { return known.source }
            // A resource can demand other claims each time, for as long as the service runs.
            if wider.count >= Self.widerLimit {
                wider = wider.filter { now - $0.value.used < Self.widerLifetime }
            }
            guard wider.count < Self.widerLimit else { return nil }
            let cached = CachedTokenSource(source, timing: timing, journal: journal)
            wider[key] = (cached, now)
            return cached
        }
    }

    /// Returns a valid token, to send by other means.
    ///
    /// - Parameter deadline: The time to stop waiting. The default is `nil`, which waits until the
    ///   request times out.
    /// - Returns: The token.
    /// - Throws: ``OAuth2Error`` if a token isn't available; `NetworkError` with the code
    ///   `timedOut` at the deadline.
    public func accessToken(until deadline: ContinuousClock.Instant? = nil) async throws -> AccessToken {
        try await base.token(for: TokenRequirements(deadline: deadline))
    }

    // MARK: Requests

    /// Adds the authenticator.
    public func add(to chain: inout InterceptorChain) {
        let interceptor = AuthenticationInterceptor { OAuth2Session(self) }
        chain.addAuthenticator(interceptor, credentialFields: credentialFields)
    }

    /// Adds the token to a request that it is meant for.
    ///
    /// A request that has an `Authorization` field already, or goes to another origin, is
    /// unchanged. A `NetworkClient` doesn't need this method.
    ///
    /// - Throws: ``OAuth2Error`` if a token isn't available, the request would carry it
    ///   unencrypted, or the resources are misconfigured; `malformedRequest` for a token that RFC
    ///   6750 doesn't allow in a header field.
    public func authenticateRequest(_ request: URLRequest, context: InterceptorContext) async throws -> URLRequest {
        guard let url = request.url, let method = HTTPMethod(request.httpMethod ?? "GET"), !request.hasAuthorization
        else { return request }
        var fields = HTTPRequest(method: method, url: url)
        var session = OAuth2Session(self)
        try await session.authenticate(&fields, until: context.deadline, after: context.retryState)
        var request = request
        for field in fields.headers { request.setFields((field.name, field.value)) }
        return request
    }

    /// Decides whether another attempt with a token can help a failed request; see the type.
    ///
    /// The action is `none` if the failure isn't about the token. `noRetry` has an ``OAuth2Error``
    /// as the reason. A `NetworkClient` doesn't need this method.
    public func evaluateFailedRequest(_ failure: FailedRequest) async -> Retry.Action {
        guard let response = failure.response, !(failure.error is CancellationError) else { return .none }
        let state = failure.context.retryState
        let session = OAuth2Session(self, resuming: failure.request, sent: state.started)
        return session.action(after: response, to: failure.request, state)
    }

    package func add(_ observers: [any ClientObserver]) { journal.add(observers) }

    /// The options of an authenticator.
    public struct Options: Sendable {
        /// A Boolean value that indicates whether a 403 without a reason causes a refresh like a
        /// 401.
        ///
        /// The default is `false`. Enable it only for servers that send 403 where they mean 401.
        /// Other servers send 403 for operations that the token's owner may not perform, and each
        /// would cost a token.
        public var insecurelyTreatsForbiddenAsInvalidToken = false
        /// The names of scope, separated by spaces, that the authenticator may request in addition
        /// to the grant's own when a resource demands them.
        ///
        /// A resource states its demand in a response with `insufficient_scope`. If all demanded
        /// names are the grant's own or in this list, the authenticator gets a token with them and
        /// retries the request once. Otherwise the request fails with
        /// ``OAuth2Error/Code/insufficientScope``, and ``OAuth2Error/demand`` has the demand. Names
        /// are compared as bytes. For a custom grant, list its own names, too.
        ///
        /// The default is `nil`, for no other names: a resource can't choose the scope of the token
        /// that it gets.
        public var additionalScope: String?
        /// A Boolean value that indicates whether the authenticator requests tokens with the claims
        /// that a resource demands.
        ///
        /// The text of a claims challenge (`insufficient_claims`) becomes the parameter `claims` of
        /// a token request as it is, and the retried request carries the token. The default is
        /// `false`: the request fails with ``OAuth2Error/Code/stepUpRequired``. Enable it for APIs
        /// of Microsoft Entra that use [claims
        /// challenges](https://learn.microsoft.com/en-us/entra/identity-platform/claims-challenge).
        ///
        /// - Warning: The resource chooses what the authorization server reads.
        public var sendsDemandedClaims = false
        /// A closure that returns a token source for a resource's demand for scope or
        /// authentication.
        ///
        /// The authenticator calls it if the grant can't meet the demand, or if ``additionalScope``
        /// or ``sendsDemandedClaims`` doesn't allow it. The closure decides about the demand. The
        /// default is `nil`, and the closure may return `nil`. It must not prompt a user, because a
        /// request is waiting for it. The authenticator keeps the source for each demand, for at
        /// most 16 demands. It retries the rejected request once with a token from that source,
        /// separate from the other tokens
        /// ([RFC 9470 §4](https://www.rfc-editor.org/rfc/rfc9470#section-4)).
        public var stepUpSource: (@Sendable (ResourceDemand) -> (any TokenSource)?)?

        /// Creates the default options.
        public init() {}
    }
}
