import Foundation
import FoundationNetworking

// What happens between two attempts.
extension AttemptLoop {
    /// An authenticator that never stops asking would go round for ever.
    private static let maximumAuthenticationRetries = 10

    /// Tells interceptors how an attempt ended.
    func report(
        _ outcome: Result<Success, Failure>,
        started: ContinuousClock.Instant,
        metrics: MetricsBox?,
        context: InterceptorContext
    ) {
        guard !chain.links.isEmpty else { return }
        var attempt = RequestAttempt(context: context, duration: options.timeSource.now() - started)
        attempt.exchanges = metrics?.all ?? []
        switch outcome {
        case .success(let success):
            attempt.request = success.request
            attempt.response = success.response
        case .failure(let failure):
            attempt.request = failure.request
            attempt.response = failure.response
            attempt.error = failure.error
        }
        // Who keeps the attempt must not keep the exchange.
        attempt.response?.unread = nil
        chain.ended(attempt)
    }

    /// Decides what follows a failure: returns, after the delay, if there is to be another attempt, or throws.
    ///
    /// - Returns: What the next attempt costs of the budget for retries; `nil` if nothing.
    func prepareNextAttempt(
        after failure: Failure,
        state: inout Retry.State,
        context: InterceptorContext
    ) async throws -> Int? {
        guard let request = failure.request, !failure.isFinal else { throw failure.error.ending(reason: nil, state) }
        var decision = RetryDecision()
        for link in chain.links {
            // Whoever a redirect led to never had the credential, so that its refusal says nothing of it.
            if link.isAuthenticator, !failure.isFromFirstOrigin { continue }
            let action = link.interceptor.evaluateFailedRequest(
                request,
                response: failure.response,
                error: failure.error,
                context: context
            )
            decision.add(action, of: link, priority: options.retryActionPriority)
        }
        let isForAuthentication = decision.isForAuthentication
        if isForAuthentication, state.authenticationErrors.count >= Self.maximumAuthenticationRetries {
            throw failure.error.ending(reason: .retries(Self.maximumAuthenticationRetries), state)
        }
        if decision.isForAnotherAttempt, request.httpBody == nil, context.body?.isReplayable == false {
            throw failure.error.ending(reason: .bodyNotReplayable, state)
        }
        let cost: Int?
        switch decision.action {
        case .none:
            throw failure.error.ending(reason: nil, state)
        case .noRetry(let reason):
            throw failure.error.ending(reason: reason, state)
        case .retryAfter(let delay) where delay > .zero:
            if let deadline = context.deadline, options.timeSource.now() + delay >= deadline {
                throw failure.error.ending(reason: .delay(timeout ?? .zero), state)
            }
            cost = try spend(on: failure.error, request, isForAuthentication: isForAuthentication, state)
            state.totalDelay += delay
            state.delays.append(delay)
            do { try await options.timeSource.sleep(delay) } catch {
                state.append(failure.error, isForAuthentication: isForAuthentication)
                throw NetworkError.cancelled(endpoint: request.endpoint).ending(reason: nil, state)
            }
        case .retry, .retryAfter:
            cost = try spend(on: failure.error, request, isForAuthentication: isForAuthentication, state)
        }
        state.append(failure.error, isForAuthentication: isForAuthentication)
        return cost
    }

    /// Takes what a retry costs from the budget; one that an authenticator asks for costs nothing.
    private func spend(
        on error: any Error,
        _ request: URLRequest,
        isForAuthentication: Bool,
        _ state: Retry.State
    ) throws -> Int? {
        guard !isForAuthentication, let budget = options.retryBudget else { return nil }
        guard let cost = budget.withdraw(for: error, request.url) else {
            throw error.ending(reason: .budget, state)
        }
        return cost
    }
}
