import OAuth2

/// Tokens that last for some time: one that is about to expire is replaced before it is handed out.
///
/// Of many processes that ask at once, one replaces it: the others find its successor in the store.
struct LastingTokenSource: TokenSource {
    private let source: GrantTokenSource
    private let leastLifetime: Duration
    private let warn: @Sendable (OAuth2Error) -> Void

    /// - Parameters:
    ///   - source: Where the tokens come from.
    ///   - leastLifetime: For how long a token that was found in the store must still be good.
    ///   - warn: Is told why a token could not be replaced that is handed out all the same.
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
