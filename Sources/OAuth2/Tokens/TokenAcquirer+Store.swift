import Foundation
import Networking
import OpenSSLCrypto
import Synchronization
import TokenGeneration

extension TokenAcquirer {
    /// Returns the current record: the store's, or one that the store hasn't saved yet.
    func current() async throws(OAuth2Error) -> Current {
        let unsaved = state.withLock { $0.unsaved }
        let stored: VersionedTokenRecord?
        do { stored = try await store.load(key) } catch {
            // Only this process has the unsaved record, so it's safe to use without the store.
            if let unsaved { return Current(record: unsaved.record, version: unsaved.version) }
            // A grant that needs no user doesn't need an unreadable record; the next write sets it
            // aside.
            if (error as? OAuth2Error)?.code == .storeDamaged, grant.isRepeatable {
                endpoint.journal.add(.storeFailed)
                return Current(record: nil, version: nil)
            }
            if let error = error as? OAuth2Error { throw error }
            throw OAuth2Error(.storeFailed, "the token store could not be read", cause: error)
        }
        if stored?.record.refreshToken != nil { state.withLock { $0.isFirstTokenSpent = true } }
        guard let unsaved, unsaved.replaces(stored) else {
            state.withLock { $0.unsaved = nil }
            return Current(record: stored?.record, version: stored?.version)
        }
        await save(unsaved)
        let saved = try? await store.load(key)
        guard unsaved.replaces(saved), saved?.record != unsaved.record else {
            return Current(record: saved?.record, version: saved?.version)
        }
        return Current(record: unsaved.record, version: saved?.version ?? stored?.version)
    }

    // MARK: Attempts

    /// Returns the known state of an attempt that a record names.
    ///
    /// Wall clocks get adjusted and differ between machines, so the time since this process first
    /// saw the record counts. An attempt is over at once only if it's also too old by the wall
    /// clock, with a minute of tolerance. That lets short-lived processes make progress.
    func attempt(_ id: String) -> Attempt {
        let (attempt, isNew) = state.withLock { state in
            if let known = state.attempt, known.id == id { return (known, false) }
            let age = id.split(separator: "@").last.flatMap { Double($0) }
                .map { endpoint.timeSource.date().timeIntervalSince1970 - $0 }
            let isOver =
                age.map { $0 >= (endpoint.timing.lostRequestDelay + Self.clockTolerance) / .seconds(1) } ?? false
            let now = endpoint.timeSource.now()
            let new = Attempt(id: id, sendable: isOver ? now : now + endpoint.timing.lostRequestDelay, isInDoubt: true)
            state.attempt = new
            return (new, true)
        }
        if isNew { endpoint.journal.add(.refreshInDoubt) }
        return attempt
    }

    /// Records in the store, in case of a crash, that the refresh token is about to be sent.
    ///
    /// - Returns: `true` if the attempt is recorded; `false` if another process has written.
    /// - Throws: ``OAuth2Error`` with the code `storeFailed` if the store can't record the attempt.
    ///   The token isn't sent then.
    func mark(
        _ refreshToken: Secret,
        _ bound: BoundKey?,
        after earlier: Attempt?,
        in current: inout Current
    ) async throws(OAuth2Error) -> Bool {
        let attempt = Attempt(
            id: "\(try Self.newAttempt())@\(Int(endpoint.timeSource.date().timeIntervalSince1970))",
            sendable: endpoint.timeSource.now(),
            isInDoubt: earlier?.isInDoubt ?? false
        )
        var record = current.record ?? TokenRecord(awaiting: refreshToken)
        if record.refreshToken == nil { record.refreshToken = refreshToken }
        record.refreshAttempt = attempt.id
        record.bind(to: bound)
        // Set before the write, because the store may throw, hang or be cancelled afterwards.
        state.withLock { $0.attempt = attempt }
        var failure: (any Error)?
        for _ in 1...Self.attempts where !Task.isCancelled {
            do {
                let isWritten = try await store.compareAndSwap(key, expectedVersion: current.version, record: record)
                let stored: VersionedTokenRecord?
                do { stored = try await store.load(key) } catch {
                    // The version doesn't matter: the record's refresh token tells what to replace.
                    guard isWritten else { throw error }
                    current = Current(record: record, version: current.version)
                    return true
                }
                guard let stored, stored.record.refreshAttempt == attempt.id else { return false }
                current = Current(record: stored.record, version: stored.version)
                return true
            } catch {
                failure = error
            }
        }
        let isUnsaved = state.withLock { $0.unsaved?.record.refreshToken == refreshToken }
        // The store already says that the previous token may have been used, which is as good as
        // this record. A grant that needs no user has nothing to lose.
        guard isUnsaved || grant.isRepeatable, !Task.isCancelled else {
            throw OAuth2Error(
                .storeFailed,
                "the token store can't record that the refresh token is about to be sent, so it wasn't sent",
                cause: failure
            )
        }
        endpoint.journal.add(.storeFailed)
        current.record = record
        return true
    }

    /// Records the end of an attempt that brought no token.
    ///
    /// If `isLost`, the refresh token may have been used anyway.
    func settle(_ current: Current, isLost: Bool) async {
        guard var record = current.record, let id = record.refreshAttempt else { return }
        let now = endpoint.timeSource.now()
        let isInDoubt = state.withLock { state in
            var attempt = state.attempt ?? Attempt(id: id, sendable: now, isInDoubt: false)
            guard attempt.id == id else { return true }
            attempt.sendable = isLost ? now + endpoint.timing.lostRequestDelay : now
            attempt.isInDoubt = attempt.isInDoubt || isLost
            state.attempt = attempt
            return attempt.isInDoubt
        }
        if isLost { endpoint.journal.add(.refreshInDoubt) }
        // The record of an attempt in doubt stays for later readers.
        guard !isInDoubt else { return }
        record.refreshAttempt = nil
        let cleared = record
        _ = try? await limited {
            try await self.store.compareAndSwap(self.key, expectedVersion: current.version, record: cleared)
        }
    }

    private static func newAttempt() throws(OAuth2Error) -> String {
        do { return try SecureRandom.bytes(count: 16).hexadecimal } catch {
            throw OAuth2Error(.storeFailed, "random bytes for the attempt's ID aren't available", cause: error)
        }
    }

    // MARK: Saving

    func save(
        _ response: TokenResponse,
        refreshToken: Secret?,
        bound: BoundKey?,
        over current: Current,
        sent: Secret?
    ) async {
        let record = TokenRecord(
            response.accessToken,
            refreshToken: refreshToken,
            boundKey: bound,
            at: endpoint.timeSource
        )
        await save(record, over: current, sent: sent)
    }

    /// Saves a refresh token that came without an access token.
    func save(_ refreshToken: Secret, bound: BoundKey?, over current: Current, sent: Secret?) async {
        var record = TokenRecord(awaiting: refreshToken)
        record.bind(to: bound)
        await save(record, over: current, sent: sent)
    }

    private func save(_ record: TokenRecord, over current: Current, sent: Secret?) async {
        let pending = state.withLock { state in
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
    }

    /// Writes tokens before anyone uses them, because a rotated refresh token that is lost with the
    /// process is lost for good.
    ///
    /// If the store can't save them, a background task retries for as long as the process lives.
    private func save(_ pending: Pending) async {
        if await write(pending, attempts: Self.attempts) { return }
        endpoint.journal.add(.storeFailed)
        state.withLock { state in
            guard state.unsaved != nil, state.saver == nil else { return }
            state.saver = Task.detached { [self] in await saveLater() }
        }
    }

    /// Retries until the store has saved the record or there is nothing left to save.
    private func saveLater() async {
        var attempts = 1
        while true {
            do { try await endpoint.timeSource.sleep(Self.pauses.delay(retry: attempts)) } catch {
                // If the time source itself fails, the next save starts another task.
                return state.withLock { if !Task.isCancelled { $0.saver = nil } }
            }
            attempts += 1
            guard let unsaved = state.withLock({ $0.unsaved }), !Task.isCancelled else { return }
            if await write(unsaved, attempts: Self.attempts) { attempts = 1 }
        }
    }

    /// Writes a pending record.
    ///
    /// - Returns: `true` if nothing is left to write: the store has the record, or another's
    ///   successor.
    private func write(_ pending: Pending, attempts: Int) async -> Bool {
        var version = pending.version
        for _ in 1...attempts {
            // The user has signed out or in, or a later token is pending.
            guard state.withLock({ $0.unsaved?.number == pending.number }) else { return true }
            do {
                let expected = version
                let isWritten = try await limited {
                    try await self.store.compareAndSwap(self.key, expectedVersion: expected, record: pending.record)
                }
                if !isWritten {
                    // Another process has written, or an earlier call has and failed afterwards.
                    let stored = try await limited { try await self.store.load(self.key) }
                    if stored?.record != pending.record, pending.replaces(stored) {
                        version = stored?.version
                        continue
                    }
                }
                state.withLock { state in
                    if state.unsaved?.number == pending.number { state.unsaved = nil }
                }
                return true
            } catch let error as NetworkError where error.code == .timedOut {
                // Callers have waited long enough for the token.
                return false
            } catch {
                continue
            }
        }
        return false
    }

    /// Limits the time of a store call, even in a cancelled task, so that it can't keep the lock.
    private func limited<Value: Sendable>(_ call: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = SharedTask(
            timeout: min(Self.storeTimeout, endpoint.timing.timeout / 2),
            timeSource: endpoint.timeSource,
            call
        )
        return try await task.value()
    }

    /// Drops a rejected refresh token.
    ///
    /// In a store that outlives the process, an end record replaces it if the grant needs a user.
    /// Later processes must not reuse the first refresh token, and must know what ended the chain.
    func forget(_ refreshToken: Secret, in current: Current, isPossiblyLost: Bool) async {
        state.withLock { state in
            state.refusedToken = refreshToken
            state.isFirstTokenSpent = true
            state.unsaved = nil
            state.attempt = nil
        }
        if store.outlivesProcess, !grant.isRepeatable {
            var mark = TokenRecord(awaiting: nil)
            if isPossiblyLost { mark.refreshAttempt = current.record?.refreshAttempt ?? "lost" }
            _ = try? await store.compareAndSwap(key, expectedVersion: current.version, record: mark)
        } else if let version = current.version {
            _ = try? await store.remove(key, ifVersion: version)
        }
    }
}
