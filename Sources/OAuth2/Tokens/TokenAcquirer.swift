import Foundation
import Networking
import Synchronization
import TokenGeneration

/// A grant and its record in a store: gets tokens for the one and keeps them in the other.
final class TokenAcquirer: Sendable {
    /// A record, and the version of it that is in the store, if it is.
    struct Current {
        var record: TokenRecord?
        var version: Int?
    }

    /// A record on its way into the store.
    struct Pending {
        let number: UInt64
        let record: TokenRecord
        /// The version it replaces.
        let version: Int?
        /// The refresh tokens that it comes of and that the store may still have: the one that was sent, and those before it that the
        /// store never learned of.
        let ancestors: [Secret]

        /// Whether it may take the place of what is in the store, or that is what another has come to since.
        func replaces(_ stored: VersionedTokenRecord?) -> Bool {
            guard let stored, stored.version != version else { return true }
            return stored.record.refreshToken.map(ancestors.contains) ?? false
        }
    }

    /// The known state of the attempt to refresh that a record names.
    struct Attempt {
        let id: String
        /// The time from which the same token may be sent again: not while the request of the attempt may still be on its way.
        var sendable: ContinuousClock.Instant
        /// A Boolean value that indicates whether the token may have been used by this attempt, or by one before it.
        var isInDoubt: Bool
    }

    struct State {
        /// What the store has not taken yet; it must not be lost with the store's failure.
        var unsaved: Pending? {
            didSet {
                guard unsaved == nil else { return }
                saver?.cancel()
                saver = nil
            }
        }
        var pendingCount: UInt64 = 0
        /// The task that brings it to the store again and again.
        var saver: Task<Void, Never>?
        /// The attempt that was seen in the store last, or made here.
        var attempt: Attempt?
        /// Whether the grant's own refresh token has been used, or a record has been there that came of it.
        var isFirstTokenSpent = false
        /// The refresh token that was refused last: it is not used again, even if the store could not remove it.
        var refusedToken: Secret?
        /// The key that the latest tokens are bound to.
        var boundKey: BoundKey?
    }

    /// How often to try again where another may have written in the meantime, or the store may have failed for a moment.
    static let attempts = 3
    /// The longest time that a store call may take if it must not be given up with the task.
    static let storeTimeout = Duration.seconds(10)
    /// The largest difference between the clocks of processes that share a store.
    static let clockTolerance = Duration.seconds(60)
    /// The pauses between attempts to bring to the store what it has not taken.
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
        // A line per part, so that no two different combinations give the same key.
        var parts = [endpoint.location.issuer, endpoint.clientAuthentication.clientID, grant.identifier]
        // Tokens that are bound to a key are not those that are not, or are to another.
        if let dpop { parts.append(dpop.identifier) }
        key =
            parts
            .map { $0.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\n", with: "\\n") }
            .joined(separator: "\n")
    }

    /// Gets a token: one that another has put into the store, or a refreshed one, or one for the grant itself.
    ///
    /// Reading the store, asking the endpoint and writing the answer are one section that nobody else is in.
    ///
    /// - Parameter requirements: What the token is for; it rules out those that the caller has had already.
    /// - Returns: The token; what came with it is in the store, unless the store failed.
    /// - Throws: ``OAuth2Error``.
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
                "the token store gave no exclusive access",
                cause: failure ?? error
            )
        }
    }

    /// Gets a token for a grant that needs no user, without a store that can't be locked: nothing could be lost.
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
        throw refusal ?? OAuth2Error(.storeBusy, "others change the token store as often as it is read")
    }

    /// Waits until the request of an attempt can't be served any more: the same token, sent again before that, would be the first to be
    /// served, and then the attempt's request would count as the use of a stolen token.
    private func wait(for attempt: Attempt, until deadline: ContinuousClock.Instant) async throws(OAuth2Error) {
        let left = attempt.sendable - endpoint.timeSource.now()
        do {
            guard attempt.sendable < deadline else { throw CancellationError() }
            try await endpoint.timeSource.sleep(left)
        } catch {
            var error = OAuth2Error(
                .serverUnreachable,
                "the refresh token was sent, and its answer is missing; it is not sent again while the request may be on its way",
                cause: error
            )
            error.retryAfter = max(attempt.sendable - endpoint.timeSource.now(), .zero)
            error.isPossiblyLostRotation = attempt.isInDoubt
            throw error
        }
    }

    /// The key that tokens are to be bound to: the grant's own, or the one that is kept with the tokens.
    private func boundKey(for current: Current) throws(OAuth2Error) -> BoundKey? {
        guard let dpop else { return nil }
        if let key = state.withLock({ $0.boundKey }), [nil, key.pem].contains(current.record?.proofKey) {
            return key
        }
        let key = try dpop.bound(to: current.record)
        state.withLock { $0.boundKey = key }
        return key
    }

    // MARK: The token endpoint

    private func refreshToken(in current: Current) -> Secret? {
        state.withLock { state in
            let candidate = current.record?.refreshToken ?? (state.isFirstTokenSpent ? nil : grant.refreshToken)
            return candidate == state.refusedToken ? nil : candidate
        }
    }

    /// Sends the refresh token, and stores what comes of it.
    private func refresh(
        _ refreshToken: Secret,
        over current: Current,
        bound: BoundKey?,
        until deadline: ContinuousClock.Instant
    ) async throws(OAuth2Error) -> AccessToken {
        guard !Task.isCancelled, endpoint.timeSource.now() < deadline else {
            await settle(current, isLost: false)
            throw OAuth2Error(.storeBusy, "the token store took all of the time that getting a token may take")
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
                // A server that sends no new refresh token means the old one to go on (RFC 6749 §6).
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

    /// Asks with the grant itself.
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
        // What can be asked for again is not worth waiting for beyond the time.
        return grant.isRepeatable ? try await ask() : try await Self.completely(ask)
    }

    /// Runs work to its end, even if the task that waits for it is cancelled: tokens that a server issues must be stored, or they are lost.
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
    /// What tells tokens bound to this key from others.
    fileprivate var identifier: String {
        switch kind {
        case .generated(let algorithm): "dpop \(algorithm)"
        case .fixed(let generator): "dpop \(generator.thumbprint)"
        }
    }
}

extension OAuth2Error {
    /// Nothing is left to ask with.
    fileprivate static func noRefreshToken(cause: OAuth2Error?) -> Self {
        var error = Self(
            .reauthenticationRequired,
            "the refresh token is not accepted any more; authenticate again and make a new authenticator",
            serverCode: cause?.serverCode,
            status: cause?.status,
            cause: cause
        )
        error.isPossiblyLostRotation = cause?.isPossiblyLostRotation ?? false
        return error
    }
}
