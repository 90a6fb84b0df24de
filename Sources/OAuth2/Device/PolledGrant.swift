import Networking

/// A grant for which the client polls the token endpoint until the user has decided elsewhere.
struct PolledGrant: Sendable {
    /// The form of each token request.
    let form: [(name: String, value: String)]
    /// The time when the grant ends, on the monotonic clock.
    let expiry: ContinuousClock.Instant
    /// The minimum time between two token requests.
    let interval: Duration
    /// The time before the first token request.
    let firstPause: Duration
    /// The message for a user that doesn't decide in time.
    let expired: String
}

extension OAuth2Client {
    /// Polls until the user has decided, and returns the tokens with the verified ID token.
    func tokens(
        for grant: PolledGrant,
        _ idToken: IDTokenRule,
        progress: (DeviceAuthorizationProgress) -> Void
    ) async throws -> IssuedTokens {
        try await verifying(IDTokenCheck(ofDevice: idToken)) {
            try await issuedTokens(for: grant, progress: progress)
        }
    }

    private func issuedTokens(
        for grant: PolledGrant,
        progress: (DeviceAuthorizationProgress) -> Void
    ) async throws -> IssuedTokens {
        let bound = try key.bound()
        // No retries in the endpoint: this loop decides when to poll.
        var client = self
        client.timing.attempts = 1
        let expired = OAuth2Error(.authorizationExpired, grant.expired)
        var polling = DevicePolling(interval: grant.interval)
        var (pause, event) = (grant.firstPause, DeviceAuthorizationProgress.Event.begun)
        while true {
            let timeLeft = grant.expiry - timing.timeSource.now()
            guard timeLeft > .zero else { throw expired }
            progress(DeviceAuthorizationProgress(event: event, pause: pause, timeLeft: timeLeft))
            if pause > .zero { try await timing.timeSource.sleep(min(pause, timeLeft)) }
            guard timing.timeSource.now() < grant.expiry else { throw expired }
            do {
                let answer = try await client.requestToken(
                    form: grant.form,
                    proof: bound?.generator,
                    isSingleUse: true,
                    until: deadline,
                    timeout: timing.timeout
                )
                return IssuedTokens(try answer.tokens(), boundKey: bound)
            } catch {
                try Task.checkCancellation()
                switch polling.next(after: error) {
                case .fail(let error): throw error
                case .wait(let time, let what): (pause, event) = (time, what)
                }
            }
        }
    }
}
