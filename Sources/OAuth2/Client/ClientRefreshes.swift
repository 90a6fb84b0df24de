import Networking

/// The token refreshes of a client in progress, and the results that no caller has received yet.
///
/// A request continues when the caller that waits for it is cancelled or runs out of time. Its
/// result waits for the next call with the same refresh token, which the server may not accept a
/// second time. The cache keeps the latest 1,000 entries.
final class ClientRefreshes: Sendable {
    private enum Entry {
        case answer(Result<IssuedTokens, OAuth2Error>, to: String)
        /// The successor of the refresh token, because nothing else in the response was usable or
        /// because different parameters were requested.
        case successor(Secret)
    }

    private let entries: SingleFlightCache<Secret, Entry>
    private let timeSource: TimeSource

    init(timeSource: TimeSource) {
        var policy = SingleFlightCache<Secret, Entry>.Policy()
        policy.lifetime = { if case .answer(.failure, _) = $0 { .zero } else { .seconds(3_000_000_000) } }
        entries = SingleFlightCache(timeSource: timeSource, policy: policy)
        self.timeSource = timeSource
    }

    /// Returns the tokens of a refresh request, which may still be running or have ended already,
    /// and forgets them.
    ///
    /// The closure requests tokens with the refresh token or its known successor.
    ///
    /// - Throws: ``OAuth2Error``; `CancellationError` at once if the task is cancelled.
    func tokens(
        refreshing first: Secret,
        as request: String,
        within timeout: Duration,
        boundKey: BoundKey?,
        _ ask: @escaping @Sendable (Secret) async throws(OAuth2Error) -> TokenAnswer
    ) async throws -> IssuedTokens {
        var (token, path) = (first, [first])
        while true {
            try Task.checkCancellation()
            switch try await entry(for: token, as: request, within: timeout, boundKey, ask) {
            case .successor(let successor):
                token = successor
                path.append(token)
            case .answer(let answer, request):
                let tokens = try answer.get()
                path.forEach(entries.remove)
                return tokens
            case .answer(let answer, _):
                // The earlier request was for different access, so continue with its refresh token.
                if case .success(let tokens) = answer { succeed(token, by: tokens.refreshToken ?? token) }
            }
        }
    }

    /// Waits for a request, which continues even without a caller.
    private func entry(
        for token: Secret,
        as request: String,
        within timeout: Duration,
        _ boundKey: BoundKey?,
        _ ask: @escaping @Sendable (Secret) async throws(OAuth2Error) -> TokenAnswer
    ) async throws -> Entry {
        do {
            return try await entries.value(for: token, until: timeSource.now() + timeout) { [self] in
                do throws(OAuth2Error) {
                    switch try await ask(token) {
                    case .tokens(var response):
                        // Without a new refresh token, the old one stays valid (RFC 6749 §6).
                        response.refreshToken = response.refreshToken ?? token
                        return .answer(.success(IssuedTokens(response, boundKey: boundKey)), to: request)
                    case .refreshTokenOnly(let successor, let error):
                        succeed(token, by: successor)
                        return .answer(.failure(error), to: request)
                    }
                } catch {
                    return .answer(.failure(error), to: request)
                }
            }
        } catch let error as NetworkError where error.code == .timedOut {
            var error = OAuth2Error(
                .serverUnreachable,
                "the token endpoint didn't respond in time; call again with the same refresh token to get the result of this request",
                cause: error
            )
            error.isPossiblyLostRotation = true
            throw error
        }
    }

    /// Records a token's successor, unless it's the token itself.
    private func succeed(_ token: Secret, by successor: Secret) {
        if successor == token { entries.remove(token) } else { entries.keep(.successor(successor), for: token) }
    }
}
