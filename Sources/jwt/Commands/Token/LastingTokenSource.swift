import OAuth2

/// A token source that replaces a cached token shortly before it expires.
///
/// When several processes request a token at the same time, only one refreshes it. The others find
/// the new token in the store.
struct LastingTokenSource: TokenSource {
    private let source: GrantTokenSource
    private let leastLifetime: Duration
    private let warn: @Sendable (OAuth2Error) -> Void

    /// - Parameters:
    ///   - source: The underlying token source.
    ///   - leastLifetime: The minimum remaining lifetime of a token from the store.
    ///   - warn: A closure that receives the error if a token can't be replaced and is used
    ///     anyway.
    init(_ source: GrantTokenSource, leastLifetime: Duration, warn: @escaping @Sendable (OAuth2Error) -> Void) {
        self.source = source
        self.leastLifetime = leastLifetime
        self.warn = warn
    }

    func token(for need: TokenRequirements) async throws -> AccessToken {
        let token = try await source.token(for: need)
        guard token.isFound, let expiry = token.expiry, expiry - .now < leastLifetime else { return token }
        let value = token.value
        do {
            return try await source.token(
                for: TokenRequirements(deadline: need.deadline) { $0 == value || need.isUnwanted($0) }
            )
        } catch let error as OAuth2Error
            where error.isRetryable || [.storeBusy, .storeUnavailable].contains(error.code)
        {
            warn(error)
            return token
        }
    }
}
