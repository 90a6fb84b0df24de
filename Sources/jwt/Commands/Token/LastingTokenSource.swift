import OAuth2

/// A token source that replaces a cached token shortly before it expires.
///
/// When several processes request a token at the same time, only one refreshes it. The others find
/// the new token in the store.
struct LastingTokenSource: TokenSource {
    let source: GrantTokenSource
    /// The minimum remaining lifetime of a token from the store.
    let leastLifetime: Duration
    /// Receives the error if a token can't be replaced and is used anyway.
    let warn: @Sendable (OAuth2Error) -> Void

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
