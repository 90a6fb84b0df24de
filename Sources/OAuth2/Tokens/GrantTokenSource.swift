import Foundation
import Networking
import Synchronization
import TokenGeneration

/// A token source that gets tokens from an authorization server and keeps them in a store.
///
/// Each call reads the store, and asks the server if the store has no suitable token.
package final class GrantTokenSource: TokenSource, StoreWaiting {
    // `RefreshTable` makes the decisions; this type performs them.

    struct Current {
        var record: TokenRecord?
        var version: TokenRecordVersion?
        var kind = RefreshTable.Record.none
        var failure: OAuth2Error?
        var earlierAttempt: RefreshAttempt?
    }

    struct Pending {
        let number: UInt64
        let record: TokenRecord
        let version: TokenRecordVersion?
        /// The refresh tokens that the store may still have: the one that was sent, and earlier
        /// ones that were never saved.
        let ancestors: [Secret]
        var attempt: String?
    }

    struct Attempt {
        let id: String
        /// The time from which the attempt's request can't be pending anymore.
        var sendable: ContinuousClock.Instant
        /// A Boolean value that indicates whether this or an earlier attempt may have used the
        /// token.
        var isInDoubt: Bool
        var isOwn = false
    }

    struct State {
        /// The record that the store hasn't saved yet, which must survive a failure of the store.
        var unsaved: Pending? {
            didSet {
                guard unsaved == nil else { return }
                saver?.cancel()
                saver = nil
            }
        }
        var pendingCount: UInt64 = 0
        var saver: Task<Void, Never>?
        var attempt: Attempt?
        /// The last pause seen in the store, and its end by this process's clock.
        var pause: (pause: RefreshPause, until: ContinuousClock.Instant)?
        var seen: (epoch: String, generation: Int)?
        /// A Boolean value that indicates whether the grant's own refresh token was ever used.
        var isFirstTokenSpent = false
        /// Not used again, even if the store couldn't remove the token.
        var refusal: (token: Secret, end: GrantEnd)?
        var boundKey: BoundKey?
    }

    static let attempts = 3
    /// The maximum number of attempts to write over the records of other processes.
    private static let changes = 100
    /// The maximum time of a store call that must not be cancelled with its task.
    static let storeTimeout = Duration.seconds(10)
    /// The maximum difference between the clocks of processes that share a store.
    static let clockTolerance = Duration.seconds(60)
    static let pauses = Retry.Backoff.doubling(.milliseconds(100), to: .seconds(30))

    let grant: any Grant
    let client: OAuth2Client
    let store: WatchedTokenStore
    let key: String
    let state = Mutex(State())

    package init(client: OAuth2Client, grant: any Grant, store: any TokenStore = InMemoryTokenStore()) {
        self.client = client
        self.grant = grant
        self.store = WatchedTokenStore(store)
        // One line per part, so that different combinations have different keys.
        var parts = [client.issuer, client.clientAuthentication.clientID, grant.identifier]
        // Tokens bound to a key are separate from bearer tokens and those bound to another key.
        if let dpop = client.key.dpop { parts.append(dpop.identifier) }
        key =
            parts
            .map { $0.replacingASCII("\\", with: "\\\\").replacingASCII("\n", with: "\\n") }
            .joined(separator: "\n")
    }

    var isOnHosts: Bool { store.store.isSharedByHosts }

    var isWaitingForStore: Bool { store.isWaitedFor }

    /// Gets a token: from the store, with a refresh, or with the grant itself, all under one lock.
    ///
    /// It's stored with everything issued along with it, unless the store failed.
    package func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let now = client.timing.timeSource.now()
        let latest = now + client.timing.timeout
        let deadline = min(requirements.deadline ?? latest, latest)
        do {
            return try await store.withExclusiveAccess(to: key, timeout: deadline - now) {
                try await self.newTokenInSection(for: requirements, until: deadline)
            }
        } catch {
            let failure = (error as? WatchedTokenStore.AccessFailure)?.cause
            if failure != nil, grant.isRepeatable, (failure as? OAuth2Error)?.code != .storeBusy {
                return try await newTokenWithoutStore(until: deadline)
            }
            if (failure as? OAuth2Error)?.code == .storeBusy, store.isHeldByRequest {
                throw OAuth2Error(
                    .serverUnreachable,
                    "the server hasn't responded to an earlier request for this token",
                    cause: failure
                )
            }
            if let error = (failure ?? error) as? OAuth2Error { throw error }
            throw OAuth2Error(.storeFailed, "the token store could not be locked", cause: failure ?? error)
        }
    }

    /// For a grant that needs no user and has nothing to lose.
    private func newTokenWithoutStore(
        until deadline: ContinuousClock.Instant
    ) async throws(OAuth2Error) -> AccessToken {
        client.journal.add(.storeFailed)
        let bound = try boundKey(for: Current())
        guard let answer = try await client.redeem(grant, proof: bound?.generator, until: deadline) else {
            throw noRefreshToken(cause: nil)
        }
        return try answer.tokens().accessToken
    }

    private func newTokenInSection(
        for requirements: TokenRequirements,
        until deadline: ContinuousClock.Instant
    ) async throws(OAuth2Error) -> AccessToken {
        var refusal: OAuth2Error?
        var expiry: OAuth2Error?
        var attempts = 0
        while attempts < Self.attempts {
            var current = await current()
            let bound = try boundKey(for: current)
            let token = usableToken(in: current, bound, for: requirements)
            let refreshToken = refreshToken(in: current)
            var facts = facts(of: current, hasRefreshToken: refreshToken != nil)
            facts.isUsable = token != nil
            facts.isInBackground = requirements.isInBackground
            let step = RefreshTable.step(facts)
            switch (step, token, refreshToken) {
            case (.use, let token?, _):
                return token
            case (.yield, _, _):
                throw othersTurn(in: current)
            case (.wait, _, _):
                try await wait(in: current, until: deadline)
            case (.pause, _, _):
                throw paused()
            case (.fail, _, _), (.use, nil, _):
                throw failure(in: current, after: refusal)
            case (.redeem, _, _), (.announce, _, nil), (.send, _, nil):
                attempts += 1
                do {
                    return try await redeem(over: current, bound: bound, refusal: refusal, until: deadline)
                } catch  where error.isOfTokenExpiredInStore {
                    expiry = error
                }
            case (.announce, _, let refreshToken?), (.send, _, let refreshToken?):
                // Nothing is written while the server isn't known.
                _ = try await client.server
                attempts += 1
                var sendBy: ContinuousClock.Instant?
                if step == .announce {
                    let isAnnounced = try await announce(refreshToken, bound, facts, in: &current, sendBy: &sendBy)
                    guard isAnnounced else { continue }
                }
                do {
                    return try await refresh(
                        refreshToken,
                        over: current,
                        bound: bound,
                        until: deadline,
                        sendBy: sendBy
                    )
                } catch  where error.isTooLateToSend {
                    continue
                } catch  where error.isOfTokenExpiredInStore {
                    expiry = error
                } catch  where error.code == .reauthenticationRequired {
                    let isPossiblyLost = refusal?.isPossiblyLostRotation ?? false || error.isPossiblyLostRotation
                    refusal = error
                    refusal?.isPossiblyLostRotation = isPossiblyLost
                    try await forget(refreshToken, in: current, &refusal, until: deadline)
                }
            }
        }
        throw refusal ?? expiry ?? Self.changing
    }

    private static var changing: OAuth2Error {
        OAuth2Error(.storeBusy, "other processes keep changing the token store")
    }

    func boundKey(for current: Current) throws(OAuth2Error) -> BoundKey? {
        guard let dpop = client.key.dpop else { return nil }
        if let key = state.withLock({ $0.boundKey }), [nil, key.pem].contains(current.record?.proofKey) {
            return key
        }
        let key = try dpop.bound(to: current.record)
        state.withLock { $0.boundKey = key }
        return key
    }

    // MARK: Token endpoint

    private func refresh(
        _ refreshToken: Secret,
        over current: Current,
        bound: BoundKey?,
        until deadline: ContinuousClock.Instant,
        sendBy: ContinuousClock.Instant?
    ) async throws(OAuth2Error) -> AccessToken {
        guard !Task.isCancelled, client.timing.timeSource.now() < deadline else {
            await settle(current, after: .rejected, nil)
            throw OAuth2Error(.storeBusy, "the token store used up the time for getting a token")
        }
        return try await Self.completely { () async throws(OAuth2Error) in
            let answer: TokenAnswer
            do throws(OAuth2Error) {
                answer = try await self.client.refresh(
                    refreshToken,
                    of: self.grant,
                    proof: bound?.generator,
                    until: sendBy.map { min($0, deadline) } ?? deadline,
                    sendBy: sendBy,
                    timeout: sendBy == nil ? nil : RefreshDeadlines(self.client.timing).requestTimeout
                )
            } catch {
                var error = error
                let kind = RefreshTable.Answer(error)
                guard RefreshTable.step(after: kind) != .end else { throw error }
                await self.settle(current, after: kind, error)
                if kind == .lost, !self.grant.isRepeatable, self.client.timing.rotation.isRotating {
                    error.retryAfter = max(error.retryAfter ?? .zero, RefreshDeadlines(self.client.timing).validFor)
                }
                throw error
            }
            self.state.withLock { $0.isFirstTokenSpent = true }
            return try await self.keep(answer, bound: bound, over: current, sent: refreshToken)
        }
    }

    private func redeem(
        over current: Current,
        bound: BoundKey?,
        refusal: OAuth2Error?,
        until deadline: ContinuousClock.Instant
    ) async throws(OAuth2Error) -> AccessToken {
        let ask = { @Sendable () async throws(OAuth2Error) -> AccessToken in
            guard let answer = try await self.client.redeem(self.grant, proof: bound?.generator, until: deadline)
            else { throw self.noRefreshToken(cause: refusal) }
            return try await self.keep(answer, bound: bound, over: current, sent: nil)
        }
        // A repeatable request isn't worth waiting for after the deadline.
        return grant.isRepeatable ? try await ask() : try await Self.completely(ask)
    }

    /// Ignores cancellation, because issued tokens must be stored or they are lost.
    private static func completely<Value: Sendable>(
        _ work: @escaping @Sendable () async throws(OAuth2Error) -> Value
    ) async throws(OAuth2Error) -> Value {
        let task = Task.detached { () async -> Result<Value, OAuth2Error> in
            do throws(OAuth2Error) { return .success(try await work()) } catch { return .failure(error) }
        }
        return try await task.value.get()
    }

    // If the grant needs a user, a sign-out record replaces the record. Another process, or this
    // one after a restart, must not reuse the first refresh token or write back a token that it
    // has.
    func signOut() async throws(OAuth2Error) {
        try await inSection {
            self.state.withLock { state in
                state.unsaved = nil
                state.isFirstTokenSpent = true
                state.boundKey = nil
            }
            for _ in 1...Self.changes {
                let stored = try await self.store.load(self.key)
                if !self.grant.isRepeatable {
                    let mark = TokenRecord(.signedOut, replacing: stored?.record)
                    let version = stored?.version
                    if try await self.store.compareAndSwap(self.key, expectedVersion: version, record: mark) != nil {
                        return
                    }
                } else {
                    guard let stored else { return }
                    if try await self.store.remove(self.key, ifVersion: stored.version) { return }
                }
            }
            throw Self.changing
        }
    }

    func signIn(_ record: TokenRecord) async throws(OAuth2Error) {
        var record = record
        record.epoch = try Self.randomText()
        try await inSection { [record] in
            for _ in 1...Self.changes {
                let version: TokenRecordVersion?
                do { version = try await self.store.load(self.key)?.version } catch let error as OAuth2Error {
                    // There is a new grant, so the damaged record is set aside.
                    guard error.code == .storeDamaged else { throw error }
                    version = nil
                }
                if try await self.store.compareAndSwap(self.key, expectedVersion: version, record: record) != nil {
                    // Not before: a failed sign-in must not lose a rotated token that isn't saved.
                    return self.state.withLock { state in
                        state.unsaved = nil
                        state.refusal = nil
                        state.boundKey = nil
                    }
                }
            }
            throw Self.changing
        }
    }

    private func inSection(_ body: @escaping @Sendable () async throws -> Void) async throws(OAuth2Error) {
        do { try await store.withExclusiveAccess(to: key, timeout: client.timing.timeout, body) } catch {
            let error = (error as? WatchedTokenStore.AccessFailure)?.cause ?? error
            if let error = error as? OAuth2Error { throw error }
            throw OAuth2Error(.storeFailed, "the token store could not be changed", cause: error)
        }
    }
}

extension DPoPKey {
    fileprivate var identifier: String {
        switch kind {
        case .generated(let algorithm): "dpop \(algorithm)"
        case .fixed(let generator): "dpop \(generator.thumbprint)"
        }
    }
}

extension RefreshTable.Answer {
    fileprivate init(_ error: OAuth2Error) {
        self =
            if error.code == .reauthenticationRequired {
                .invalidGrant
            } else if error.isPossiblyLostRotation {
                .lost
            } else if error.isTooLateToSend {
                .late
            } else if error.code == .serverUnreachable {
                .notSent
            } else {
                error.code == .serverTransient ? .busy : .rejected
            }
    }
}
