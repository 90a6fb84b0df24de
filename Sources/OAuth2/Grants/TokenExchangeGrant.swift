import Synchronization

/// The client exchanges one token for another ([RFC 8693](https://www.rfc-editor.org/rfc/rfc8693)).
///
/// The subject is a source of tokens, so that chains refresh themselves: whoever needs a token of this grant gets it by a subject
/// token that is good at that moment.
///
/// ```swift
/// let user = GrantTokenSource(server: server, clientAuthentication: authentication, grant: RefreshTokenGrant(refreshToken: first))
/// let grant = TokenExchangeGrant(subject: CachedTokenSource(user), identifier: "ada", audience: "reports")
/// ```
public struct TokenExchangeGrant: Grant {
    /// The type of the subject's tokens: access tokens, unless another is given.
    public let subjectTokenType: String
    /// The grant's type and all that it asks for.
    public let identifier: String
    private let subject: any TokenSource
    private let fields: [(name: String, value: String)]
    private let scope: String?
    private let name: String
    private let lastSubject = LastToken()

    /// Makes the grant.
    ///
    /// - Parameters:
    ///   - subject: Where the tokens come from that are exchanged.
    ///   - identifier: Who the subject is, without secrets: tokens of different subjects are kept apart by it.
    ///   - audience: The name of the service that the new token is for.
    ///   - resource: The URI of the service that the new token is for.
    ///   - scope: The scope asked for; `nil` for the server's default.
    ///   - subjectTokenType: The type of the subject's tokens.
    public init(
        subject: any TokenSource,
        identifier: String,
        audience: String? = nil,
        resource: String? = nil,
        scope: String? = nil,
        subjectTokenType: String = "urn:ietf:params:oauth:token-type:access_token"
    ) {
        self.subject = subject
        self.subjectTokenType = subjectTokenType
        self.scope = scope
        name = identifier
        fields = [("audience", audience), ("resource", resource), ("scope", scope)].compactMap { field in
            field.1.map { (field.0, $0) }
        }
        self.identifier = (["token_exchange", identifier] + fields.map { "\($0.name)=\($0.value)" }).joined(
            separator: "\n"
        )
    }

    private init(_ grant: Self, scope: String) {
        let value = { name in grant.fields.first { $0.name == name }?.value }
        self.init(
            subject: grant.subject,
            identifier: grant.name,
            audience: value("audience"),
            resource: value("resource"),
            scope: scope,
            subjectTokenType: grant.subjectTokenType
        )
    }

    /// Always: a subject whose token has ended gets another.
    public var isRepeatable: Bool { true }

    /// The form's fields.
    ///
    /// - Returns: `grant_type`, the subject's token and its type, and what is asked for.
    /// - Throws: What the subject throws.
    public func parameters() async throws -> [(name: String, value: String)]? {
        form(for: try await subject.token())
    }

    /// The same with another token of the subject.
    ///
    /// - Returns: The fields; `nil` if the subject has no other token.
    /// - Throws: What the subject throws.
    public func renewedParameters() async throws -> [(name: String, value: String)]? {
        guard subject.canReplaceTokens, let last = lastSubject.value else { return nil }
        return form(for: try await subject.token(for: .replacing(last)))
    }

    /// The same grant with the scope that a resource demands besides its own.
    ///
    /// - Parameter demand: What the resource demands.
    /// - Returns: The grant; `nil` if the demand adds no scope.
    public func answering(_ demand: ResourceDemand) -> (any Grant)? {
        union(of: scope, and: demand).map { Self(self, scope: $0) }
    }

    private func form(for token: AccessToken) -> [(name: String, value: String)] {
        lastSubject.value = token
        return [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("subject_token", token.value.expose { $0 }),
            ("subject_token_type", subjectTokenType),
        ] + fields
    }
}

/// The token that was exchanged last.
private final class LastToken: Sendable {
    private let token = Mutex<AccessToken?>(nil)

    var value: AccessToken? {
        get { token.withLock { $0 } }
        set { token.withLock { $0 = newValue } }
    }
}
