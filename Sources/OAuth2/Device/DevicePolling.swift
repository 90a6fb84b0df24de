import Networking

/// The state of a device that polls the token endpoint until its user has authorized it
/// ([RFC 8628 §3.5](https://www.rfc-editor.org/rfc/rfc8628#section-3.5)).
struct DevicePolling {
    typealias Event = DeviceAuthorizationProgress.Event

    /// The step after a response without tokens.
    enum Step {
        case wait(Duration, Event)
        case fail(OAuth2Error)
    }

    /// The minimum time to wait, which the server can raise.
    private(set) var interval: Duration
    private var unanswered = 0

    init(interval: Duration) {
        self.interval = interval
    }

    mutating func next(after error: OAuth2Error) -> Step {
        switch (error.code, error.serverCode) {
        case (.serverUnreachable, _), (.serverTransient, _):
            unanswered += 1
            // The delay doubles each time, up to about the time that a user is willing to wait.
            let backoff = Retry.Backoff.doubling(interval * 2, to: max(interval, .seconds(60)))
            return .wait(backoff.delay(retry: unanswered, atLeast: error.retryAfter ?? .zero), .unanswered)
        case (_, "authorization_pending"):
            unanswered = 0
            return .wait(interval, .pending)
        case (_, "slow_down"):
            unanswered = 0
            interval += .seconds(5)
            return .wait(interval, .slowedDown)
        case (_, "access_denied"): return .fail(error.coded(.authorizationDenied))
        case (_, "expired_token"): return .fail(error.coded(.authorizationExpired))
        default: return .fail(error)
        }
    }
}
