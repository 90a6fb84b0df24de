import Networking
import TestSupport
import Testing

@testable import OAuth2

/// Tests of the decisions after a 401.
@Suite("TokenLifecycle: rejections", .computing)
struct TokenLifecycleRefusalTests {
    private let start = ContinuousClock.now
    private let refusal = ServerError(endpoint: "reports", errorCode: 401)

    /// Rejections a second after the last of the tokens, of which one was received each second: the
    /// token, the number of earlier rejections and the start of the operation.
    private static var rows: [(String, String, [(String, Int, Double, DecidedAction)], TokenLifecycle.Decided)] {
        let ended = DecidedAction.noRetry(.freshTokenRejected)
        return [
            ("the current token is replaced, and callers wait", "a", [("a", 0, 2, .retry)], .wait),
            ("the first rejection, even of a token issued for the operation", "a", [("a", 0, -1, .retry)], .wait),
            ("a replaced token doesn't affect its successor", "ab", [("a", 0, 0.5, .retry)], .use("b")),
            (
                "a replaced token waits for the next one if the successor was rejected too", "ab",
                [("b", 0, 2.5, .retry), ("a", 0, 0.5, .retry)], .wait
            ),
            (
                "the retries of a request whose token is replaced again and again are limited", "ab",
                [("a", 2, 0.5, .retry), ("a", 3, 0.5, ended)], .use("b")
            ),
            (
                "a token issued for the operation and rejected twice stays valid for others", "ab",
                [("b", 1, 0.5, ended)], .use("b")
            ),
            ("a token older than the operation is replaced after one", "ab", [("b", 1, 2.5, .retry)], .wait),
            ("a token older than the operation isn't replaced after two", "ab", [("b", 2, 2.5, ended)], .use("b")),
            ("tokens that weren't rejected don't count", "abcdef", [("f", 0, 6, .retry)], .wait),
            ("an unknown token", "a", [("z", 0, 1, .none)], .use("a")),
        ]
    }

    @Test(
        "Decides by the token's successors, its age and the operation's earlier rejections",
        .shows("L1", "R13"),
        arguments: rows
    )
    private func decisions(
        name: String,
        held: String,
        refusals: [(String, Int, Double, DecidedAction)],
        decision: TokenLifecycle.Decided
    ) {
        var life = lifecycle(holding: held.map(String.init))
        let now = at(Double(held.count + 1))
        for (token, earlier, started, action) in refusals {
            let errors = Array(repeating: refusal, count: earlier)
            let state = Retry.State(authenticationErrors: errors, started: at(started))
            #expect(life.action(refusing: token, at: now, state) == action, "\(name)")
        }
        #expect(life.decision(at: now) == decision, "\(name)")
        #expect(life.generation == held.count)
    }

    @Test("A token found in the store doesn't count as issued for the operation")
    func foundToken() {
        var life = lifecycle(holding: ["a"])
        life.received(token("b", requested: at(1), isFound: true), at: at(1), jitter: 0)
        let state = Retry.State(authenticationErrors: [refusal], started: at(0.5))
        #expect(life.action(refusing: "b", at: at(3), state) == .retry)
        #expect(life.decision(at: at(3)) == .wait)
    }

    @Test("Replaces a token issued for the operation again if it has expired")
    func expiredFreshToken() {
        var life = TokenLifecycle()
        life.received(token("a", requested: start, lifetime: 1), at: start, jitter: 0)
        let state = Retry.State(authenticationErrors: [refusal], started: start)
        #expect(life.action(refusing: "a", at: at(2), state) == .retry)
    }

    @Test("A rejection after the end of the grant reports the end")
    func dead() {
        var life = lifecycle(holding: ["a"])
        life.failed(with: OAuth2Error(.reauthenticationRequired, "ended"), at: at(1), jitter: 0)
        #expect(
            life.action(refusing: "a", at: at(2), Retry.State(started: at(1.5)))
                == .noRetry(.reauthenticationRequired)
        )
    }

    @Test(
        "Makes five refreshes at most within 30 seconds because of one resource, without affecting others",
        .shows("S8")
    )
    func storm() {
        var life = lifecycle(holding: ["0"])
        for number in 1...5 {
            let now = at(Double(number))
            #expect(life.action(refusing: "\(number - 1)", at: now, Retry.State(started: now)) == .retry)
            life.received(token("\(number)", requested: now), at: now, jitter: 0)
        }
        #expect(life.action(refusing: "5", at: at(7), Retry.State(started: at(7))) == .noRetry(.excessiveRefresh))
        #expect(life.decision(at: at(7)) == .use("5"))
        var other = life
        let elsewhere = "other.example:443"
        #expect(other.action(refusing: "5", at: at(7), Retry.State(started: at(7)), origin: elsewhere) == .retry)
        #expect(other.decision(at: at(7)) == .wait)
        // The first of the five was at 1 second.
        #expect(life.action(refusing: "5", at: at(31), Retry.State(started: at(31))) == .noRetry(.excessiveRefresh))
        #expect(life.action(refusing: "5", at: at(31.001), Retry.State(started: at(31))) == .retry)
    }

    @Test("A hundred rejections of the same token count once")
    func concurrentRefusals() {
        var life = lifecycle(holding: ["a"])
        for _ in 1...100 { #expect(life.action(refusing: "a", at: at(1), Retry.State(started: at(1))) == .retry) }
        life.received(token("b", requested: at(1)), at: at(1), jitter: 0)
        #expect(life.action(refusing: "b", at: at(2), Retry.State(started: at(2))) == .retry)
        #expect(life.rejections.count == 2)
    }

    @Test("Recognizes the latest sixteen tokens only")
    func remembered() {
        var life = TokenLifecycle()
        for number in 1...17 {
            life.received(
                token("\(number)", requested: at(Double(number) * 60)),
                at: at(Double(number) * 60),
                jitter: 0
            )
        }
        let now = at(18 * 60)
        #expect(!life.isKnown(Secret("1").fingerprint))
        #expect(life.isKnown(Secret("2").fingerprint))
        #expect(life.action(refusing: "1", at: now, Retry.State(started: start)) == .none)
        #expect(life.action(refusing: "2", at: now, Retry.State(started: start)) == .retry)
        #expect(life.decision(at: now) == .use("17"))
    }

    // MARK: Setup

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    private func token(
        _ text: String,
        requested: ContinuousClock.Instant,
        lifetime: Double = 3600,
        isFound: Bool = false
    ) -> AccessToken {
        var token = AccessToken(value: Secret(text), expiry: requested + .seconds(lifetime), requested: requested)
        token.isFound = isFound
        return token
    }

    /// Returns a lifecycle that received these tokens, one each second from the start.
    private func lifecycle(holding texts: [String]) -> TokenLifecycle {
        var life = TokenLifecycle()
        for (index, text) in texts.enumerated() {
            life.received(token(text, requested: at(Double(index))), at: at(Double(index)), jitter: 0)
        }
        return life
    }
}

/// A comparable form of an action.
enum DecidedAction: Equatable {
    case none
    case retry
    case retryAfter(Duration)
    case noRetry(OAuth2Error.Code?)

    init(_ action: Retry.Action) {
        switch action {
        case .none: self = .none
        case .retry: self = .retry
        case .retryAfter(let delay): self = .retryAfter(delay)
        case .noRetry(.custom(let error)): self = .noRetry((error as? OAuth2Error)?.code)
        case .noRetry: self = .noRetry(nil)
        }
    }
}

extension TokenLifecycle {
    mutating func action(
        refusing text: String,
        at now: ContinuousClock.Instant,
        _ retryState: Retry.State,
        origin: String = "api.example:443",
        canReplace: Bool = true
    ) -> DecidedAction {
        let request = RefusedRequest(
            Secret(text).fingerprint,
            origin: origin,
            earlier: retryState.authenticationErrors.count,
            state: retryState
        )
        return DecidedAction(refused(request, at: now, canReplace: canReplace))
    }
}
