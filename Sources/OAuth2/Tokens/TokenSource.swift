/// A source of tokens.
///
/// Sources can wrap each other. A ``CachedTokenSource`` caches the token of a ``GrantTokenSource``,
/// a ``FallbackTokenSource`` tries several sources in order, and a ``TokenExchangeGrant`` has one
/// as its subject.
public protocol TokenSource: Sendable {
    /// Gets a token.
    ///
    /// - Parameter requirements: The requirements for the token.
    /// - Returns: A valid token that meets the requirements.
    /// - Throws: ``OAuth2Error`` if there's no token; `CancellationError` if the task is cancelled.
    func token(for requirements: TokenRequirements) async throws -> AccessToken

    /// A Boolean value that indicates whether the source can replace a rejected token. The default
    /// is `true`.
    var canReplaceTokens: Bool { get }
}

extension TokenSource {
    /// The default value, `true`.
    public var canReplaceTokens: Bool { true }

    /// Gets any valid token.
    ///
    /// - Returns: The token.
    /// - Throws: ``OAuth2Error`` if there's no token; `CancellationError` if the task is cancelled.
    public func token() async throws -> AccessToken {
        try await token(for: TokenRequirements())
    }

    /// Returns another token than a rejected one; `nil` if the source has no other at the moment.
    package func replacement(
        for token: AccessToken,
        until deadline: ContinuousClock.Instant? = nil
    ) async throws -> AccessToken? {
        guard canReplaceTokens else { return nil }
        do {
            let other = try await self.token(for: .replacing(token, deadline: deadline))
            return other.value == token.value ? nil : other
        } catch let error as any UnchangedTokenError where error.isUnchangedToken {
            return nil
        }
    }
}

/// A token source that gets its tokens from another one.
protocol WrappingTokenSource: TokenSource {
    var source: any TokenSource { get }
}

extension WrappingTokenSource {
    /// A Boolean value that indicates whether the wrapped source can replace a rejected token.
    public var canReplaceTokens: Bool { source.canReplaceTokens }
}

/// An error of a source that takes its tokens as its platform replaces them.
package protocol UnchangedTokenError: Error {
    /// A Boolean value that indicates whether the source still has only an unwanted token.
    var isUnchangedToken: Bool { get }
}

/// The requirements of a caller for a token.
public struct TokenRequirements: Sendable {
    /// The time when the caller stops waiting; `nil` to wait until the request times out.
    public var deadline: ContinuousClock.Instant?
    /// A Boolean value that indicates whether the caller still has a usable token.
    package var isInBackground = false
    private let unwanted: @Sendable (Secret) -> Bool

    /// Creates requirements.
    ///
    /// - Parameters:
    ///   - deadline: The time when the caller stops waiting. The default is `nil`, which waits
    ///     until the request times out.
    ///   - unwanted: A closure that returns `true` for an unsuitable token, such as a rejected one.
    ///     By default every token is suitable.
    public init(
        deadline: ContinuousClock.Instant? = nil,
        unwanted: @escaping @Sendable (Secret) -> Bool = { _ in false }
    ) {
        self.deadline = deadline
        self.unwanted = unwanted
    }

    /// Creates the requirements for a replacement of a rejected token.
    ///
    /// - Parameters:
    ///   - token: The rejected token.
    ///   - deadline: The time when the caller stops waiting. The default is `nil`, which waits
    ///     until the request times out.
    /// - Returns: The requirements.
    public static func replacing(_ token: AccessToken, deadline: ContinuousClock.Instant? = nil) -> Self {
        Self(deadline: deadline) { $0 == token.value }
    }

    /// Returns a Boolean value that indicates whether a token is unsuitable.
    ///
    /// - Parameter token: The token.
    /// - Returns: `true` if the caller needs another token.
    public func isUnwanted(_ token: Secret) -> Bool { unwanted(token) }
}
