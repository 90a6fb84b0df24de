import Networking
import Testing

@testable import OAuth2

/// Tests of the times in a token's life.
@Suite("TokenLifecycle: timing")
struct TokenLifecycleTimingTests {
    private let start = ContinuousClock.now

    @Test(
        "The soft and hard expiry scale with the lifetime",
        arguments: [
            (lifetime: 180.0, softEarliest: 135.0, softLatest: 157.5, hard: 162.0),
            (lifetime: 59.0, softEarliest: 44.25, softLatest: 51.625, hard: 53.1),
            (lifetime: 3600.0, softEarliest: 3300.0, softLatest: 3450.0, hard: 3570.0),
            (lifetime: 1.0, softEarliest: 0.75, softLatest: 0.875, hard: 0.9),
        ]
    )
    func windows(lifetime: Double, softEarliest: Double, softLatest: Double, hard: Double) {
        for (jitter, soft) in [(1.0, softEarliest), (0.0, softLatest), (7.0, softEarliest), (-7.0, softLatest)] {
            let life = lifecycle(holding: token("t", lifetime: lifetime), jitter: jitter)
            #expect(life.decision(at: at(soft - 0.001)) == .use("t"))
            #expect(life.decision(at: at(soft + 0.001)) == .useAndRefresh("t"))
            #expect(life.decision(at: at(hard - 0.001)) == .useAndRefresh("t"))
            #expect(life.decision(at: at(hard + 0.001)) == .wait)
        }
    }

    @Test(
        "Uses a token with a lifetime below one second for a second, without a background refresh",
        arguments: [0, 0.4]
    )
    func noLifetime(lifetime: Double) {
        var life = TokenLifecycle()
        // The response took two seconds, so the token had expired before it arrived.
        life.received(token("t", lifetime: lifetime), at: at(2), jitter: 0.5)
        #expect(life.decision(at: at(2)) == .use("t"))
        #expect(life.decision(at: at(2.999)) == .use("t"))
        #expect(life.decision(at: at(3)) == .wait)
    }

    @Test("Refreshes a token of unknown lifetime after ten minutes, and uses it until it's rejected")
    func unknownLifetime() {
        let life = lifecycle(holding: token("t", lifetime: nil))
        #expect(life.decision(at: at(599)) == .use("t"))
        #expect(life.decision(at: at(600)) == .useAndRefresh("t"))
        #expect(life.decision(at: at(1_000_000)) == .useAndRefresh("t"))
    }

    @Test("A lifetime counts from the request, not from the response")
    func slowAnswer() {
        var life = TokenLifecycle()
        life.received(token("t", lifetime: 100), at: at(60), jitter: 0)
        #expect(life.decision(at: at(89.9)) == .useAndRefresh("t"))
        #expect(life.decision(at: at(90)) == .wait)
    }

    @Test("Callers wait before the first token")
    func empty() {
        #expect(TokenLifecycle().decision(at: start) == .wait)
        #expect(TokenLifecycle().generation == 0)
    }

    @Test("Doesn't repeat a failed background refresh for 30 seconds")
    func backgroundPause() {
        var life = lifecycle(holding: token("t", lifetime: 3600), jitter: 1)
        #expect(life.decision(at: at(3300)) == .useAndRefresh("t"))
        life.failed(with: OAuth2Error(.serverTransient, "overloaded"), at: at(3300), jitter: 0)
        #expect(life.decision(at: at(3329.9)) == .use("t"))
        #expect(life.decision(at: at(3330)) == .useAndRefresh("t"))
    }

    @Test("The delay of background refreshes doesn't apply to a caller without a token")
    func pauseIsForBackgroundOnly() {
        var life = lifecycle(holding: token("t", lifetime: 100))
        life.failed(with: OAuth2Error(.serverTransient, "overloaded"), at: at(89), jitter: 0)
        #expect(life.decision(at: at(90)) == .wait)
    }

    @Test("A new token ends the delay")
    func tokenEndsPause() {
        var life = lifecycle(holding: token("t", lifetime: 100), jitter: 1)
        life.failed(with: OAuth2Error(.serverTransient, "overloaded"), at: at(80), jitter: 0)
        life.received(token("u", lifetime: 10, requested: at(81)), at: at(81), jitter: 1)
        #expect(life.decision(at: at(89)) == .useAndRefresh("u"))
    }

    @Test("After the end of a grant, callers use the last token until it expires, and then fail at once")
    func dead() {
        var life = lifecycle(holding: token("t", lifetime: 100), jitter: 1)
        life.failed(with: OAuth2Error(.reauthenticationRequired, "ended"), at: at(80), jitter: 0)
        #expect(life.decision(at: at(89)) == .use("t"))
        #expect(life.decision(at: at(90)) == .fail(.reauthenticationRequired))
        life.received(token("u", lifetime: 100, requested: at(91)), at: at(91), jitter: 1)
        #expect(life.decision(at: at(92)) == .use("u"))
    }

    @Test(
        "Any other failure ends nothing",
        arguments: [
            OAuth2Error.Code.invalidClient, .requestRejected, .serverTransient, .serverUnreachable, .protocolViolation,
            .storeFailed, .assertionFailed,
        ]
    )
    func notDead(code: OAuth2Error.Code) {
        var life = TokenLifecycle()
        life.failed(with: OAuth2Error(code, "failed"), at: start, jitter: 0)
        #expect(life.decision(at: at(0.5)) == .wait)
    }

    @Test(
        "Backs off longer after every denial, up to a minute, but not after a failure of the store",
        arguments: [
            OAuth2Error.Code.requestRejected, .protocolViolation, .unsupportedTokenType, .missingNonce, .repeatedNonce,
            .tooManyNonces, .proofRejected, .assertionFailed, .grantFailed, .accessTokenRejected,
        ]
    )
    func refusals(code: OAuth2Error.Code) {
        for (jitter, pauses) in [(1.0, [1.0, 2, 4, 8, 16, 32, 60, 60]), (0, [0.5, 1, 2, 4, 8, 16, 30, 30])] {
            var life = TokenLifecycle()
            var now = start
            for pause in pauses {
                life.failed(with: OAuth2Error(code, "refused"), at: now, jitter: jitter)
                #expect(life.decision(at: now) == .pause(.seconds(pause), code))
                now += .seconds(pause)
                #expect(life.decision(at: now) == .wait)
            }
            life.failed(with: OAuth2Error(.storeFailed, "full"), at: now, jitter: jitter)
            #expect(life.decision(at: now) == .wait)
        }
    }

    @Test("Honors Retry-After up to the limit, also in the background", arguments: [300, 20])
    func longestRetryAfter(seconds: Int) {
        var life = TokenLifecycle(limits: .init(longestRetryAfter: .seconds(seconds)))
        life.received(token("t", lifetime: 3600), at: start, jitter: 1)
        var error = OAuth2Error(.serverTransient, "overloaded")
        error.retryAfter = .seconds(1_000_000)
        life.failed(with: error, at: at(3300), jitter: 1)
        let gate = 3300.0 + Double(max(seconds, 30))
        if gate < 3570 { #expect(life.decision(at: at(gate)) == .useAndRefresh("t")) }
        life.failed(with: error, at: at(4000), jitter: 1)
        #expect(life.decision(at: at(4000)) == .pause(.seconds(seconds), .serverTransient))
        #expect(life.decision(at: at(4000 + Double(seconds))) == .wait)
    }

    @Test("After the end of a grant, one caller a second checks the store")
    func looks() {
        var life = TokenLifecycle(limits: .init(looksAgain: true))
        let ended = OAuth2Error(.reauthenticationRequired, "ended")
        life.failed(with: ended, at: start, jitter: 0)
        #expect(life.decision(at: at(0.999)) == .fail(.reauthenticationRequired))
        guard case .start(let look) = life.acquire(at: at(1)) else {
            Issue.record("no caller checks the store")
            return
        }
        #expect(look.isLook)
        // During the check and for the rest of the second, the others get the known error.
        #expect(life.decision(at: at(1.5)) == .fail(.reauthenticationRequired))
        life.failed(look, with: ended, at: at(1.6), jitter: 0)
        #expect(life.decision(at: at(1.999)) == .fail(.reauthenticationRequired))
        guard case .start(let second) = life.acquire(at: at(2)) else {
            Issue.record("no caller checks the store again")
            return
        }
        // A failing store changes nothing.
        life.failed(second, with: OAuth2Error(.storeFailed, "gone"), at: at(2.1), jitter: 0)
        #expect(life.decision(at: at(2.2)) == .fail(.reauthenticationRequired))
        guard case .start(let third) = life.acquire(at: at(3)) else {
            Issue.record("no caller checks the store a third time")
            return
        }
        let isTaken = life.landed(third, with: token("u", lifetime: 100, requested: at(3)), at: at(3), jitter: 1)
        #expect(isTaken)
        #expect(life.decision(at: at(4)) == .use("u"))
    }

    @Test("After a sign-out, callers check the store only once it's known to be empty")
    func looksAfterSignOut() {
        var life = TokenLifecycle(limits: .init(looksAgain: true))
        life.signedOut(with: .signedOut)
        #expect(life.decision(at: at(100)) == .fail(.reauthenticationRequired))
        life.lookAgain(at: at(100))
        #expect(life.decision(at: at(100.5)) == .fail(.reauthenticationRequired))
        #expect(life.decision(at: at(101)) == .wait)
    }

    // MARK: Setup

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    private func token(_ text: String, lifetime: Double?, requested: ContinuousClock.Instant? = nil) -> AccessToken {
        let requested = requested ?? start
        return AccessToken(
            value: Secret(text),
            expiry: lifetime.map { requested + .seconds($0) },
            requested: requested
        )
    }

    private func lifecycle(holding token: AccessToken, jitter: Double = 0.5) -> TokenLifecycle {
        var life = TokenLifecycle()
        life.received(token, at: start, jitter: jitter)
        return life
    }
}

extension TokenLifecycle {
    /// A comparable form of a decision.
    enum Decided: Equatable {
        case use(String)
        case useAndRefresh(String)
        case wait
        case pause(Duration, OAuth2Error.Code)
        case fail(OAuth2Error.Code)
    }

    /// Returns the decision for a hypothetical caller, without changing the state.
    func decision(at now: ContinuousClock.Instant) -> Decided {
        var copy = self
        return switch copy.acquire(at: now) {
        case .use(let token): .use(token.value.expose { $0 })
        case .useAndStart(let token, _): .useAndRefresh(token.value.expose { $0 })
        case .start, .join: .wait
        case .pause(let until, let error): .pause(until - now, error.code)
        case .fail(let error): .fail(error.code)
        }
    }
}
