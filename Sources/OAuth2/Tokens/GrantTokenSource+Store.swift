import Foundation
import Glibc
import Networking
import OpenSSLCrypto
import Synchronization
import TokenGeneration

/// Saving issued tokens, and the end of a grant.
extension GrantTokenSource {
    /// Throws the error of an answer without a usable access token, or of one that expired
    /// meanwhile.
    func keep(
        _ answer: TokenAnswer,
        bound: BoundKey?,
        over current: Current,
        sent: Secret?
    ) async throws(OAuth2Error) -> AccessToken {
        switch answer {
        case .tokens(let response):
            let token = response.accessToken
            // A server that sends no new refresh token keeps the old one valid (RFC 6749 §6).
            let successor = response.refreshToken ?? sent
            let record = TokenRecord(token, refreshToken: successor, boundKey: bound, at: client.timing.timeSource)
            let hasExpired = token.hasExpired(at: client.timing.timeSource.now())
            await save(record, over: current, sent: sent)
            // A lifetime of zero is the server's mistake; the token may still work.
            let expiresInStore = token.hasExpired(at: client.timing.timeSource.now())
            guard hasExpired || !expiresInStore else { throw .tokenExpiredInStore }
            return token
        case .refreshTokenOnly(let refreshToken, let error):
            var record = TokenRecord(awaiting: refreshToken)
            record.bind(to: bound)
            await save(record, over: current, sent: sent)
            throw sent != nil && error.code == .reauthenticationRequired ? error.coded(.protocolViolation) : error
        }
    }

    private func save(_ record: TokenRecord, over current: Current, sent: Secret?) async {
        var record = record
        record.epoch = current.record?.epoch ?? (try? Self.randomText())
        record.generation = (current.record?.generation ?? 0).next
        let pending = state.withLock { [record] state in
            state.pendingCount += 1
            let pending = Pending(
                number: state.pendingCount,
                record: record,
                version: current.version,
                ancestors: (state.unsaved?.ancestors ?? []) + [sent ?? current.record?.refreshToken].compactMap(\.self)
            )
            // Set first, because the store may throw, hang or be cancelled.
            state.unsaved = pending
            return pending
        }
        await save(pending)
        if let sent, pending.record.refreshToken != sent { client.journal.add(.rotated) }
    }

    // Writes tokens before anyone uses them, because a rotated refresh token that is lost with the
    // process is lost for good. A background task retries for as long as the process lives.
    func save(_ pending: Pending) async {
        if await write(pending, attempts: Self.attempts) { return }
        startSaver()
    }

    private func startSaver() {
        client.journal.add(.storeFailed)
        state.withLock { state in
            guard state.unsaved != nil, state.saver == nil else { return }
            state.saver = Task.detached { [self] in await saveLater() }
        }
    }

    private func saveLater() async {
        var attempts = 1
        while true {
            do { try await client.timing.timeSource.sleep(Self.pauses.delay(retry: attempts)) } catch {
                // If the time source itself fails, the next save starts another task.
                return state.withLock { if !Task.isCancelled { $0.saver = nil } }
            }
            attempts += 1
            guard let unsaved = state.withLock({ $0.unsaved }), !Task.isCancelled else { return }
            if await write(unsaved, attempts: Self.attempts) { attempts = 1 }
        }
    }

    /// Returns `true` if nothing is left to write: the store has the record, or another's
    /// successor.
    private func write(_ pending: Pending, attempts: Int) async -> Bool {
        var version = pending.version
        for _ in 1...attempts {
            // The user has signed out or in, or a later token is pending.
            guard state.withLock({ $0.unsaved?.number == pending.number }) else { return true }
            do {
                let expected = version
                let written = try await limited {
                    try await self.store.compareAndSwap(self.key, expectedVersion: expected, record: pending.record)
                }
                if written != nil {
                    notice(pending.record)
                    forget(pending)
                    return true
                }
                // Another client has written, or an earlier call has and failed afterwards.
                let stored = try await limited { try await self.store.load(self.key) }
                switch RefreshTable.step(afterSavingOver: found(stored, by: pending)) {
                case .overwrite:
                    version = stored?.version
                case .done, .forget:
                    forget(pending)
                    return true
                case .revoke:
                    forget(pending)
                    revoke(pending.record.refreshToken)
                    return true
                case .later:
                    return false
                }
            } catch let error as NetworkError where error.code == .timedOut {
                // Callers have waited long enough for the token.
                return false
            } catch {
                continue
            }
        }
        return false
    }

    private func forget(_ pending: Pending) {
        state.withLock { if $0.unsaved?.number == pending.number { $0.unsaved = nil } }
    }

    /// Returns `false` if the stored record must be kept.
    func replaces(_ pending: Pending, _ stored: VersionedTokenRecord?) -> Bool {
        RefreshTable.step(afterSavingOver: found(stored, by: pending)) == .overwrite
    }

    private func found(_ stored: VersionedTokenRecord?, by pending: Pending) -> RefreshTable.Found {
        guard let stored else { return .none }
        if stored.version == pending.version { return .ancestor }
        if stored.record.end == .signedOut { return .signedOut }
        if stored.record.isSame(as: pending.record) { return .own }
        // Another host is sending the rejected token, and learns of the grant's end by itself.
        if pending.record.end != nil, let attempt = stored.record.refreshAttempt, attempt.id != pending.attempt {
            return .other
        }
        let isSameEpoch = stored.record.epoch == nil || stored.record.epoch == pending.record.epoch
        let isAncestor = stored.record.refreshToken.map(pending.ancestors.contains) ?? false
        return isAncestor && isSameEpoch ? .ancestor : .other
    }

    /// Revokes a refresh token that arrived after the user had signed out, without waiting.
    private func revoke(_ refreshToken: Secret?) {
        guard let refreshToken, !grant.isRepeatable else { return }
        let client = client
        Task.detached {
            guard let server = try? await client.server, server.revocationEndpoint != nil else { return }
            try? await client.revoke(refreshToken, kind: .refreshToken)
        }
    }

    /// Limits the time of a store call, even in a cancelled task, so that it can't keep the lock.
    func limited<Value: Sendable>(_ call: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = SharedTask(
            timeout: min(Self.storeTimeout, client.timing.timeout / 2),
            timeSource: client.timing.timeSource,
            call
        )
        return try await task.value()
    }

    // MARK: End

    // In a store that outlives the process, an end record replaces the token if the grant needs a
    // user. Later processes must not reuse the first refresh token.
    func forget(
        _ refreshToken: Secret,
        in current: Current,
        _ refusal: inout OAuth2Error?,
        until deadline: ContinuousClock.Instant
    ) async throws(OAuth2Error) {
        let announced = current.record?.refreshAttempt
        let end = RefreshTable.end(
            tries: announced?.tries ?? 1,
            hasEarlier: announced?.earlier.isEmpty == false,
            isInDoubt: refusal?.isPossiblyLostRotation ?? false || state.withLock { $0.attempt?.isInDoubt ?? false }
        )
        if end == .lost { refusal?.isPossiblyLostRotation = true }
        let isRecorded = store.store.outlivesProcess && !grant.isRepeatable
        let ended = isRecorded ? TokenRecord(end, replacing: current.record) : nil
        var isWritten = false
        if let ended {
            let version = try? await limited {
                try await self.store.compareAndSwap(self.key, expectedVersion: current.version, record: ended)
            }
            isWritten = version != nil
        } else if let version = current.version {
            isWritten = (try? await limited { try await self.store.remove(self.key, ifVersion: version) }) ?? false
        }
        var isReplaced = false
        if !isWritten, isOnHosts, let stored = try? await limited({ try await self.store.load(self.key) }) {
            let isSameToken = stored.record.refreshToken == refreshToken
            let isOthers = isSameToken && stored.record.refreshAttempt.map { $0.id != announced?.id } ?? false
            let rival: RefreshTable.Rival = isOthers ? .sameToken : isSameToken ? .none : .successor
            switch RefreshTable.step(afterRejectionOver: rival) {
            case .wait:
                let others = Current(record: stored.record, version: stored.version, kind: .tokens)
                return try await wait(in: others, until: deadline)
            case .restart: isReplaced = true
            case .end: break
            }
        }
        let isUnsaved = state.withLock { state in
            state.refusal = (refreshToken, end)
            state.isFirstTokenSpent = true
            state.unsaved = nil
            state.attempt = nil
            guard let ended, !isWritten, !isReplaced else { return false }
            state.pendingCount += 1
            state.unsaved = Pending(
                number: state.pendingCount,
                record: ended,
                version: current.version,
                ancestors: [refreshToken],
                attempt: announced?.id
            )
            return true
        }
        if isUnsaved { startSaver() }
    }
}

/// The announcement of a refresh: written before the token is sent, removed when it wasn't used.
extension GrantTokenSource {
    // On return, `current` has the announcement, and `sendBy` is the time after which another host
    // may send the token; `nil` if no other host can. Returns `false` if another client has
    // written; throws `storeFailed` if the store can't record the attempt. The token isn't sent
    // then.
    func announce(
        _ refreshToken: Secret,
        _ bound: BoundKey?,
        _ facts: RefreshTable.Facts,
        in current: inout Current,
        sendBy: inout ContinuousClock.Instant?
    ) async throws(OAuth2Error) -> Bool {
        let deadlines = RefreshDeadlines(client.timing)
        let started = client.timing.timeSource.now()
        let earlier = current.record?.refreshAttempt
        let announced = RefreshAttempt(
            id: try Self.randomText(),
            host: Self.hostLabel,
            date: Date(timeIntervalSince1970: client.timing.timeSource.date().timeIntervalSince1970.rounded(.down)),
            validFor: deadlines.validFor,
            tries: (earlier?.tries ?? 0).next,
            earlier: ((earlier.map { $0.earlier + [$0.id] }) ?? []).suffix(RefreshAttempt.earlierLimit)
        )
        var record = current.record ?? TokenRecord(awaiting: refreshToken)
        if record.refreshToken == nil { record.refreshToken = refreshToken }
        if record.epoch == nil { record.epoch = try Self.randomText() }
        record.refreshAttempt = announced
        record.pause = nil
        record.bind(to: bound)
        current.earlierAttempt = earlier
        let isInDoubt = earlier.map(attempt)?.isInDoubt ?? false
        if isInDoubt, isOnHosts { client.journal.add(.refreshInDoubt) }
        // Set before the write, because the store may throw, hang or be cancelled afterwards.
        state.withLock {
            $0.attempt = Attempt(id: announced.id, sendable: started, isInDoubt: isInDoubt, isOwn: true)
        }
        var failure: (any Error)?
        for _ in 1...Self.attempts where !Task.isCancelled {
            let outcome = await write(record, announced: announced.id, over: &current, &failure)
            switch RefreshTable.step(after: outcome) {
            case .send:
                notice(record)
                current.record = record
                current.kind = .tokens
                sendBy = isOnHosts ? started + deadlines.sendWithin : nil
                return true
            case .restart: return false
            case .again: continue
            }
        }
        let isOnlyHere = state.withLock { $0.unsaved?.record.refreshToken == refreshToken }
        guard RefreshTable.stepWithoutAnnouncement(facts, isOnlyHere: isOnlyHere) == .send, !Task.isCancelled else {
            throw OAuth2Error(
                .storeFailed,
                "the token store can't record that the refresh token is about to be sent, so it wasn't sent",
                cause: failure
            )
        }
        client.journal.add(.storeFailed)
        current.record = record
        return true
    }

    private func write(
        _ record: TokenRecord,
        announced id: String,
        over current: inout Current,
        _ failure: inout (any Error)?
    ) async -> RefreshTable.Announced {
        do {
            guard
                let version = try await store.compareAndSwap(key, expectedVersion: current.version, record: record)
            else {
                // An earlier call of the same attempt may have written it.
                guard failure != nil else { return .conflict }
                return .unknown(await reread(id, in: &current))
            }
            current.version = version
            return .written
        } catch {
            failure = error
            return .unknown(await reread(id, in: &current))
        }
    }

    private func reread(_ id: String, in current: inout Current) async -> RefreshTable.Reread {
        let stored: VersionedTokenRecord?
        do { stored = try await store.load(key) } catch { return .unreadable }
        if let stored, stored.record.refreshAttempt?.id == id {
            current.version = stored.version
            return .own
        }
        return stored?.version == current.version ? .unchanged : .other
    }

    /// Records the end of an attempt that brought no token.
    func settle(_ current: Current, after answer: RefreshTable.Answer, _ error: OAuth2Error?) async {
        guard var record = current.record, let id = record.refreshAttempt?.id else { return }
        let now = client.timing.timeSource.now()
        var isLost = false
        var pauses = false
        switch RefreshTable.step(after: answer) {
        case .keep: isLost = true
        case .withdraw(let isPause): pauses = isPause
        case .withdrawAndRestart: break
        case .save, .end: return
        }
        let isInDoubt = state.withLock { state in
            var attempt = state.attempt ?? Attempt(id: id, sendable: now, isInDoubt: false)
            guard attempt.id == id else { return true }
            attempt.sendable = isLost ? now + RefreshDeadlines(client.timing).validFor : now
            attempt.isInDoubt = attempt.isInDoubt || isLost
            state.attempt = attempt
            return attempt.isInDoubt
        }
        if isLost { return client.journal.add(.refreshInDoubt) }
        // An earlier attempt that is in doubt stays for later readers.
        record.refreshAttempt = isInDoubt ? current.earlierAttempt : nil
        record.pause = pauses ? pause(after: error) : nil
        let settled = record
        let version = try? await limited {
            try await self.store.compareAndSwap(self.key, expectedVersion: current.version, record: settled)
        }
        guard version != nil, isInDoubt, let earlier = current.earlierAttempt else { return }
        state.withLock { $0.attempt = Attempt(id: earlier.id, sendable: now, isInDoubt: true) }
    }

    /// Between hosts, there is always a pause: otherwise each would try at once.
    private func pause(after error: OAuth2Error?) -> RefreshPause? {
        guard let error else { return nil }
        let asked = error.retryAfter.map { min($0, client.timing.longestRetryAfter) }
        guard let duration = asked ?? (isOnHosts ? .seconds(1) : nil), duration > .zero else { return nil }
        return RefreshPause(
            duration: duration,
            end: client.timing.timeSource.date().addingTimeInterval(duration / .seconds(1))
        )
    }

    static func randomText() throws(OAuth2Error) -> String {
        do { return try SecureRandom.bytes(count: 16).hexadecimal } catch {
            throw OAuth2Error(.storeFailed, "random bytes for the attempt's ID aren't available", cause: error)
        }
    }

    private static let hostLabel: String = {
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "\(getpid())" }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return "\(text):\(getpid())"
    }()
}
