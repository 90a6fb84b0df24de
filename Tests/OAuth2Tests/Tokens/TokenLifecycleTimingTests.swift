import Networking
import TestSupport
import Testing

@testable import OAuth2

/// Tests of the times in a token's life.
@Suite("TokenLifecycle: timing", .computing)
struct TokenLifecycleTimingTests {
    private let start = ContinuousClock.now

    @Test(
        "The soft and hard expiry scale with the lifetime",
        .shows("O17", "4.20"),
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

    /// What happens to a lifecycle, and its decisions, at seconds after the start.
    private enum Event {
        /// A token with a lifetime, requested and received.
        case token(String, Double?, requested: Double = 0, at: Double = 0, jitter: Double = 0.5)
        case failure(OAuth2Error.Code, at: Double)
        case decision(Double, TokenLifecycle.Decided)
    }

    private static let scripts: [(String, [Event])] = [
        ("callers wait before the first token", [.decision(0, .wait)]),
        (
            "a token of unknown lifetime is refreshed after ten minutes, and used until it's rejected",
            [
                .token("t", nil), .decision(599, .use("t")), .decision(600, .useAndRefresh("t")),
                .decision(1_000_000, .useAndRefresh("t")),
            ]
        ),
        (
            "a lifetime counts from the request, not from the response",
            [.token("t", 100, at: 60, jitter: 0), .decision(89.9, .useAndRefresh("t")), .decision(90, .wait)]
        ),
        (
            "a token without a lifetime is used for a second, without a background refresh",
            [
                .token("t", 0, at: 2), .decision(2, .use("t")), .decision(2.999, .use("t")), .decision(3, .wait),
            ]
        ),
        (
            "a token with a lifetime below one second is used for a second, too",
            [
                .token("t", 0.4, at: 2), .decision(2, .use("t")), .decision(2.999, .use("t")), .decision(3, .wait),
            ]
        ),
        (
            "a failed background refresh isn't repeated for 30 seconds",
            [
                .token("t", 3_600, jitter: 1), .decision(3_300, .useAndRefresh("t")),
                .failure(.serverTransient, at: 3_300), .decision(3_329.9, .use("t")),
                .decision(3_330, .useAndRefresh("t")),
            ]
        ),
        (
            "the delay of background refreshes doesn't apply to a caller without a token",
            [.token("t", 100), .failure(.serverTransient, at: 89), .decision(90, .wait)]
        ),
        (
            "a new token ends the delay",
            [
                .token("t", 100, jitter: 1), .failure(.serverTransient, at: 80),
                .token("u", 10, requested: 81, at: 81, jitter: 1), .decision(89, .useAndRefresh("u")),
            ]
        ),
        (
            "after the end of a grant, callers use the last token until it expires, and then fail at once",
            [
                .token("t", 100, jitter: 1), .failure(.reauthenticationRequired, at: 80), .decision(89, .use("t")),
                .decision(90, .fail(.reauthenticationRequired)),
                .token("u", 100, requested: 91, at: 91, jitter: 1), .decision(92, .use("u")),
            ]
        ),
    ]

    @Test("Decides by the times of tokens and failures", .shows("L7"), arguments: scripts)
    private func decisions(name: String, events: [Event]) {
        var life = TokenLifecycle()
        for event in events {
            switch event {
            case .token(let text, let lifetime, let requested, let time, let jitter):
                let token = token(text, lifetime: lifetime, requested: at(requested))
                life.received(token, at: at(time), jitter: jitter)
            case .failure(let code, let time):
                life.failed(with: OAuth2Error(code, "failed"), at: at(time), jitter: 0)
            case .decision(let time, let expected): #expect(life.decision(at: at(time)) == expected, "\(name)")
            }
        }
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
        .shows("S6"),
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

    @Test("Honors Retry-After up to the limit, also in the background", .shows("S7"), arguments: [300, 20])
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
    func looks() throws {
        var life = TokenLifecycle(limits: .init(looksAgain: true))
        let ended = OAuth2Error(.reauthenticationRequired, "ended")
        life.failed(with: ended, at: start, jitter: 0)
        #expect(life.decision(at: at(0.999)) == .fail(.reauthenticationRequired))
        let look = try #require(start(&life, at: 1))
        #expect(look.isLook)
        // During the check and for the rest of the second, the others get the known error.
        #expect(life.decision(at: at(1.5)) == .fail(.reauthenticationRequired))
        life.failed(look, with: ended, at: at(1.6), jitter: 0)
        #expect(life.decision(at: at(1.999)) == .fail(.reauthenticationRequired))
        let second = try #require(start(&life, at: 2))
        // A failing store changes nothing.
        life.failed(second, with: OAuth2Error(.storeFailed, "gone"), at: at(2.1), jitter: 0)
        #expect(life.decision(at: at(2.2)) == .fail(.reauthenticationRequired))
        let third = try #require(start(&life, at: 3))
        let isTaken = life.landed(third, with: token("u", lifetime: 100, requested: at(3)), at: at(3), jitter: 1)
        #expect(isTaken)
        #expect(life.decision(at: at(4)) == .use("u"))
    }

    /// Returns the refresh that a caller starts.
    private func start(_ life: inout TokenLifecycle, at seconds: Double) -> TokenLifecycle.RefreshID? {
        guard case .start(let refresh) = life.acquire(at: at(seconds)) else { return nil }
        return refresh
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
