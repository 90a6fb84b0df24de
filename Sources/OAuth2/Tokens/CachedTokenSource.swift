import Networking
import Synchronization

/// A token source that caches the token of a grant or of another source, refreshes it ahead of
/// time, and renews it with a single request.
///
/// All callers that need a new token share one request. It runs in its own task, which continues if
/// the waiting callers are cancelled.
public final class CachedTokenSource: WrappingTokenSource {
    private enum Step {
        case use(AccessToken)
        case join(SharedTask<AccessToken>, epoch: Int)
        case pause(until: ContinuousClock.Instant, OAuth2Error)
        case fail(OAuth2Error)
    }

    let source: any TokenSource
    private let timing: OAuth2Timing
    private let journal: TokenJournal
    private let lifecycle: Mutex<TokenLifecycle>
    /// The pending refreshes; the lifecycle holds the token.
    private let refreshes: SingleFlightCache<TokenLifecycle.RefreshID, AccessToken>

    /// Creates a source that caches another source's token.
    ///
    /// - Parameters:
    ///   - source: The source of tokens.
    ///   - timing: The time limits of token requests and the clock for expiry.
    public convenience init(_ source: any TokenSource, timing: OAuth2Timing = OAuth2Timing()) {
        self.init(source, timing: timing, journal: TokenJournal())
    }

    /// Creates a source of tokens that a client gets with a grant and keeps in a store.
    ///
    /// - Parameters:
    ///   - client: The client of the server that issues the tokens. Its DPoP key binds them, and
    ///     its timing limits the requests.
    ///   - grant: The grant that entitles the client to a token.
    ///   - store: The storage for tokens. The default keeps them in memory.
    public convenience init(client: OAuth2Client, grant: any Grant, store: any TokenStore = InMemoryTokenStore()) {
        let journal = TokenJournal(client.client.options.observers)
        let source = GrantTokenSource(client: client.recording(in: journal), grant: grant, store: store)
        self.init(source, timing: client.timing, journal: journal)
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
        policy.timeoutError = { error in
            guard (source as? any StoreWaiting)?.isWaitingForStore == true else { return error }
            return NetworkError(error.code, error.message, cause: OAuth2Error.storeHangs)
        }
        refreshes = SingleFlightCache(timeSource: timing.timeSource, policy: policy)
    }

    /// Returns a valid token: the cached one, or a new one if the requirements rule that out.
    ///
    /// - Throws: ``OAuth2Error`` if a token isn't available. During a backoff it's thrown at once,
    ///   with the remaining time in ``OAuth2Error/retryAfter``. `NetworkError` with the code
    ///   `timedOut` at the deadline.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let now = timing.timeSource.now()
        switch step(at: now, requirements) {
        case .use(let token):
            return token
        case .fail(let error):
            throw error
        case .join(let task, let epoch):
            journal.add(.awaited)
            let token = try await result(of: task, until: requirements.deadline)
            guard lifecycle.withLock({ $0.epoch == epoch }) else { throw OAuth2Error.signedOut }
            return token
        case .pause(let until, var error):
            // Fail without waiting. A caller with enough time can retry after the delay.
            error.retryAfter = until - now
            throw error
        }
    }

    /// A Boolean value that indicates whether only a sign-in brings new tokens.
    var isDead: Bool { lifecycle.withLock { $0.dead != nil } }

    func current() -> AccessToken? {
        let now = timing.timeSource.now()
        return lifecycle.withLock { $0.current(at: now) }
    }

    private func step(at now: ContinuousClock.Instant, _ requirements: TokenRequirements) -> Step {
        lifecycle.withLock { lifecycle in
            // First, because a refresh ahead of expiry is for callers that use the token meanwhile.
            if let token = lifecycle.held?.token, requirements.isUnwanted(token.value) {
                lifecycle.reject(token.value.fingerprint)
            }
            switch lifecycle.acquire(at: now) {
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
            throw OAuth2Error(.serverUnreachable, "the token request timed out")
        }
    }

    // MARK: Rejections and sign-out

    func isKnown(_ fingerprint: [UInt8]) -> Bool {
        lifecycle.withLock { $0.isKnown(fingerprint) }
    }

    func refused(_ request: TokenLifecycle.RefusedRequest) -> Retry.Action {
        let now = timing.timeSource.now()
        return lifecycle.withLock { $0.refused(request, at: now, canReplace: source.canReplaceTokens) }
    }

    func signOut() {
        beginEpoch { $0.signedOut(with: .signedOut) }
    }

    /// Makes a signed-out source check for a sign-in by another process.
    func lookAgain() {
        let now = timing.timeSource.now()
        lifecycle.withLock { $0.lookAgain(at: now) }
    }

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

    // MARK: Refresh

    /// The caller holds the lifecycle's lock, so a pending refresh can't end meanwhile.
    private func refresh(_ id: TokenLifecycle.RefreshID) -> SharedTask<AccessToken> {
        refreshes.task(for: id) { [self] _ in
            if !id.isLook { journal.add(.refreshStarted(replacing: id.replacing, isInBackground: id.isInBackground)) }
            var requirements = TokenRequirements(deadline: id.deadline) { [weak self] token in
                self?.isKnown(token.fingerprint) ?? false
            }
            requirements.isInBackground = id.isInBackground
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
        guard let generation else { return }
        let lifetime = token.expiry.map { $0 - now }
        journal.add(.refreshed(generation: generation, lifetime: lifetime, isFound: token.isFound))
    }

    /// - Returns: The error for the waiting callers.
    private func fail(_ id: TokenLifecycle.RefreshID, _ error: OAuth2Error) -> OAuth2Error {
        let now = timing.timeSource.now()
        let jitter = timing.random()
        let outcome = lifecycle.withLock { lifecycle -> (backoff: Duration?, dead: OAuth2Error?)? in
            guard lifecycle.failed(id, with: error, at: now, jitter: jitter) else { return nil }
            return (lifecycle.backoff.map { $0.until - now }, lifecycle.dead)
        }
        guard let outcome else { return error }
        // Neither a check that finds no token nor another host's refresh is worth an event.
        if error.isOthersTurn { return error }
        if id.isLook, let dead = outcome.dead { return dead }
        journal.failed(error, backoff: outcome.backoff, isDead: outcome.dead != nil)
        return error
    }
}

extension OAuth2Error {
    static var signedOut: Self {
        Self(.reauthenticationRequired, "signed out; sign in again to get tokens")
    }

    static var storeHangs: Self {
        Self(
            .storeUnavailable,
            "the token store didn't respond in time; check the disk or service that holds it"
        )
    }

    init(wrapping error: any Error) {
        if let error = error as? OAuth2Error {
            self = error
        } else {
            self.init(.grantFailed, "the token source failed", cause: error)
        }
    }
}
