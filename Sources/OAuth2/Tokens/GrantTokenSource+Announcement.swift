import Foundation
import Glibc
import Networking
import OpenSSLCrypto
import Synchronization
import TokenGeneration

/// The announcement of a refresh: written before the token is sent, removed when it wasn't used.
extension GrantTokenSource {
    /// Records in the store that the refresh token is about to be sent.
    ///
    /// On return, `current` has the announcement, and `sendBy` is the time after which another host
    /// may send the token; `nil` if no other host can.
    ///
    /// - Returns: `true` if the attempt is recorded; `false` if another client has written.
    /// - Throws: ``OAuth2Error`` with the code `storeFailed` if the store can't record the attempt.
    ///   The token isn't sent then.
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

    /// Writes an announcement, and finds out what has become of it if the store doesn't say.
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

    /// Returns the pause for all hosts after a failure; `nil` if the server didn't ask for one.
    ///
    /// Between hosts, there is always one: otherwise each would try at once.
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

    /// The name of this machine and the number of this process.
    private static let hostLabel: String = {
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "\(getpid())" }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return "\(text):\(getpid())"
    }()
}
