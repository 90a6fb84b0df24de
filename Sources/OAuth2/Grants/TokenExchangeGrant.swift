public import Foundation
public import FoundationNetworking
public import Networking
import Synchronization
import TokenGeneration

/// A grant that exchanges one token for another
/// ([RFC 8693](https://www.rfc-editor.org/rfc/rfc8693)).
///
/// The subject is a token source, so that a chain of exchanges refreshes itself: each exchange uses
/// a subject token that is currently valid. The actor is a token source too, for a service that
/// acts on behalf of the subject and discloses it.
///
/// ```swift
/// let user = CachedTokenSource(
///     client: OAuth2Client(
///         server: server,
///         clientAuthentication: authentication
///     ),
///     grant: RefreshTokenGrant(refreshToken: first)
/// )
/// let grant = TokenExchangeGrant(
///     subject: user,
///     identifier: "ada",
///     audiences: ["reports"]
/// )
/// ```
public struct TokenExchangeGrant: RepeatableGrant {
    static let type = "urn:ietf:params:oauth:grant-type:token-exchange"

    /// The party that acts on the subject's behalf
    /// ([RFC 8693 §1.1](https://www.rfc-editor.org/rfc/rfc8693#section-1.1)).
    public struct Actor: Sendable {
        let source: any TokenSource
        let identifier: String
        let tokenType: String

        /// Creates an actor.
        ///
        /// - Parameters:
        ///   - source: The source of the actor's tokens.
        ///   - identifier: A name without secrets that keeps different actors' tokens apart.
        ///   - tokenType: The type of the actor's tokens. The default is an access token.
        public init(_ source: any TokenSource, identifier: String, tokenType: TokenType = .accessToken) {
            self.source = source
            self.identifier = identifier
            self.tokenType = tokenType.uri
        }
    }

    /// The grant's type, the parties, and the requested access.
    public var identifier: String {
        var parts = ["token_exchange", name]
        if let actor { parts.append("actor=\(actor.identifier)") }
        parts += audiences.map { "audience=\($0)" }
        parts += access.identifier
        if let scope = access.scope { parts.append("scope=\(scope)") }
        if let requestedType { parts.append("requested_token_type=\(requestedType.uri)") }
        return parts.joinedAsLines
    }
    private let subject: any TokenSource
    private let subjectType: TokenType
    private let actor: Actor?
    private let name: String
    private let audiences: [String]
    private(set) var access: RequestedAccess
    private let requestedType: TokenType?
    private var lastTokens = SharedValue<(subject: AccessToken, actor: AccessToken?)?>(nil)

    /// Creates the grant.
    ///
    /// - Parameters:
    ///   - subject: The source of the tokens to exchange.
    ///   - subjectTokenType: The type of the subject's tokens. The default is an access token.
    ///   - identifier: A name without secrets that keeps different subjects' tokens apart.
    ///   - actor: The party that acts for the subject. With `nil`, the client impersonates it.
    ///   - audiences: The names of the services that the new token is for.
    ///   - resources: The URIs of the services that the new token is for.
    ///   - scope: The requested scope. The default, `nil`, requests the server's default.
    ///   - authorizationDetails: The details of the requested access.
    ///   - requestedTokenType: The type of the new token. The default, `nil`, leaves it to the
    ///     server. Only access tokens fit into requests; others are for another exchange or party.
    ///   - additionalParameters: The server's own parameters, without secrets, such as the name of
    ///     a trust relationship.
    public init(
        subject: any TokenSource,
        subjectTokenType: TokenType = .accessToken,
        identifier: String,
        actor: Actor? = nil,
        audiences: [String] = [],
        resources: [String] = [],
        scope: String? = nil,
        authorizationDetails: [AuthorizationDetail] = [],
        requestedTokenType: TokenType? = nil,
        additionalParameters: [String: String] = [:]
    ) {
        self.subject = subject
        subjectType = subjectTokenType
        name = identifier
        self.actor = actor
        self.audiences = audiences
        access = RequestedAccess(
            scope: scope,
            resources: resources,
            details: authorizationDetails,
            additionalParameters: additionalParameters
        )
        requestedType = requestedTokenType
    }

    /// Returns `grant_type`, the tokens and types of subject and actor, and the requested access.
    ///
    /// - Throws: The errors of the token sources; ``OAuth2Error`` with the code `malformedRequest`
    ///   for an invalid scope or resource, or an additional parameter that the request sets.
    public func parameters(at date: Date) async throws -> [(name: String, value: String)]? {
        try await form(subject: subject.token(), actor: actor?.source.token())
    }

    /// Returns `nil` if the sources of subject and actor have no other tokens.
    package func renewedParameters(at date: Date) async throws -> [(name: String, value: String)]? {
        guard let last = lastTokens.value else { return nil }
        // The server may have rejected either of the two.
        let newSubject = try await subject.replacement(for: last.subject)
        var newActor: AccessToken?
        if let actor, let old = last.actor { newActor = try await actor.source.replacement(for: old) }
        guard newSubject != nil || newActor != nil else { return nil }
        return try form(subject: newSubject ?? last.subject, actor: newActor ?? last.actor)
    }

    func requesting(_ access: RequestedAccess) -> Self {
        var grant = self
        grant.access = access
        grant.lastTokens = SharedValue(nil)
        return grant
    }

    private func form(
        subject token: AccessToken,
        actor actorToken: AccessToken?
    ) throws(OAuth2Error) -> [(name: String, value: String)] {
        let access = try access.fields(besides: Self.ownParameters)
        lastTokens.replace(with: (token, actorToken))
        var form: [(name: String, value: String)] = [
            ("grant_type", Self.type), ("subject_token", token.value.expose { $0 }),
            ("subject_token_type", subjectType.uri),
        ]
        if let actor, let actorToken {
            form += [("actor_token", actorToken.value.expose { $0 }), ("actor_token_type", actor.tokenType)]
        }
        form += audiences.map { ("audience", $0) }
        if let requestedType { form.append(("requested_token_type", requestedType.uri)) }
        return form + access
    }

    private static let ownParameters: Set = [
        "subject_token", "subject_token_type", "actor_token", "actor_token_type", "audience", "requested_token_type",
    ]
}

/// The type of a token that is exchanged, requested or issued
/// ([RFC 8693 §3](https://www.rfc-editor.org/rfc/rfc8693#section-3)), revoked or introspected
/// ([RFC 7009 §2.1](https://www.rfc-editor.org/rfc/rfc7009#section-2.1)).
public struct TokenType: Sendable, Hashable {
    /// The URI of the token type, or a name that a server defines.
    public let uri: String

    /// Creates a token type that isn't among the registered ones.
    public init(_ uri: String) {
        self.uri = uri
    }

    /// The hint for revocation and introspection
    /// ([RFC 7009 §2.1](https://www.rfc-editor.org/rfc/rfc7009#section-2.1)).
    var hint: String { uri.hasPrefix(Self.registered) ? String(uri.dropFirst(Self.registered.count)) : uri }

    private static let registered = "urn:ietf:params:oauth:token-type:"

    /// An access token that the same server issued.
    public static let accessToken = Self("urn:ietf:params:oauth:token-type:access_token")
    /// A refresh token that the same server issued.
    public static let refreshToken = Self("urn:ietf:params:oauth:token-type:refresh_token")
    /// An ID token of OpenID Connect.
    public static let idToken = Self("urn:ietf:params:oauth:token-type:id_token")
    /// A SAML 1.1 assertion, base64url-encoded.
    public static let saml1 = Self("urn:ietf:params:oauth:token-type:saml1")
    /// A SAML 2.0 assertion, base64url-encoded.
    public static let saml2 = Self("urn:ietf:params:oauth:token-type:saml2")
    /// An identity assertion JWT authorization grant, which another authorization server accepts
    /// ([draft](https://datatracker.ietf.org/doc/draft-ietf-oauth-identity-assertion-authz-grant/)).
    public static let identityAssertion = Self("urn:ietf:params:oauth:token-type:id-jag")
    /// A JWT from any issuer.
    public static let jwt = Self("urn:ietf:params:oauth:token-type:jwt")
}

/// A provider that exchanges one token for tokens with a narrower scope
/// ([RFC 8693](https://www.rfc-editor.org/rfc/rfc8693)).
///
/// ```swift
/// let provider = TokenExchangeProvider { Secret(try await session.token) }
/// let client = NetworkClient(options: .init(authenticationProvider: provider))
/// let licence = try await client.makeAuthorizedRequest(
///     exchangeRequest: URLRequest(url: tokenEndpoint),
///     scope: "licence.read",
///     request: URLRequest(url: licenceURL)
/// )
/// ```
///
/// An exchange is a `POST` to the exchange request's URL, with its header fields and a form of
/// `grant_type`, `scope`, `subject_token` and `subject_token_type`, in this order. It requires
/// https, follows no redirects, and is retried while the server is temporarily failing. Tokens of
/// another type than `Bearer` are rejected.
///
/// Tokens are cached by endpoint, scope and subject token until shortly before they expire.
/// Concurrent callers share one exchange. A cached token that a server rejects is exchanged again.
///
/// An ``OAuth2Authenticator`` takes a ``TokenExchangeGrant`` instead, which has actors, audiences
/// and other types of tokens.
public final class TokenExchangeProvider: AuthenticationProvider {
    private struct Key: Hashable {
        let url: URL
        let scope: String
        let subject: Secret
    }

    private final class Exchanged: Sendable {
        let token: AccessToken
        /// A Boolean value that indicates whether a caller got the token from the cache.
        let isReused = Atomic(false)

        init(_ token: AccessToken) { self.token = token }

        var text: String { token.value.expose { $0 } }
    }

    private let subjectToken: @Sendable () async throws -> Secret
    private let client: NetworkClient
    private let timing: OAuth2Timing
    private let hints: DPoPServerState
    private let tokens: SingleFlightCache<Key, Exchanged>

    /// Creates a provider.
    ///
    /// - Parameters:
    ///   - client: The client that sends the exchanges. Don't add an authenticator.
    ///   - timing: The timeout of an exchange, the number of attempts, and the clock.
    ///   - subjectToken: Returns the access token to exchange, such as that of a
    ///     ``CachedTokenSource``.
    public init(
        client: NetworkClient = NetworkClient(),
        timing: OAuth2Timing = OAuth2Timing(),
        subjectToken: @escaping @Sendable () async throws -> Secret
    ) {
        self.subjectToken = subjectToken
        self.client = client
        self.timing = timing
        hints = DPoPServerState(timeSource: timing.timeSource, journal: TokenJournal(client.options.observers))
        var policy = SingleFlightCache<Key, Exchanged>.Policy()
        policy.lifetime = { [timeSource = timing.timeSource] in
            let now = timeSource.now()
            let held = TokenLifecycle.Held(token: $0.token, generation: 0, at: now, jitter: 0)
            return (held.hard ?? held.soft) - now
        }
        tokens = SingleFlightCache(timeSource: timing.timeSource, policy: policy)
    }

    /// Returns a cached token, or exchanges the subject token for one.
    ///
    /// - Throws: ``OAuth2Error``: `requestRejected`, `reauthenticationRequired` or `invalidClient`
    ///   if the server rejects the exchange, `protocolViolation` or `unsupportedTokenType` if its
    ///   response has no usable token, `insecureTransport`, `endpointMissing`, `serverTransient` or
    ///   `serverUnreachable`; the closure's error; `NetworkError` with the code `timedOut` at the
    ///   deadline; `CancellationError`.
    public func bearerToken(
        exchanging exchangeRequest: URLRequest,
        scope: String,
        rejected: String?,
        until deadline: ContinuousClock.Instant?
    ) async throws -> String {
        let url = try exchangeRequest.url.required("the token endpoint")
        let key = Key(url: url, scope: scope, subject: try await subjectToken())
        if let kept = tokens.kept(key) {
            guard let rejected, kept.text.isExactly(rejected) else {
                kept.isReused.store(true, ordering: .relaxed)
                return kept.text
            }
            // Another token than one that has just been issued can't help.
            guard kept.isReused.load(ordering: .relaxed) else { return kept.text }
            tokens.remove(key) { $0 === kept }
        }
        return try await tokens.value(for: key, until: deadline) { [self] _ in
            Exchanged(try await exchange(exchangeRequest, key))
        }
        .text
    }

    private func exchange(_ exchangeRequest: URLRequest, _ key: Key) async throws -> AccessToken {
        let subject = key.subject.expose { $0 }
        let form = [
            ("grant_type", TokenExchangeGrant.type), ("scope", key.scope), ("subject_token", subject),
            ("subject_token_type", TokenType.accessToken.uri),
        ]
        var request = exchangeRequest
        request.httpMethod = "POST"
        request.setValue(FormURLEncoded.contentType, forHTTPHeaderField: "Content-Type")
        request.httpBodyStream = nil
        request.httpBody = Data(FormURLEncoded.encode(form).utf8)
        let requested = timing.timeSource.now()
        let place = "the token endpoint"
        var exchange = EndpointExchange(place: place, url: key.url, client: client, timing: timing, hints: hints)
        exchange.credential = .client
        return try await exchange.value { [request] _ in
            request
        } read: { response in
            try TokenResponse(parsing: response.body, status: response.status, requested: requested).accessToken
        }
    }
}
