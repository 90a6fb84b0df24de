import Networking
import Synchronization

/// The refreshes of a client that are under way, and the results that no caller has taken yet: the owner of the tokens that a server issues.
///
/// A request continues when the caller that waits for it is cancelled, or runs out of time. Its result waits for the next call with the
/// same refresh token, which the server may not accept any more. The latest 1,000 of the kind are kept.
final class ClientRefreshes: Sendable {
    typealias Outcome = Result<IssuedTokens, OAuth2Error>

    private enum Entry {
        case request(Task<Outcome, Never>, as: String)
        /// Only the refresh token in the response was usable.
        case successor(Secret)
    }

    private struct State {
        var entries: [Secret: Entry] = [:]
        /// The keys of the entries, oldest first.
        var order: [Secret] = []

        mutating func set(_ entry: Entry, for token: Secret) {
            if entries.updateValue(entry, forKey: token) == nil { order.append(token) }
            if order.count > ClientRefreshes.limit { entries[order.removeFirst()] = nil }
        }

        /// A token that goes on as it is needs no entry.
        mutating func succeed(_ token: Secret, by successor: Secret) {
            if successor == token { remove([token]) } else { set(.successor(successor), for: token) }
        }

        mutating func remove(_ tokens: [Secret]) {
            for token in tokens where entries.removeValue(forKey: token) != nil { order.removeAll { $0 == token } }
        }
    }

    private static let limit = 1_000
    private let state = Mutex(State())
    private let timeSource: TimeSource

    init(timeSource: TimeSource) {
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
            switch entry(for: token, as: request, boundKey, ask) {
            case .successor(let successor):
                token = successor
                path.append(token)
            case .request(let task, request):
                let tokens = try await outcome(of: task, within: timeout).get()
                state.withLock { $0.remove(path) }
                return tokens
            case .request(let task, _):
                // Something else was asked for with the same token: its successor is what there is to ask with.
                guard case .success(let tokens) = try await outcome(of: task, within: timeout) else { continue }
                let successor = tokens.refreshToken ?? token
                state.withLock { $0.succeed(token, by: successor) }
            }
        }
    }

    private func entry(
        for token: Secret,
        as request: String,
        _ boundKey: BoundKey?,
        _ ask: @escaping @Sendable (Secret) async throws(OAuth2Error) -> TokenAnswer
    ) -> Entry {
        state.withLock { state in
            if let entry = state.entries[token] { return entry }
            let task = Task.detached { [self] () async -> Outcome in
                do throws(OAuth2Error) {
                    switch try await ask(token) {
                    case .tokens(var response):
                        // A server that sends no new refresh token means the old one to go on (RFC 6749 §6).
                        response.refreshToken = response.refreshToken ?? token
                        return .success(IssuedTokens(response, boundKey: boundKey))
                    case .refreshTokenOnly(let successor, let error):
                        self.state.withLock { $0.succeed(token, by: successor) }
                        return .failure(error)
                    }
                } catch {
                    self.state.withLock { $0.remove([token]) }
                    return .failure(error)
                }
            }
            state.set(.request(task, as: request), for: token)
            return .request(task, as: request)
        }
    }

    /// Waits for a request, which continues even if no caller waits for it.
    private func outcome(of task: Task<Outcome, Never>, within timeout: Duration) async throws -> Outcome {
        do {
            return try await SharedTask(timeout: timeout, timeSource: timeSource) { await task.value }.value()
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
}
