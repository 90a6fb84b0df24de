public import Foundation
import Synchronization

/// The client exchanges one token for another ([RFC 8693](https://www.rfc-editor.org/rfc/rfc8693)).
///
/// The subject is a source of tokens, so that chains refresh themselves: whoever needs a token of this grant gets it by a subject
/// token that is good at that moment. So is the actor, for a service that acts on somebody's behalf and says so.
///
/// ```swift
/// let user = GrantTokenSource(server: server, clientAuthentication: authentication, grant: RefreshTokenGrant(refreshToken: first))
/// let grant = TokenExchangeGrant(subject: CachedTokenSource(user), identifier: "ada", audiences: ["reports"])
/// ```
public struct TokenExchangeGrant: Grant {
    static let type = "urn:ietf:params:oauth:grant-type:token-exchange"

    /// Who acts on the subject's behalf ([RFC 8693 §1.1](https://www.rfc-editor.org/rfc/rfc8693#section-1.1)).
    public struct Actor: Sendable {
        let source: any TokenSource
        let identifier: String
        let tokenType: String

        /// Names an actor.
        ///
        /// - Parameters:
        ///   - source: Where its tokens come from.
        ///   - identifier: Who it is, without secrets: tokens for different actors are kept apart by it.
        ///   - tokenType: The type of its tokens.
        public init(_ source: any TokenSource, identifier: String, tokenType: TokenType = .accessToken) {
            self.source = source
            self.identifier = identifier
            self.tokenType = tokenType.uri
        }
    }

    /// The type of the subject's tokens: access tokens, unless another is given.
    package var subjectTokenType: String { subjectType.uri }
    /// The grant's type and all that it asks for.
    public var identifier: String {
        (["token_exchange", name] + (actor.map { ["actor=\($0.identifier)"] } ?? [])
            + audiences.map { "audience=\($0)" } + access.identifier + (access.scope.map { ["scope=\($0)"] } ?? [])
            + (requestedType.map { ["requested_token_type=\($0)"] } ?? [])).joined(separator: "\n")
    }
    private let subject: any TokenSource
    private let subjectType: TokenType
    private let actor: Actor?
    private let name: String
    private let audiences: [String]
    private var access: RequestedAccess
    private let requestedType: TokenType?
    private let lastTokens = LastTokens()

    /// Makes the grant.
    ///
    /// - Parameters:
    ///   - subject: Where the tokens come from that are exchanged.
    ///   - subjectTokenType: The type of the subject's tokens.
    ///   - identifier: Who the subject is, without secrets: tokens of different subjects are kept apart by it.
    ///   - actor: Who acts on the subject's behalf; `nil` if the client takes the subject's place.
    ///   - audiences: The names of the services that the new token is for.
    ///   - resources: The URIs of the services that the new token is for.
    ///   - scope: The scope asked for; `nil` for the server's default.
    ///   - authorizationDetails: What the token is to entitle to.
    ///   - requestedTokenType: The type of the new token; `nil` to leave it to the server. Only access tokens can be put on requests;
    ///     others are for a further exchange, or to be handed on.
    public init(
        subject: any TokenSource,
        subjectTokenType: TokenType = .accessToken,
        identifier: String,
        actor: Actor? = nil,
        audiences: [String] = [],
        resources: [String] = [],
        scope: String? = nil,
        authorizationDetails: [AuthorizationDetail] = [],
        requestedTokenType: TokenType? = nil
    ) {
        self.subject = subject
        subjectType = subjectTokenType
        name = identifier
        self.actor = actor
        self.audiences = audiences
        access = RequestedAccess(scope: scope, resources: resources, details: authorizationDetails)
        requestedType = requestedTokenType
    }

    /// Always: a subject whose token has ended gets another.
    public var isRepeatable: Bool { true }

    /// The form's fields.
    ///
    /// - Parameter date: Not used.
    /// - Returns: `grant_type`, the subject's token and its type, those of the actor, and what is asked for.
    /// - Throws: What the sources throw; ``OAuth2Error`` with the code `malformedRequest` for a scope or resource that is none.
    public func parameters(at date: Date) async throws -> [(name: String, value: String)]? {
        try await form(subject: subject.token(), actor: actor?.source.token())
    }

    /// The same with other tokens of subject and actor.
    ///
    /// - Parameter date: Not used.
    /// - Returns: The fields; `nil` if neither has another token.
    /// - Throws: What the sources throw.
    public func renewedParameters(at date: Date) async throws -> [(name: String, value: String)]? {
        guard let last = lastTokens.value else { return nil }
        // It is not known which of the two was refused.
        let isActorReplaceable = actor?.source.canReplaceTokens ?? false
        guard subject.canReplaceTokens || isActorReplaceable else { return nil }
        let newSubject =
            try await subject.canReplaceTokens ? subject.token(for: .replacing(last.subject)) : last.subject
        var newActor = last.actor
        if let actor, let old = last.actor, isActorReplaceable {
            newActor = try await actor.source.token(for: .replacing(old))
        }
        return try form(subject: newSubject, actor: newActor)
    }

    /// The same grant with the scope that a resource demands besides its own.
    ///
    /// - Parameter demand: What the resource demands.
    /// - Returns: The grant; `nil` if the demand adds no scope.
    public func answering(_ demand: ResourceDemand) -> (any Grant)? {
        union(of: access.scope, and: demand).map { scope in
            Self(
                subject: subject,
                subjectTokenType: subjectType,
                identifier: name,
                actor: actor,
                audiences: audiences,
                resources: access.resources,
                scope: scope,
                authorizationDetails: access.details,
                requestedTokenType: requestedType
            )
        }
    }

    private func form(
        subject token: AccessToken,
        actor actorToken: AccessToken?
    ) throws(OAuth2Error) -> [(name: String, value: String)] {
        let access = try access.fields()
        lastTokens.value = (token, actorToken)
        var form = [
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
}

/// The tokens that were exchanged last.
private final class LastTokens: Sendable {
    private let tokens = Mutex<(subject: AccessToken, actor: AccessToken?)?>(nil)

    var value: (subject: AccessToken, actor: AccessToken?)? {
        get { tokens.withLock { $0 } }
        set { tokens.withLock { $0 = newValue } }
    }
}
