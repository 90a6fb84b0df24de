import Networking
import Synchronization

/// Keeps one grant's token, and asks for a new one when that is needed: one request at a time, whoever needs it.
final class CachedTokenSource: Sendable {
    private struct State {
        var lifecycle = TokenLifecycle()
        /// The request under way; the number tells it from an earlier one that comes to its end late.
        var flight: (number: Int, flight: Flight<AccessToken>)?
        var flightCount = 0
    }

    /// What a caller does after a look at the state.
    private enum Step {
        case use(AccessToken)
        case join(Flight<AccessToken>)
        case fail(OAuth2Error)
    }

    private let grant: StoredGrant
    private let flightTimeout: Duration
    private let timeSource: TimeSource
    private let random: @Sendable () -> Double
    private let state = Mutex(State())

    init(
        grant: StoredGrant,
        flightTimeout: Duration,
        timeSource: TimeSource,
        random: @escaping @Sendable () -> Double
    ) {
        self.grant = grant
        self.flightTimeout = flightTimeout
        self.timeSource = timeSource
        self.random = random
    }

    /// A token that is good now.
    ///
    /// - Parameter deadline: When to stop waiting for one.
    /// - Returns: The token.
    /// - Throws: ``OAuth2Error`` if there is none; ``NetworkError`` with the code `timedOut` at the deadline;
    ///   `CancellationError` if the caller is cancelled while it waits.
    func token(until deadline: ContinuousClock.Instant?) async throws -> AccessToken {
        let now = timeSource.now()
        let step = state.withLock { state -> Step in
            endOverdueFlight(&state, at: now)
            switch state.lifecycle.acquire(at: now) {
            case .use(let token):
                return .use(token)
            case .useAndRefresh(let token):
                if state.flight == nil { startFlight(&state) }
                return .use(token)
            case .wait:
                return .join(state.flight?.flight ?? startFlight(&state))
            case .fail(let error):
                return .fail(error)
            }
        }
        switch step {
        case .use(let token): return token
        case .fail(let error): throw error
        case .join(let flight): return try await result(of: flight, until: deadline)
        }
    }

    private func result(
        of flight: Flight<AccessToken>,
        until deadline: ContinuousClock.Instant?
    ) async throws -> AccessToken {
        do {
            return try await flight.value(until: deadline)
        } catch let error as NetworkError where error.code == .timedOut {
            if let deadline, timeSource.now() >= deadline { throw error }
            throw Self.lateAnswer
        }
    }

    /// Decides what a 401 means for the request that got it.
    func refused(_ accessToken: Secret, retryState: Retry.State) -> Retry.Action {
        let fingerprint = accessToken.fingerprint
        let now = timeSource.now()
        return state.withLock { $0.lifecycle.refused(fingerprint, at: now, retryState: retryState) }
    }

    // MARK: The flight

    @discardableResult
    private func startFlight(_ state: inout State) -> Flight<AccessToken> {
        state.flightCount += 1
        let number = state.flightCount
        let flight = Flight(timeout: flightTimeout, timeSource: timeSource) { [self] in
            do throws(OAuth2Error) {
                let obtained = try await grant.newToken { [self] token in
                    let fingerprint = token.fingerprint
                    return self.state.withLock { $0.lifecycle.isKnown(fingerprint) }
                }
                publish(obtained, of: number)
                return obtained.token
            } catch {
                fail(error, of: number)
                throw error
            }
        }
        state.flight = (number, flight)
        return flight
    }

    /// Counts a flight that ended at its deadline as failed; its work may go on, and store what it gets.
    private func endOverdueFlight(_ state: inout State, at now: ContinuousClock.Instant) {
        guard let flight = state.flight?.flight, flight.isOver else { return }
        state.flight = nil
        state.lifecycle.failed(with: Self.lateAnswer, at: now)
    }

    private func publish(_ obtained: StoredGrant.Obtained, of number: Int) {
        let now = timeSource.now()
        let jitter = random()
        state.withLock { state in
            guard state.flight?.number == number else { return }
            state.flight = nil
            switch obtained {
            case .issued(let token): state.lifecycle.received(token, at: now, jitter: jitter)
            case .found(let token): state.lifecycle.received(token, at: now, jitter: jitter, isFound: true)
            }
        }
    }

    private func fail(_ error: OAuth2Error, of number: Int) {
        let now = timeSource.now()
        state.withLock { state in
            guard state.flight?.number == number else { return }
            state.flight = nil
            state.lifecycle.failed(with: error, at: now)
        }
    }

    private static var lateAnswer: OAuth2Error {
        OAuth2Error(.serverUnreachable, "no token came in the time that getting one may take")
    }
}
