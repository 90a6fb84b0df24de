import Foundation
import Networking
import Synchronization
import TokenGeneration

/// A grant and its store: gets tokens with the one and keeps them in the other.
final class TokenAcquirer: Sendable {
    /// A record and its version in the store, if it's there.
    struct Current {
        var record: TokenRecord?
        var version: Int?
    }

    /// A record that is being saved.
    struct Pending {
        let number: UInt64
        let record: TokenRecord
        /// The version that the record replaces.
        let version: Int?
        /// The record's ancestors that the store may still have: the refresh token that was sent,
        /// and earlier ones that were never saved.
        let ancestors: [Secret]

        /// Returns `false` if the stored record is another process's successor, which must be kept.
        func replaces(_ stored: VersionedTokenRecord?) -> Bool {
            guard let stored, stored.version != version else { return true }
            return stored.record.refreshToken.map(ancestors.contains) ?? false
        }
    }

    /// The known state of the refresh attempt that a record names.
    struct Attempt {
        let id: String
        /// The time from which the same token may be sent again, because the attempt's request
        /// can't be pending anymore.
        var sendable: ContinuousClock.Instant
        /// A Boolean value that indicates whether this or an earlier attempt may have used the
        /// token.
        var isInDoubt: Bool
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
        /// The task that retries to save it.
        var saver: Task<Void, Never>?
        /// The last attempt seen in the store or made here.
        var attempt: Attempt?
        /// A Boolean value that indicates whether the grant's own refresh token was ever used.
        var isFirstTokenSpent = false
        /// The last rejected refresh token, not used again even if the store couldn't remove it.
        var refusedToken: Secret?
        var boundKey: BoundKey?
    }

    /// The number of attempts if another process writes or the store fails temporarily.
    static let attempts = 3
    /// The maximum time of a store call that must not be cancelled with its task.
    static let storeTimeout = Duration.seconds(10)
    /// The maximum difference between the clocks of processes that share a store.
    static let clockTolerance = Duration.seconds(60)
    /// The delays between attempts to save a record that the store couldn't save.
    static let pauses = Retry.Backoff.doubling(.milliseconds(100), to: .seconds(30))

    let grant: any Grant
    let endpoint: TokenEndpoint
    let store: WatchedTokenStore
    private let dpop: DPoPKey?
    let key: String
    let state = Mutex(State())

    init(
        _ grant: any Grant,
        endpoint: TokenEndpoint,
        store: any TokenStore,
        dpop: DPoPKey?
    ) {
        self.grant = grant
        self.endpoint = endpoint
        self.store = WatchedTokenStore(store)
        self.dpop = dpop
        // One line per part, so that different combinations have different keys.
        var parts = [endpoint.location.issuer, endpoint.clientAuthentication.clientID, grant.identifier]
        // Tokens bound to a key are separate from bearer tokens and those bound to another key.
        if let dpop { parts.append(dpop.identifier) }
        key =
            parts
            .map { $0.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\n", with: "\\n") }
            .joined(separator: "\n")
    }

    /// Gets a token: from the store, with a refresh, or with the grant itself, all under one lock.
    ///
    /// - Returns: The token. It's stored with everything issued along with it, unless the store
    ///   failed.
    func newToken(for requirements: TokenRequirements) async throws(OAuth2Error) -> AccessToken {
        let now = endpoint.timeSource.now()
        let latest = now + endpoint.timing.timeout
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
            if let error = (failure ?? error) as? OAuth2Error { throw error }
            throw OAuth2Error(
                .storeFailed,
                "the token store could not be locked",
                cause: failure ?? error
            )
        }
    }

    /// Gets a token without the store's lock, for a grant that needs no user and has nothing to
    /// lose.
    private func newTokenWithoutStore(
        until deadline: ContinuousClock.Instant
    ) async throws(OAuth2Error) -> AccessToken {
        endpoint.journal.add(.storeFailed)
        let bound = try boundKey(for: Current())
        guard let answer = try await endpoint.redeem(grant, proof: bound?.generator, until: deadline) else {
            throw .noRefreshToken(cause: nil)
        }
        return try answer.tokens().accessToken
    }

    private func newTokenInSection(
        for requirements: TokenRequirements,
        until deadline: ContinuousClock.Instant
    ) async throws(OAuth2Error) -> AccessToken {
        var refusal: OAuth2Error?
        var isPossiblyLost = false
        var attempts = 0
        while attempts < Self.attempts {
            var current = try await current()
            let bound = try boundKey(for: current)
            if let record = current.record, !requirements.isUnwanted(record.accessToken),
                let token = AccessToken(
                    record,
                    boundKey: bound,
                    acceptsBearer: bound == nil || endpoint.insecurelyAcceptsBearerTokens,
                    at: endpoint.timeSource
                )
            {
                return token
            }
            if let record = current.record, record.isSignedOut, !grant.isRepeatable { throw .signedOut }
            if let record = current.record, record.isEnd, !grant.isRepeatable, refusal == nil {
                var end = OAuth2Error.noRefreshToken(cause: nil)
                end.isPossiblyLostRotation = record.refreshAttempt != nil
                throw end
            }
            guard let refreshToken = refreshToken(in: current) else {
                return try await redeem(over: current, bound: bound, refusal: refusal, until: deadline)
            }
            let earlier = current.record?.refreshAttempt.map(attempt)
            if let earlier, endpoint.timeSource.now() < earlier.sendable {
                // A grant that needs no user gets tokens without the refresh token.
                guard !grant.isRepeatable else {
                    return try await redeem(over: current, bound: bound, refusal: nil, until: deadline)
                }
                // The process that made the attempt may still write its result.
                try await wait(for: earlier, until: deadline)
                continue
            }
            isPossiblyLost = isPossiblyLost || earlier?.isInDoubt ?? false
            // Nothing is written while the server isn't known.
            _ = try await endpoint.server()
            attempts += 1
            guard try await mark(refreshToken, bound, after: earlier, in: &current) else { continue }
            do {
                return try await refresh(refreshToken, over: current, bound: bound, until: deadline)
            } catch  where error.code == .reauthenticationRequired {
                refusal = error
                isPossiblyLost = isPossiblyLost || error.isPossiblyLostRotation
                refusal?.isPossiblyLostRotation = isPossiblyLost
                await forget(refreshToken, in: current, isPossiblyLost: isPossiblyLost)
            }
        }
        throw refusal ?? OAuth2Error(.storeBusy, "other processes keep changing the token store")
    }

    /// Waits until the server can't process the attempt's request anymore.
    ///
    /// If the same token were sent earlier and processed first, the attempt's request would count
    /// as the use of a stolen token.
    private func wait(for attempt: Attempt, until deadline: ContinuousClock.Instant) async throws(OAuth2Error) {
        let left = attempt.sendable - endpoint.timeSource.now()
        do {
            guard attempt.sendable < deadline else { throw CancellationError() }
            try await endpoint.timeSource.sleep(left)
        } catch {
            var error = OAuth2Error(
                .serverUnreachable,
                "the response to a refresh is missing; the refresh token isn't resent while that request may be pending",
                cause: error
            )
            error.retryAfter = max(attempt.sendable - endpoint.timeSource.now(), .zero)
            error.isPossiblyLostRotation = attempt.isInDoubt
            throw error
        }
    }

    /// Returns the key to bind tokens to: the configured one, or the one stored with the tokens.
    private func boundKey(for current: Current) throws(OAuth2Error) -> BoundKey? {
        guard let dpop else { return nil }
        if let key = state.withLock({ $0.boundKey }), [nil, key.pem].contains(current.record?.proofKey) {
            return key
        }
        let key = try dpop.bound(to: current.record)
        state.withLock { $0.boundKey = key }
        return key
    }

    // MARK: Token endpoint

    private func refreshToken(in current: Current) -> Secret? {
        state.withLock { state in
            let candidate = current.record?.refreshToken ?? (state.isFirstTokenSpent ? nil : grant.refreshToken)
            return candidate == state.refusedToken ? nil : candidate
        }
    }

    private func refresh(
        _ refreshToken: Secret,
        over current: Current,
        bound: BoundKey?,
        until deadline: ContinuousClock.Instant
    ) async throws(OAuth2Error) -> AccessToken {
        guard !Task.isCancelled, endpoint.timeSource.now() < deadline else {
            await settle(current, isLost: false)
            throw OAuth2Error(.storeBusy, "the token store used up the time for getting a token")
        }
        return try await Self.completely { () async throws(OAuth2Error) in
            let answer: TokenAnswer
            do throws(OAuth2Error) {
                answer = try await self.endpoint.refresh(
                    refreshToken,
                    of: self.grant,
                    proof: bound?.generator,
                    until: deadline
                )
            } catch {
                var error = error
                guard error.code != .reauthenticationRequired else { throw error }
                await self.settle(current, isLost: error.isPossiblyLostRotation)
                if error.isPossiblyLostRotation, !self.grant.isRepeatable {
                    error.retryAfter = max(error.retryAfter ?? .zero, self.endpoint.timing.lostRequestDelay)
                }
                throw error
            }
            self.state.withLock { $0.isFirstTokenSpent = true }
            switch answer {
            case .tokens(let response):
                // A server that sends no new refresh token keeps the old one valid (RFC 6749 §6).
                let successor = response.refreshToken ?? refreshToken
                await self.save(response, refreshToken: successor, bound: bound, over: current, sent: refreshToken)
                if successor != refreshToken { self.endpoint.journal.add(.rotated) }
                return response.accessToken
            case .refreshTokenOnly(let successor, let error):
                await self.save(successor, bound: bound, over: current, sent: refreshToken)
                if successor != refreshToken { self.endpoint.journal.add(.rotated) }
                throw error.code == .reauthenticationRequired ? error.coded(.protocolViolation) : error
            }
        }
    }

    private func redeem(
        over current: Current,
        bound: BoundKey?,
        refusal: OAuth2Error?,
        until deadline: ContinuousClock.Instant
    ) async throws(OAuth2Error) -> AccessToken {
        let ask = { @Sendable () async throws(OAuth2Error) -> AccessToken in
            guard let answer = try await self.endpoint.redeem(self.grant, proof: bound?.generator, until: deadline)
            else { throw .noRefreshToken(cause: refusal) }
            switch answer {
            case .tokens(let response):
                await self.save(response, refreshToken: response.refreshToken, bound: bound, over: current, sent: nil)
                return response.accessToken
            case .refreshTokenOnly(let refreshToken, let error):
                await self.save(refreshToken, bound: bound, over: current, sent: nil)
                throw error
            }
        }
        // A repeatable request isn't worth waiting for after the deadline.
        return grant.isRepeatable ? try await ask() : try await Self.completely(ask)
    }

    /// Runs work to its end, even if the calling task is cancelled, because issued tokens must be
    /// stored or they are lost.
    private static func completely<Value: Sendable>(
        _ work: @escaping @Sendable () async throws(OAuth2Error) -> Value
    ) async throws(OAuth2Error) -> Value {
        let task = Task.detached { () async -> Result<Value, OAuth2Error> in
            do throws(OAuth2Error) { return .success(try await work()) } catch { return .failure(error) }
        }
        return try await task.value.get()
    }
}

extension DPoPKey {
    /// A text that distinguishes tokens bound to this key from others.
    fileprivate var identifier: String {
        switch kind {
        case .generated(let algorithm): "dpop \(algorithm)"
        case .fixed(let generator): "dpop \(generator.thumbprint)"
        }
    }
}

extension OAuth2Error {
    /// The error for a grant without a usable refresh token.
    fileprivate static func noRefreshToken(cause: OAuth2Error?) -> Self {
        var error = Self(
            .reauthenticationRequired,
            "the refresh token is no longer valid; sign in again and create a new authenticator",
            serverCode: cause?.serverCode,
            status: cause?.status,
            cause: cause
        )
        error.isPossiblyLostRotation = cause?.isPossiblyLostRotation ?? false
        return error
    }
}
