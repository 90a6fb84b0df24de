import FoundationNetworking
import Networking

/// The rules for repeating requests to a platform's endpoint.
struct PlatformRetries: Sendable {
    /// The maximum time of a request with all its retries.
    var timeout = Duration.seconds(30)
    /// The maximum number of retries.
    var limit = 4
    /// The longest delay, unless the endpoint requests a longer one.
    var longestDelay = Duration.seconds(8)
    /// The statuses of a temporary failure, in addition to 408, 429 and 5xx.
    var transientStatuses: Set<Int> = []
    /// The delay and the number of retries after a 410, of an endpoint that is being updated.
    var whileGone: (delay: Duration, limit: Int)?

    func isTransient(_ status: Int) -> Bool {
        status == 429 || status == 408 || status >= 500 || transientStatuses.contains(status)
            || whileGone != nil && status == 410
    }

    /// Returns a policy that counts the retries after a 410 apart from the others.
    func policy(_ environment: WorkloadEnvironment) -> Retry.Policy {
        let usual = Retry.Policy.backoff(
            .exponential(
                .seconds(1),
                maximum: longestDelay,
                jitter: .equal,
                until: .maxRetries(limit),
                random: environment.random
            ),
            when: Retry.Condition { failure in
                if let error = failure.error as? ServerError { return isTransient(error.errorCode) }
                let codes: Set<NetworkError.Code> = [.cannotResolveHost, .cannotConnect, .connectionLost]
                return (failure.error as? NetworkError).map { codes.contains($0.code) } ?? false
            },
            maximumServerDelay: timeout,
            date: environment.timeSource.date
        )
        guard let whileGone else { return usual }
        let gone = Retry.Policy.backoff(
            .constant(whileGone.delay, until: .maxRetries(whileGone.limit)),
            when: .always,
            maximumServerDelay: timeout,
            date: environment.timeSource.date
        )
        return .custom { failure in
            let isGone = { (error: any Error) in (error as? ServerError)?.errorCode == 410 }
            let found = isGone(failure.error)
            let own = Retry.State(errors: failure.context.retryState.errors.filter { isGone($0) == found })
            return (found ? gone : usual).evaluateFailedRequest(
                FailedRequest(
                    failure.request,
                    response: failure.response,
                    error: failure.error,
                    context: InterceptorContext(retryState: own, traits: failure.context.traits)
                )
            )
        }
    }
}
