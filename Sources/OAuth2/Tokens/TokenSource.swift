/// What tokens come from.
///
/// Sources wrap each other: a ``CachedTokenSource`` keeps what a ``GrantTokenSource`` gets, a ``FallbackTokenSource`` asks one
/// after the other, and a ``TokenExchangeGrant`` has one as its subject.
public protocol TokenSource: Sendable {
    /// Gets a token.
    ///
    /// - Parameter requirements: What the token is for.
    /// - Returns: A token that is good now, and that the need does not rule out.
    /// - Throws: ``OAuth2Error`` if there is none; `CancellationError` if the task is cancelled.
    func token(for requirements: TokenRequirements) async throws -> AccessToken

    /// Whether there can be another token after one was refused; yes, unless a source says otherwise.
    var canReplaceTokens: Bool { get }
}

extension TokenSource {
    /// Yes.
    public var canReplaceTokens: Bool { true }

    /// Gets any token that is good now.
    ///
    /// - Returns: The token.
    /// - Throws: ``OAuth2Error`` if there is none; `CancellationError` if the task is cancelled.
    public func token() async throws -> AccessToken {
        try await token(for: TokenRequirements())
    }
}

/// What a token is needed for.
public struct TokenRequirements: Sendable {
    /// When the caller stops waiting; `nil` if it waits for as long as getting a token may take.
    public var deadline: ContinuousClock.Instant?
    private let unwanted: @Sendable (Secret) -> Bool

    /// Makes requirements.
    ///
    /// - Parameters:
    ///   - deadline: When the caller stops waiting.
    ///   - unwanted: Whether a token will not do, such as one that was refused.
    public init(
        deadline: ContinuousClock.Instant? = nil,
        unwanted: @escaping @Sendable (Secret) -> Bool = { _ in false }
    ) {
        self.deadline = deadline
        self.unwanted = unwanted
    }

    /// Makes the requirements for another token than one that was refused.
    ///
    /// - Parameters:
    ///   - token: The refused token.
    ///   - deadline: When the caller stops waiting.
    /// - Returns: The requirements.
    public static func replacing(_ token: AccessToken, deadline: ContinuousClock.Instant? = nil) -> Self {
        Self(deadline: deadline) { $0 == token.value }
    }

    /// Whether a token will not do.
    ///
    /// - Parameter token: The token.
    /// - Returns: Whether another is needed.
    public func isUnwanted(_ token: Secret) -> Bool { unwanted(token) }
}
