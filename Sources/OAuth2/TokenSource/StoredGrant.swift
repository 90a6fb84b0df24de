import Foundation
import Networking
import Synchronization
import TokenGeneration

/// A grant and its record in a store: gets tokens for the one and keeps them in the other.
final class StoredGrant: Sendable {
    /// A record, and the version of it that is in the store, if it is.
    struct Current {
        var record: TokenRecord?
        var version: Int?
    }

    /// A record on its way into the store.
    struct Pending {
        let record: TokenRecord
        /// The version it replaces.
        let version: Int?
        /// The refresh token that it has the successor of.
        let predecessor: Secret?

        /// Whether it may take the place of what is in the store, or that is what another has come to since.
        func replaces(_ stored: VersionedTokenRecord?) -> Bool {
            guard let stored, stored.version != version else { return true }
            return predecessor != nil && stored.record.refreshToken == predecessor
        }
    }

    struct State {
        /// What the store has not taken yet; it must not be lost with the store's failure.
        var unsaved: Pending?
        /// Whether the grant's own refresh token has been used, or a record has been there that came of it.
        var isFirstTokenSpent = false
        /// The refresh token that was refused last: it is not used again, even if the store could not remove it.
        var refusedToken: Secret?
        /// The key that the latest tokens are bound to.
        var boundKey: BoundKey?
    }

    /// How often to try again where another may have written in the meantime, or the store may have failed for a moment.
    static let attempts = 3

    let grant: any Grant
    let endpoint: TokenEndpoint
    let store: any TokenStore
    let timeout: Duration
    private let dpop: DPoPKey?
    let key: String
    let state = Mutex(State())

    init(_ grant: any Grant, endpoint: TokenEndpoint, store: any TokenStore, dpop: DPoPKey?, timeout: Duration) {
        self.grant = grant
        self.endpoint = endpoint
        self.store = store
        self.dpop = dpop
        self.timeout = timeout
        // A line per part, so that no two different combinations give the same key.
        var parts = [endpoint.server.issuer, endpoint.clientAuthentication.clientID, grant.identifier]
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
    /// - Parameter need: What the token is for; it rules out those that the caller has had already.
    /// - Returns: The token; what came with it is in the store, unless the store failed.
    /// - Throws: ``OAuth2Error``.
    func newToken(for need: TokenNeed) async throws(OAuth2Error) -> AccessToken {
        let now = endpoint.timeSource.now()
        let deadline = min(need.deadline ?? now + timeout, now + timeout)
        do {
            return try await store.withExclusiveAccess(to: key, timeout: deadline - now) {
                try await self.newTokenInSection(for: need, until: deadline)
            }
        } catch let error as OAuth2Error {
            throw error
        } catch {
            throw OAuth2Error(.storeFailed, "the token store gave no exclusive access", cause: error)
        }
    }

    private func newTokenInSection(
        for need: TokenNeed,
        until deadline: ContinuousClock.Instant
    ) async throws(OAuth2Error) -> AccessToken {
        var refusal: OAuth2Error?
        var isPossiblyLost = false
        for _ in 1...Self.attempts {
            var current = try await current()
            let bound = try boundKey(for: current)
            if let record = current.record, !need.isUnwanted(record.accessToken), let token = adopt(record, bound) {
                return token
            }
            if let record = current.record, record.isEnd, !grant.isRepeatable, refusal == nil {
                var end = OAuth2Error.noRefreshToken(cause: nil)
                end.isPossiblyLostRotation = record.isBeingRefreshed
                throw end
            }
            guard let refreshToken = refreshToken(in: current) else {
                return try await redeem(over: current, bound: bound, refusal: refusal, until: deadline)
            }
            isPossiblyLost = isPossiblyLost || current.record?.isBeingRefreshed ?? false
            await markAsBeingRefreshed(refreshToken, bound, in: &current)
            do {
                return try await refresh(refreshToken, over: current, bound: bound, until: deadline)
            } catch  where error.code == .reauthenticationRequired {
                refusal = error
                isPossiblyLost = isPossiblyLost || error.isPossiblyLostRotation
                refusal?.isPossiblyLostRotation = isPossiblyLost
                await forget(refreshToken, in: current, isPossiblyLost: isPossiblyLost)
            }
        }
        throw refusal ?? .noRefreshToken(cause: nil)
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

    private func refresh(
        _ refreshToken: Secret,
        over current: Current,
        bound: BoundKey?,
        until deadline: ContinuousClock.Instant
    ) async throws(OAuth2Error) -> AccessToken {
        let response = try await endpoint.refresh(refreshToken, of: grant, proof: bound?.generator, until: deadline)
        state.withLock { $0.isFirstTokenSpent = true }
        // A server that sends no new refresh token means the old one to go on (RFC 6749 §6).
        let successor = response.refreshToken ?? refreshToken
        await save(response, refreshToken: successor, bound: bound, over: current)
        if successor != refreshToken { endpoint.journal.add(.rotated) }
        return response.accessToken
    }

    /// Asks with the grant itself.
    private func redeem(
        over current: Current,
        bound: BoundKey?,
        refusal: OAuth2Error?,
        until deadline: ContinuousClock.Instant
    ) async throws(OAuth2Error) -> AccessToken {
        guard let response = try await endpoint.redeem(grant, proof: bound?.generator, until: deadline) else {
            throw .noRefreshToken(cause: refusal)
        }
        await save(response, refreshToken: response.refreshToken, bound: bound, over: current)
        return response.accessToken
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
