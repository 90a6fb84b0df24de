/// The combined decision of all interceptors after a failure.
struct RetryDecision {
    private var authentication: Retry.Action = .none
    private var others: Retry.Action = .none

    mutating func add(
        _ action: Retry.Action,
        of link: InterceptorChain.Link,
        priority: (Retry.Action, Retry.Action) -> Retry.Action
    ) {
        if link.isAuthenticator {
            authentication = Retry.Action.highestPriority(authentication, action)
        } else {
            others = priority(others, action)
        }
    }

    var isForAuthentication: Bool { authentication.isRetry }

    var action: Retry.Action {
        if case .none = authentication { others } else { authentication }
    }
}
