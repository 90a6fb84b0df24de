import Foundation
public import FoundationNetworking
public import Networking
import Synchronization
import TokenGeneration

/// Puts an OAuth 2 access token on requests, and keeps it fresh.
///
/// ```swift
/// let authenticator = OAuth2Authenticator(
///     server: AuthorizationServer(issuer: "https://as.example", tokenEndpoint: tokenEndpoint),
///     clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret(secret)),
///     grant: ClientCredentialsGrant(scope: "reports.read"),
///     resources: [api]
/// )
/// let client = NetworkClient(interceptors: [authenticator])
/// ```
///
/// - The first request gets a token; so does whoever comes after it has expired. However many need one, the token
///   endpoint is asked once, and a caller that is cancelled neither waits on nor stops the others.
/// - A token that nears its expiry is replaced in the background, while requests go on with it.
/// - A request refused with 401 is sent once more: with the current token, if it carried an older one; after a refresh,
///   if it carried the current one. A token that is refused right after it was issued ends the request with
///   ``OAuth2Error/Code/freshTokenRejected`` as the reason in its error.
/// - A rotated refresh token is in the store before anyone uses the access token that came with it.
///
/// Tokens are sent over `https` only, loopback addresses excepted, and to no other origins than those given.
/// A request that has an `Authorization` already is left as it is.
public final class OAuth2Authenticator: URLRequestAuthenticator {
    /// How many wider grants are kept; who asks for more goes on with their own grant.
    private static let widerLimit = 16

    /// `Authorization` and `DPoP`.
    public let credentialFields: Set = ["Authorization", "DPoP"]
    let base: CachedTokenSource
    let timing: OAuth2Timing
    let options: Options
    let dpop: DPoPKey?
    let journal: TokenJournal
    /// What resources have said; the authorization server's hints are the token endpoint's.
    let hints: DPoPServerState
    private let resources: ResourceRule
    private let grant: (any Grant)?
    private let grantSource: GrantTokenSource?
    private let makeSource: (@Sendable (any Grant) -> GrantTokenSource)?
    /// When the requests that are under way with a proof were sent, by their operations.
    private let scheduled = Mutex<[UInt64: ContinuousClock.Instant]>([:])
    /// The sources of grants that ask for more than the authenticator's own, and those that the application has for demands.
    private let wider = Mutex<[WiderKey: CachedTokenSource]>([:])

    /// What tells the sources apart that answer demands.
    private enum WiderKey: Hashable {
        case grant(String)
        case demand(ResourceDemand)
    }

    /// Makes an authenticator.
    ///
    /// - Parameters:
    ///   - server: Who issues the tokens.
    ///   - clientAuthentication: How the client proves who it is.
    ///   - grant: What entitles the client to a token.
    ///   - resources: The origins that the token is meant for; requests to other origins are left unchanged.
    ///   - store: Where tokens are kept.
    ///   - dpop: The key that tokens are to be bound to ([RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)); `nil` for bearer
    ///     tokens.
    ///   - client: What asks the token endpoint. It must not have this authenticator among its interceptors.
    ///   - timing: How long getting a token may take, and how often the endpoint is asked.
    ///   - options: What the authenticator does by default.
    public convenience init(
        server: AuthorizationServer,
        clientAuthentication: any ClientAuthentication,
        grant: any Grant,
        resources: ResourceRule,
        store: any TokenStore = InMemoryTokenStore(),
        dpop: DPoPKey? = nil,
        client: NetworkClient = NetworkClient(),
        timing: OAuth2Timing = OAuth2Timing(),
        options: Options = Options()
    ) {
        self.init(.known(server), clientAuthentication, grant, resources, store, dpop, client, timing, options)
    }

    init(
        _ location: ServerLocation,
        _ clientAuthentication: any ClientAuthentication,
        _ grant: any Grant,
        _ resources: ResourceRule,
        _ store: any TokenStore,
        _ dpop: DPoPKey?,
        _ client: NetworkClient,
        _ timing: OAuth2Timing,
        _ options: Options
    ) {
        let journal = TokenJournal()
        let endpoint = TokenEndpoint(
            location: location,
            clientAuthentication: clientAuthentication,
            client: client,
            timing: timing,
            dpop: dpop,
            journal: journal
        )
        let makeSource = { @Sendable (grant: any Grant) in
            GrantTokenSource(
                TokenAcquirer(
                    grant,
                    endpoint: endpoint,
                    store: store,
                    dpop: dpop
                )
            )
        }
        let source = makeSource(grant)
        base = CachedTokenSource(source, timing: timing, journal: journal)
        grantSource = source
        self.makeSource = makeSource
        self.grant = grant
        self.dpop = dpop
        self.timing = timing
        self.options = options
        self.journal = journal
        hints = DPoPServerState(timeSource: timing.timeSource, journal: journal)
        self.resources = resources
    }

    /// Makes an authenticator for tokens of any source.
    ///
    /// - Parameters:
    ///   - source: Where tokens come from. They are kept as in a ``CachedTokenSource``; it need not be one.
    ///   - resources: The origins that the token is meant for; requests to other origins are left unchanged.
    ///   - timing: How long getting a token may take, and how often the endpoint is asked.
    ///   - options: What the authenticator does by default.
    public init(
        source: any TokenSource,
        resources: ResourceRule,
        timing: OAuth2Timing = OAuth2Timing(),
        options: Options = Options()
    ) {
        let journal = TokenJournal()
        base = CachedTokenSource(source, timing: timing, journal: journal)
        grantSource = source as? GrantTokenSource
        makeSource = nil
        grant = nil
        dpop = nil
        self.timing = timing
        self.options = options
        self.journal = journal
        hints = DPoPServerState(timeSource: timing.timeSource, journal: journal)
        self.resources = resources
    }

    // MARK: What happens

    /// What happens to the tokens from now on, for logs and metrics; each call makes a stream of its own.
    ///
    /// A stream ends with the authenticator. Of a listener that is 256 events behind the oldest are dropped.
    public var events: AsyncStream<OAuth2Event> { journal.events() }

    /// How often things have happened so far.
    public var counters: OAuth2Counters { journal.counters }

    // MARK: Sign-out

    /// Drops the tokens, here and in the store, and gets none until ``signIn(with:)-(Secret)``.
    ///
    /// Whoever waits for a token fails at once, with the code `reauthenticationRequired`. A token request that is under way goes on to
    /// its end, and what it brings is removed as well. The server does not hear of it: revoke the refresh token there, too.
    ///
    /// If the grant needs a user, a mark stays in the store, so that other processes and this one after a restart stay signed out, too.
    ///
    /// - Throws: ``OAuth2Error`` with the code `storeFailed` or `storeBusy` if the tokens may still be in the store; here they are
    ///   dropped all the same.
    public func signOut() async throws {
        let all = sources
        for source in all { source.signOut() }
        wider.withLock { $0 = [:] }
        journal.add(.signedOut)
        try await grantSource?.signOut()
        // The store has no tokens now. Any that it has later come from a new sign-in.
        for source in all { source.lookAgain() }
    }

    /// Goes on with another refresh token, after a sign-out or a grant that has ended.
    ///
    /// - Parameter refreshToken: The refresh token that somebody has just been granted.
    /// - Throws: ``OAuth2Error`` with the code `storeFailed` or `storeBusy` if it could not be stored; nothing has changed then.
    public func signIn(with refreshToken: Secret) async throws {
        try await grantSource?.signIn(refreshToken)
        for source in sources { source.signIn() }
        journal.add(.signedIn)
    }

    /// Goes on with the tokens that somebody has just granted, after a sign-out or a grant that has ended, or for the first time.
    ///
    /// - Parameter tokens: The tokens; if they are bound to a key, the authenticator needs a ``DPoPKey`` of the same kind.
    /// - Throws: ``OAuth2Error`` with the code `storeFailed` or `storeBusy` if they could not be stored; nothing has changed then.
    public func signIn(with tokens: IssuedTokens) async throws {
        try await grantSource?.signIn(tokens)
        for source in sources { source.signIn() }
        journal.add(.signedIn)
    }

    // MARK: Sources

    /// Every source that a request's token may come from.
    var sources: [CachedTokenSource] {
        [base] + wider.withLock { Array($0.values) }
    }

    /// The source of a grant that asks for what a resource demands, or the one that the application has for it; `nil` if there is none.
    func widerSource(answering demand: ResourceDemand) -> CachedTokenSource? {
        if let makeSource, let grant = grant?.answering(demand) {
            return widerSource(.grant(grant.identifier)) { makeSource(grant) }
        }
        return widerSource(.demand(demand)) { options.stepUpSource?(demand) }
    }

    private func widerSource(_ key: WiderKey, make: () -> (any TokenSource)?) -> CachedTokenSource? {
        if let source = wider.withLock({ $0[key] }) { return source }
        // Outside of the lock, for it may be the application's own; of two that are made at once, one is kept.
        guard let source = make() else { return nil }
        return wider.withLock { wider in
            if let source = wider[key] { return source }
            guard wider.count < Self.widerLimit else { return nil }
            let cached = CachedTokenSource(source, timing: timing, journal: journal)
            wider[key] = cached
            return cached
        }
    }

    /// A token that is good now, for whoever sends it by other means.
    ///
    /// - Parameter deadline: When to stop waiting for one; `nil` to wait for as long as getting one may take.
    /// - Returns: The token.
    /// - Throws: ``OAuth2Error`` if there is none; `NetworkError` with the code `timedOut` at the deadline.
    public func accessToken(until deadline: ContinuousClock.Instant? = nil) async throws -> AccessToken {
        try await base.token(for: TokenRequirements(deadline: deadline))
    }

    /// Puts the token on a request that is meant for it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - context: What is known about the operation.
    /// - Returns: The request with an `Authorization`, or unchanged if it has one already or goes elsewhere.
    /// - Throws: ``OAuth2Error`` if there is no token, the request would carry it unencrypted, or the resources name no origin;
    ///   `malformedRequest` for a token that RFC 6750 doesn't allow in a header field.
    public func authenticateRequest(_ request: URLRequest, context: InterceptorContext) async throws -> URLRequest {
        guard let url = request.url, !request.hasAuthorization else { return request }
        let origin = HTTPOrigin(url)
        guard try resources.covers(origin) else { return request }
        guard let origin, origin.isConfidential else { throw url.isNotConfidential("an access token") }
        let state = context.retryState
        let source = state.authenticationErrors.isEmpty ? base : source(for: state)
        let token =
            if let token = source.current() { token } else {
                try await source.token(for: TokenRequirements(deadline: context.deadline))
            }
        var request = request
        guard
            token.value.expose({ HTTPSyntax.isToken68($0[...]) })
                || token.type.equalsIgnoringASCIICase(AccessToken.notApplicable)
        else {
            throw OAuth2Error(
                .malformedRequest,
                "the access token has characters that no access token may have (RFC 6750 §2.1); it was not sent"
            )
        }
        guard let generator = token.proofGenerator else {
            guard !token.type.equalsIgnoringASCIICase(AccessToken.notApplicable) else {
                throw OAuth2Error(.unsupportedTokenType, "what was issued in exchange is no access token; ask for one")
            }
            request.setAuthorization(token.value.text(after: "Bearer "))
            return request
        }
        do {
            let proof = try token.value.expose { text in
                try generator.proof(
                    method: request.httpMethod ?? "GET",
                    url: url.absoluteString,
                    accessToken: text,
                    nonce: hints.nonce(for: origin),
                    date: hints.date(for: origin)
                )
            }
            request.setFields(("DPoP", proof), ("Authorization", token.value.text(after: "DPoP ")))
        } catch {
            throw OAuth2Error(.assertionFailed, "the request's DPoP proof could not be made", cause: error)
        }
        return request
    }

    /// Notes when a request with a proof is sent.
    ///
    /// - Parameters:
    ///   - request: The request as it will be sent.
    ///   - context: What is known about the operation.
    public func requestScheduled(_ request: URLRequest, context: InterceptorContext) {
        guard request.value(forHTTPHeaderField: "DPoP") != nil else { return }
        let now = timing.timeSource.now()
        scheduled.withLock { $0[context.operation] = now }
    }

    /// Takes the nonce and the time that a resource's answer has in it.
    ///
    /// - Parameter attempt: The attempt.
    public func attemptEnded(_ attempt: RequestAttempt) {
        guard let request = attempt.request, request.value(forHTTPHeaderField: "DPoP") != nil else { return }
        let sent = scheduled.withLock { $0.removeValue(forKey: attempt.context.operation) }
        guard let response = attempt.response else { return }
        let age = sent.map { timing.timeSource.now() - $0 }
        hints.note(response.headers, from: response.url, age: age ?? attempt.duration)
    }
}
