import Foundation
import FoundationNetworking

// The decision between two attempts.
extension AttemptLoop {
    /// Returns, after the delay, if the client makes another attempt; throws if it doesn't.
    ///
    /// - Returns: The cost of the next attempt in the retry budget, or `nil` if it's free.
    func prepareNextAttempt(
        after failure: Failure,
        state: inout Retry.State,
        context: InterceptorContext
    ) async throws -> Int? {
        guard let request = failure.request, !failure.isFinal else { throw failure.error.ending(reason: nil, state) }
        var decision = RetryDecision()
        for link in chain.links {
            // A redirect's target never received the credential, so it can't have rejected it.
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
        if isForAuthentication, state.authenticationErrors.count >= Retry.maximumAuthenticationRetries {
            throw failure.error.ending(reason: .retries(Retry.maximumAuthenticationRetries), state)
        }
        if decision.action.isRetry, request.httpBody == nil, context.body?.isReplayable == false {
            throw failure.error.ending(reason: .bodyNotReplayable, state)
        }
        let delay: Duration
        switch decision.action {
        case .none: throw failure.error.ending(reason: nil, state)
        case .noRetry(let reason): throw failure.error.ending(reason: reason, state)
        case .retry: delay = .zero
        case .retryAfter(let duration): delay = duration
        }
        if let deadline = context.deadline, options.timeSource.now() + delay >= deadline {
            throw failure.error.ending(reason: .delay(timeout ?? .zero), state)
        }
        // Retries for authentication are free.
        let budget = isForAuthentication ? nil : options.retryBudget
        let cost = budget?.withdraw(for: failure.error, request.url)
        if budget != nil, cost == nil { throw failure.error.ending(reason: .budget, state) }
        state.append(failure.error, isForAuthentication: isForAuthentication)
        guard delay > .zero else { return cost }
        state.totalDelay += delay
        state.delays.append(delay)
        do { try await options.timeSource.sleep(delay) } catch {
            throw NetworkError.cancelled(endpoint: request.endpoint).ending(reason: nil, state)
        }
        return cost
    }
}

extension Error {
    /// Returns the last error of an operation, with the operation's history if it has one.
    func ending(reason: Retry.Error?, _ state: Retry.State) -> any Error {
        guard reason != nil || !state.errors.isEmpty || !state.authenticationErrors.isEmpty else { return self }
        let outcome = Retry.Outcome(reason: reason, state: state)
        switch self {
        case var error as ServerError:
            error.retry = outcome
            return error
        case var error as NetworkError:
            error.retry = outcome
            return error
        default:
            return self
        }
    }
}
