public import Foundation

/// A grant that exchanges one token for another
/// ([RFC 8693](https://www.rfc-editor.org/rfc/rfc8693)).
///
/// The subject is a token source, so that a chain of exchanges refreshes itself: each exchange uses
/// a subject token that is currently valid. The actor is a token source too, for a service that
/// acts on behalf of the subject and discloses it.
///
/// ```swift
/// let user = GrantTokenSource(
///     client: OAuth2Client(
///         server: server,
///         clientAuthentication: authentication
///     ),
///     grant: RefreshTokenGrant(refreshToken: first)
/// )
/// let grant = TokenExchangeGrant(
///     subject: CachedTokenSource(user),
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

    /// The type of the subject's tokens.
    package var subjectTokenType: String { subjectType.uri }
    /// The grant's type, the parties, and the requested access.
    public var identifier: String {
        var parts = ["token_exchange", name]
        if let actor { parts.append("actor=\(actor.identifier)") }
        parts += audiences.map { "audience=\($0)" }
        parts += access.identifier
        if let scope = access.scope { parts.append("scope=\(scope)") }
        if let requestedType { parts.append("requested_token_type=\(requestedType.uri)") }
        return parts.joined(separator: "\n")
    }
    private let subject: any TokenSource
    private let subjectType: TokenType
    private let actor: Actor?
    private let name: String
    private let audiences: [String]
    private(set) var access: RequestedAccess
    private let requestedType: TokenType?
    /// The tokens of the latest exchange.
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

    /// Returns `grant_type`, the tokens and types of subject and actor, and the access.
    ///
    /// - Throws: The errors of the token sources; ``OAuth2Error`` with the code `malformedRequest`
    ///   for an invalid scope or resource, or an additional parameter that the request sets.
    public func parameters(at date: Date) async throws -> [(name: String, value: String)]? {
        try await form(subject: subject.token(), actor: actor?.source.token())
    }

    /// Returns the fields with other tokens of subject and actor, or `nil` if neither source has
    /// another token.
    public func renewedParameters(at date: Date) async throws -> [(name: String, value: String)]? {
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
