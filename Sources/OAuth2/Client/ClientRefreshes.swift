import Networking

/// The refreshes of a client that are under way, and the results that no caller has taken yet: the owner of the tokens that a server issues.
///
/// A request continues when the caller that waits for it is cancelled, or runs out of time. Its result waits for the next call with the
/// same refresh token, which the server may not accept any more. The latest 1,000 of the kind are kept.
final class ClientRefreshes: Sendable {
    private enum Entry {
        case answer(Result<IssuedTokens, OAuth2Error>, to: String)
        /// Only the refresh token in the response was usable, or it is what other requests go on with.
        case successor(Secret)
    }

    private let entries: SingleFlightCache<Secret, Entry>
    private let timeSource: TimeSource

    init(timeSource: TimeSource) {
        var policy = SingleFlightCache<Secret, Entry>.Policy()
        policy.lifetime = { if case .answer(.failure, _) = $0 { .zero } else { .seconds(Int32.max) } }
        entries = SingleFlightCache(timeSource: timeSource, policy: policy)
        self.timeSource = timeSource
    }

    /// Gets tokens with a refresh token: those that a request brings, or has brought already.
    ///
    /// - Parameters:
    ///   - first: The refresh token.
    ///   - request: What is asked for with it.
    ///   - timeout: How long to wait.
    ///   - boundKey: The key that the tokens are bound to.
    ///   - ask: Asks the server with a refresh token: the one given, or the successor of it that is known here.
    /// - Returns: The tokens, which are the caller's from then on.
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
                // Something else was asked for with the same token: its successor is what there is to ask with.
                if case .success(let tokens) = answer { succeed(token, by: tokens.refreshToken ?? token) }
            }
        }
    }

    /// Waits for a request, which continues even if no caller waits for it.
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
                        // A server that sends no new refresh token means the old one to go on (RFC 6749 §6).
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
                "no answer came in time; it is waited for, and is there for the next call with the same refresh token",
                cause: error
            )
            error.isPossiblyLostRotation = true
            throw error
        }
    }

    /// A token that goes on as it is needs no entry.
    private func succeed(_ token: Secret, by successor: Secret) {
        if successor == token { entries.remove(token) } else { entries.keep(.successor(successor), for: token) }
    }
}
