import Foundation
import Networking
import OpenSSLCrypto
import Synchronization

/// The facts that decisions depend on, and the errors of those that bring no token.
extension GrantTokenSource {
    /// Returns the current record: the store's, or one that the store hasn't saved yet.
    func current() async -> Current {
        let unsaved = state.withLock { $0.unsaved }
        let stored: VersionedTokenRecord?
        do { stored = try await store.load(key) } catch {
            // Only this process has the unsaved record. On one machine it's safe to use without the
            // store.
            if let unsaved {
                let kind: RefreshTable.Record =
                    unsaved.record.end != nil ? .end : isOnHosts ? .unreachable : .tokens
                let failure = Self.readFailure(error)
                return Current(record: unsaved.record, version: unsaved.version, kind: kind, failure: failure)
            }
            return unreadable(Self.readFailure(error))
        }
        if stored?.record.refreshToken != nil { state.withLock { $0.isFirstTokenSpent = true } }
        guard let unsaved, replaces(unsaved, stored) else {
            state.withLock { $0.unsaved = nil }
            return found(stored)
        }
        await save(unsaved)
        let saved = try? await store.load(key)
        guard replaces(unsaved, saved), saved?.record.isSame(as: unsaved.record) != true else { return found(saved) }
        let kind = unsaved.record.end == nil ? RefreshTable.Record.tokens : .end
        return Current(record: unsaved.record, version: saved?.version ?? stored?.version, kind: kind)
    }

    /// Returns `true` if only a sign-in brings a token that meets the requirements, without a
    /// request.
    func needsSignIn(for requirements: TokenRequirements) async throws -> Bool {
        guard !grant.isRepeatable else { return false }
        do {
            return try await store.withExclusiveAccess(to: key, timeout: client.timing.timeout) {
                let current = await self.current()
                switch current.kind {
                case .end: return true
                case .none, .tokens: break
                case .damaged, .tooNew, .setBack, .unreachable: throw self.failure(in: current, after: nil)
                }
                if self.usableToken(in: current, try self.boundKey(for: current), for: requirements) != nil {
                    return false
                }
                guard self.refreshToken(in: current) == nil else { return false }
                return try await self.isUsedUp()
            }
        } catch let failure as WatchedTokenStore.AccessFailure { throw failure.cause }
    }

    /// Returns `true` if the grant has no parameters for another token request.
    private func isUsedUp() async throws -> Bool {
        do {
            let parameters = try await grant.parameters(at: client.timing.timeSource.date())
            guard parameters != nil else { return true }
            grant.details?.parametersWereNotSent()
            return false
        } catch let error as OAuth2Error where error.code == .reauthenticationRequired {
            return true
        }
    }

    private func found(_ stored: VersionedTokenRecord?) -> Current {
        guard let stored else { return Current() }
        let isSetBack = !notice(stored.record)
        let kind = isSetBack ? RefreshTable.Record.setBack : stored.record.end != nil ? .end : .tokens
        if isSetBack, grant.isRepeatable { return Current(version: stored.version) }
        return Current(record: stored.record, version: stored.version, kind: kind)
    }

    private func unreadable(_ failure: OAuth2Error) -> Current {
        let kind: RefreshTable.Record =
            switch failure.code {
            case .storeDamaged: .damaged
            case .storeTooNew: .tooNew
            default: .unreachable
            }
        // A grant that needs no user doesn't need an unreadable record; the next write sets it
        // aside.
        if kind != .tooNew, grant.isRepeatable { client.journal.add(.storeFailed) }
        return Current(kind: kind, failure: failure)
    }

    private static func readFailure(_ error: any Error) -> OAuth2Error {
        (error as? OAuth2Error) ?? OAuth2Error(.storeFailed, "the token store could not be read", cause: error)
    }

    /// Returns `false` if the store had a later record in the same epoch before.
    @discardableResult
    func notice(_ record: TokenRecord) -> Bool {
        guard let epoch = record.epoch else { return true }
        return state.withLock { state in
            if let seen = state.seen, seen.epoch == epoch, record.generation < seen.generation { return false }
            state.seen = (epoch, record.generation)
            return true
        }
    }

    func facts(of current: Current, hasRefreshToken: Bool) -> RefreshTable.Facts {
        let now = client.timing.timeSource.now()
        let rotation = client.timing.rotation
        return RefreshTable.Facts(
            record: current.kind,
            hasRefreshToken: hasRefreshToken,
            announcement: current.record?.refreshAttempt.map { now < attempt($0).sendable ? .valid : .passed } ?? .none,
            isPaused: pauseLeft(in: current, at: now) > .zero,
            isRepeatable: grant.isRepeatable,
            isRotating: rotation.isRotating,
            hasGrace: rotation.grace != nil,
            isOnHosts: isOnHosts
        )
    }

    func usableToken(in current: Current, _ bound: BoundKey?, for requirements: TokenRequirements) -> AccessToken? {
        guard let record = current.record, !requirements.isUnwanted(record.accessToken) else { return nil }
        return AccessToken(
            record,
            boundKey: bound,
            acceptsBearer: bound == nil || client.key.insecurelyAcceptsBearerTokens,
            at: client.timing.timeSource
        )
    }

    func refreshToken(in current: Current) -> Secret? {
        state.withLock { state in
            let candidate =
                current.record?.refreshToken ?? (state.isFirstTokenSpent ? nil : grant.details?.refreshToken)
            return candidate == state.refusal?.token ? nil : candidate
        }
    }

    // MARK: Attempts

    // Wall clocks get adjusted and differ between machines, so the time since this process first
    // saw the record counts. On one machine, an attempt is over at once only if it's also too old
    // by the wall clock, with a minute of tolerance, so that short-lived processes make progress.
    func attempt(_ found: RefreshAttempt) -> Attempt {
        let validity = max(RefreshDeadlines.validity(of: found), RefreshDeadlines(client.timing).validFor)
        let isOver =
            !isOnHosts
            && found.date.map { client.timing.timeSource.date().timeIntervalSince($0) } ?? 0
                >= (client.timing.lostRequestDelay + Self.clockTolerance) / .seconds(1)
        let (attempt, isNew) = state.withLock { state in
            if let known = state.attempt, known.id == found.id { return (known, false) }
            let now = client.timing.timeSource.now()
            let new = Attempt(id: found.id, sendable: isOver ? now : now + validity, isInDoubt: true)
            state.attempt = new
            return (new, true)
        }
        // Between hosts, the host of a new attempt is working on it, so nothing is in doubt.
        if isNew, !isOnHosts { client.journal.add(.refreshInDoubt) }
        return attempt
    }

    private func pauseLeft(in current: Current, at now: ContinuousClock.Instant) -> Duration {
        guard let pause = current.record?.pause else { return .zero }
        let left = pause.end.timeIntervalSince(client.timing.timeSource.date())
        return state.withLock { state in
            if state.pause?.pause != pause { state.pause = (pause, now + min(pause.duration, TokenRecord.longestWait)) }
            let until = state.pause?.until ?? now
            return min(until - now, Duration(clampingSeconds: max(left, 0)))
        }
    }

    /// Waits until the server can't process the attempt's request anymore, or another host has
    /// stored its result: the same token, sent earlier and processed first, would make the
    /// attempt's request the use of a stolen token.
    func wait(in current: Current, until deadline: ContinuousClock.Instant) async throws(OAuth2Error) {
        guard let attempt = current.record?.refreshAttempt.map(attempt) else { return }
        let timeSource = client.timing.timeSource
        let now = timeSource.now()
        do {
            if isOnHosts {
                let end = min(attempt.sendable, deadline)
                guard now < deadline else { throw CancellationError() }
                do {
                    // Waiting doesn't count as a pending call.
                    try await store.store.waitForChange(
                        of: key,
                        after: current.version,
                        timeout: end - now,
                        timeSource: timeSource
                    )
                } catch is CancellationError {
                    throw CancellationError()
                } catch {
                    try await timeSource.sleep(min(.milliseconds(500), max(end - timeSource.now(), .zero)))
                }
            } else {
                guard attempt.sendable < deadline else { throw CancellationError() }
                try await timeSource.sleep(attempt.sendable - now)
            }
        } catch {
            throw pending(attempt, cause: error)
        }
    }

    private func pending(_ attempt: Attempt, cause: any Error) -> OAuth2Error {
        var error =
            isOnHosts && !attempt.isOwn
            ? OAuth2Error(
                .storeBusy,
                "another host is refreshing the token and hasn't stored the result; try again later",
                cause: cause
            )
            : OAuth2Error(
                .serverUnreachable,
                "the response to a refresh is missing; the refresh token isn't resent while that request may be pending",
                cause: cause
            )
        error.retryAfter = max(attempt.sendable - client.timing.timeSource.now(), .zero)
        error.isPossiblyLostRotation = attempt.isInDoubt && (attempt.isOwn || !isOnHosts)
        return error
    }

    // MARK: Errors

    func othersTurn(in current: Current) -> OAuth2Error {
        var error = OAuth2Error(.storeBusy, "another host is refreshing the token")
        error.isOthersTurn = true
        return error
    }

    func paused() -> OAuth2Error {
        var error = OAuth2Error(
            .serverTransient,
            "the token endpoint asked another host to wait; the pause applies to all hosts"
        )
        let until = state.withLock { $0.pause?.until }
        error.retryAfter = until.map { max($0 - client.timing.timeSource.now(), .zero) }
        return error
    }

    func failure(in current: Current, after refusal: OAuth2Error?) -> OAuth2Error {
        switch current.kind {
        case .end:
            guard current.record?.end != .signedOut else { return .signedOut }
            var error = OAuth2Error.noRefreshToken(cause: refusal)
            if current.record?.end == .lost { error.isPossiblyLostRotation = true }
            return error
        case .setBack:
            return OAuth2Error(
                .storeDamaged,
                "the token store returned an older record than before, so its refresh token wasn't sent; "
                    + "sign in again, and check the store's backups and replication"
            )
        case .unreachable where isOnHosts && !grant.isRepeatable:
            return OAuth2Error(
                .storeFailed,
                "the token store can't be reached, so the refresh token wasn't sent: another host may be using it",
                cause: current.failure?.cause ?? current.failure
            )
        default:
            return current.failure ?? noRefreshToken(cause: refusal)
        }
    }

    /// Tells a lost answer from a revoked grant even if the store doesn't have the grant's end.
    func noRefreshToken(cause: OAuth2Error?) -> OAuth2Error {
        var error = OAuth2Error.noRefreshToken(cause: cause)
        if state.withLock({ $0.refusal?.end == .lost }) { error.isPossiblyLostRotation = true }
        return error
    }
}

extension TokenRecord {
    func isSame(as other: TokenRecord) -> Bool {
        accessToken == other.accessToken && refreshToken == other.refreshToken && epoch == other.epoch
            && refreshAttempt == nil && other.refreshAttempt == nil
    }
}

extension OAuth2Error {
    static var tooLateToSend: Self {
        var error = Self(
            .storeBusy,
            "the refresh token wasn't sent because the time in which other hosts leave it alone is running out"
        )
        error.isTooLateToSend = true
        return error
    }

    static var tokenExpiredInStore: Self {
        var error = Self(
            .storeUnavailable,
            "the token expired while the token store saved it; check the disk or service that holds it"
        )
        error.isOfTokenExpiredInStore = true
        return error
    }

    static func noRefreshToken(cause: OAuth2Error?) -> Self {
        var error = Self(
            .reauthenticationRequired,
            "the refresh token is no longer valid; sign in again and create a new authenticator",
            serverCode: cause?.serverCode,
            status: cause?.status,
            cause: cause
        )
        error.serverText = cause?.serverText
        error.isPossiblyLostRotation = cause?.isPossiblyLostRotation ?? false
        return error
    }
}
