import Networking
import Synchronization

/// Keeps a source's token, and asks the source for a new one when that is needed: once, whoever needs it.
///
/// The source is asked in a task of its own, which goes on when those who wait for it leave.
public final class CachedTokenSource: TokenSource {
    /// What a caller does after a look at the state.
    private enum Step {
        case use(AccessToken)
        case join(SharedTask<AccessToken>, epoch: Int)
        case pause(until: ContinuousClock.Instant, OAuth2Error)
        case fail(OAuth2Error)
    }

    private let source: any TokenSource
    private let timing: OAuth2Timing
    private let journal: TokenJournal
    private let lifecycle: Mutex<TokenLifecycle>
    /// The refreshes under way; the lifecycle keeps the token.
    private let refreshes: SingleFlightCache<TokenLifecycle.RefreshID, AccessToken>

    /// Makes a source that keeps another's token.
    ///
    /// - Parameters:
    ///   - source: The other source.
    ///   - timing: How long getting a token may take, and the clock that tokens expire by.
    public convenience init(_ source: any TokenSource, timing: OAuth2Timing = OAuth2Timing()) {
        self.init(source, timing: timing, journal: TokenJournal())
    }

    init(_ source: any TokenSource, timing: OAuth2Timing, journal: TokenJournal) {
        self.source = source
        self.timing = timing
        self.journal = journal
        let limits = TokenLifecycle.Limits(
            refreshTimeout: timing.timeout,
            replicationDelay: timing.replicationDelay,
            longestRetryAfter: timing.longestRetryAfter,
            looksAgain: source is GrantTokenSource
        )
        lifecycle = Mutex(TokenLifecycle(limits: limits))
        var policy = SingleFlightCache<TokenLifecycle.RefreshID, AccessToken>.Policy(timeout: timing.timeout)
        policy.timeoutCause = {
            (source as? any StoreWaiting)?.isWaitingForStore == true ? OAuth2Error.storeHangs : nil
        }
        refreshes = SingleFlightCache(timeSource: timing.timeSource, policy: policy)
    }

    /// Whether the wrapped source can get another token after one was refused.
    public var canReplaceTokens: Bool { source.canReplaceTokens }

    /// A token that is good now: the one that is kept, or a new one.
    ///
    /// - Parameter requirements: What the token is for. If it rules out the token that is kept, a new one is asked for.
    /// - Returns: The token.
    /// - Throws: ``OAuth2Error`` if it can't get one, at once while the server is left alone, with the time in
    ///   ``OAuth2Error/retryAfter``; `NetworkError` with the code `timedOut` at the deadline;
    ///   `CancellationError` if the caller is cancelled while it waits.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let now = timing.timeSource.now()
        switch step(at: now, requirements) {
        case .use(let token):
            return token
        case .fail(let error):
            throw error
        case .join(let task, let epoch):
            journal.count(\.waits)
            let token = try await result(of: task, until: requirements.deadline)
            guard lifecycle.withLock({ $0.epoch == epoch }) else { throw OAuth2Error.signedOut }
            return token
        case .pause(let until, var error):
            // Fail without waiting: a caller that has the time can retry, and knows when.
            error.retryAfter = until - now
            throw error
        }
    }

    /// The token that is kept, if it is good and needs no refresh: most requests get theirs without a suspension.
    func current() -> AccessToken? {
        let now = timing.timeSource.now()
        return lifecycle.withLock { $0.current(at: now) }
    }

    private func step(at now: ContinuousClock.Instant, _ requirements: TokenRequirements) -> Step {
        lifecycle.withLock { lifecycle in
            var step = lifecycle.acquire(at: now)
            if case .use(let token) = step, requirements.isUnwanted(token.value) {
                lifecycle.reject(token.value.fingerprint)
                step = lifecycle.acquire(at: now)
            }
            switch step {
            case .use(let token):
                return .use(token)
            case .useAndStart(let token, let id):
                _ = refresh(id)
                return .use(token)
            case .start(let id), .join(let id):
                return .join(refresh(id), epoch: id.epoch)
            case .pause(let until, let error):
                return .pause(until: until, error)
            case .fail(let error):
                return .fail(error)
            }
        }
    }

    private func result(
        of task: SharedTask<AccessToken>,
        until deadline: ContinuousClock.Instant?
    ) async throws -> AccessToken {
        do {
            return try await task.value(until: deadline)
        } catch let error as NetworkError where error.code == .timedOut {
            if let deadline, timing.timeSource.now() >= deadline { throw error }
            if let cause = error.cause as? OAuth2Error { throw cause }
            if let dead = lifecycle.withLock({ $0.dead }) { throw dead }
            throw OAuth2Error(.serverUnreachable, "no token came in the time that getting one may take")
        }
    }

    // MARK: Refusals and sign-out

    /// Whether a token is one of the latest that came here.
    func isKnown(_ fingerprint: [UInt8]) -> Bool {
        lifecycle.withLock { $0.isKnown(fingerprint) }
    }

    /// The scope of a token that came here, if the server said so.
    func scope(of fingerprint: [UInt8]) -> String? {
        lifecycle.withLock { $0.issued.last { $0.fingerprint == fingerprint }?.scope }
    }

    /// Decides what a 401 means for the request that got it.
    func refused(_ request: TokenLifecycle.RefusedRequest) -> Retry.Action {
        let now = timing.timeSource.now()
        return lifecycle.withLock { $0.refused(request, at: now, canReplace: source.canReplaceTokens) }
    }

    /// Drops the token, and what is under way to a new one.
    func signOut() {
        beginEpoch { $0.signedOut(with: .signedOut) }
    }

    /// Makes a source that was signed out check for a sign-in elsewhere.
    func lookAgain() {
        let now = timing.timeSource.now()
        lifecycle.withLock { $0.lookAgain(at: now) }
    }

    /// Begins anew after a sign-out, or after a grant that has ended.
    func signIn() {
        beginEpoch { $0.signedIn() }
    }

    private func beginEpoch(_ event: (inout TokenLifecycle) -> Void) {
        let tasks = lifecycle.withLock { lifecycle in
            event(&lifecycle)
            return refreshes.removeTasks()
        }
        for task in tasks { task.abandon(with: OAuth2Error.signedOut) }
    }

    // MARK: The refresh

    /// Joins a refresh or starts it, within the lifecycle's lock: a refresh that is under way for it can't end meanwhile.
    private func refresh(_ id: TokenLifecycle.RefreshID) -> SharedTask<AccessToken> {
        refreshes.task(for: id) { [self] in
            if !id.isLook { journal.started(id) }
            let requirements = TokenRequirements(deadline: id.deadline) { [weak self] token in
                self?.isKnown(token.fingerprint) ?? false
            }
            do {
                let token = try await source.token(for: requirements)
                land(id, token)
                return token
            } catch {
                throw fail(id, OAuth2Error(wrapping: error))
            }
        }
    }

    private func land(_ id: TokenLifecycle.RefreshID, _ token: AccessToken) {
        let now = timing.timeSource.now()
        let jitter = timing.random()
        let generation = lifecycle.withLock { lifecycle in
            lifecycle.landed(id, with: token, at: now, jitter: jitter) ? lifecycle.generation : nil
        }
        if let generation { journal.landed(token, generation: generation, at: now) }
    }

    /// - Returns: What those who wait are told.
    private func fail(_ id: TokenLifecycle.RefreshID, _ error: OAuth2Error) -> OAuth2Error {
        let now = timing.timeSource.now()
        let jitter = timing.random()
        let outcome = lifecycle.withLock { lifecycle -> (backoff: Duration?, dead: OAuth2Error?)? in
            guard lifecycle.failed(id, with: error, at: now, jitter: jitter) else { return nil }
            return (lifecycle.backoff.map { $0.until - now }, lifecycle.dead)
        }
        guard let outcome else { return error }
        // A check that finds nothing isn't worth an event.
        if id.isLook, let dead = outcome.dead { return dead }
        journal.failed(error, backoff: outcome.backoff, isDead: outcome.dead != nil)
        return error
    }
}

extension OAuth2Error {
    /// Nobody is signed in.
    static var signedOut: Self {
        Self(.reauthenticationRequired, "signed out; sign in again to get tokens")
    }

    /// The error for a store that doesn't answer in time.
    static var storeHangs: Self {
        Self(
            .storeUnavailable,
            "the token store did not answer in the time that getting a token may take; check what the store is on"
        )
    }

    /// The error that a source of somebody else threw, as one of ours.
    init(wrapping error: any Error) {
        if let error = error as? OAuth2Error {
            self = error
        } else {
            self.init(.grantFailed, "the token source failed", cause: error)
        }
    }
}
