import Foundation
import Networking
import Synchronization

/// A grant and its record in a store: gets tokens for the one and keeps them in the other.
final class StoredGrant: Sendable {
    /// A token, and where it comes from.
    enum Obtained: Sendable {
        /// The token endpoint has just issued it.
        case issued(AccessToken)
        /// It was in the store; somebody else had it issued, nobody knows when.
        case found(AccessToken)

        var token: AccessToken {
            switch self {
            case .issued(let token), .found(let token): token
            }
        }
    }

    /// A record, and the version of it that is in the store, if it is.
    private struct Current {
        var record: TokenRecord?
        var version: Int?
    }

    /// A record on its way into the store.
    private struct Pending {
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

    private struct State {
        /// What the store has not taken yet; it must not be lost with the store's failure.
        var unsaved: Pending?
        /// Whether the grant's own refresh token has been used, or a record has been there that came of it.
        var isFirstTokenSpent = false
        /// The refresh token that was refused last: it is not used again, even if the store could not remove it.
        var refusedToken: Secret?
    }

    /// How often to try again where another may have written in the meantime, or the store may have failed for a moment.
    private static let attempts = 3

    private let grant: any Grant
    private let endpoint: TokenEndpoint
    private let store: any TokenStore
    private let timeout: Duration
    private let key: String
    private let state = Mutex(State())

    init(_ grant: any Grant, endpoint: TokenEndpoint, store: any TokenStore, timeout: Duration) {
        self.grant = grant
        self.endpoint = endpoint
        self.store = store
        self.timeout = timeout
        // A line per part, so that no two different combinations give the same key.
        key = [endpoint.server.issuer, endpoint.clientAuthentication.clientID, grant.identifier]
            .map { $0.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\n", with: "\\n") }
            .joined(separator: "\n")
    }

    /// Gets a token: one that another has put into the store, or a refreshed one, or one for the grant itself.
    ///
    /// Reading the store, asking the endpoint and writing the answer are one section that nobody else is in.
    ///
    /// - Parameter isKnown: Whether a token is one that the caller has had already, and wants another in place of.
    /// - Returns: The token; what came with it is in the store, unless the store failed.
    /// - Throws: ``OAuth2Error``.
    func newToken(unless isKnown: @escaping @Sendable (Secret) -> Bool) async throws(OAuth2Error) -> Obtained {
        do {
            return try await store.withExclusiveAccess(to: key, timeout: timeout) {
                try await self.newTokenInSection(unless: isKnown)
            }
        } catch let error as OAuth2Error {
            throw error
        } catch {
            throw OAuth2Error(.storeFailed, "the token store gave no exclusive access", cause: error)
        }
    }

    private func newTokenInSection(unless isKnown: (Secret) -> Bool) async throws(OAuth2Error) -> Obtained {
        var refusal: OAuth2Error?
        for _ in 1...Self.attempts {
            let current = try await current()
            if let record = current.record, !isKnown(record.accessToken), let token = adopt(record) {
                return .found(token)
            }
            guard let refreshToken = refreshToken(in: current) else {
                return .issued(try await redeem(over: current, refusal: refusal))
            }
            do {
                return .issued(try await refresh(refreshToken, over: current))
            } catch  where error.code == .reauthenticationRequired {
                refusal = error
                await forget(refreshToken, in: current)
            }
        }
        throw refusal ?? .noRefreshToken(cause: nil)
    }

    // MARK: The token endpoint

    private func refreshToken(in current: Current) -> Secret? {
        state.withLock { state in
            let candidate = current.record?.refreshToken ?? (state.isFirstTokenSpent ? nil : grant.refreshToken)
            return candidate == state.refusedToken ? nil : candidate
        }
    }

    private func refresh(_ refreshToken: Secret, over current: Current) async throws(OAuth2Error) -> AccessToken {
        let response = try await endpoint.requestToken(form: [
            ("grant_type", "refresh_token"),
            ("refresh_token", refreshToken.expose { $0 }),
        ])
        state.withLock { $0.isFirstTokenSpent = true }
        // A server that sends no new refresh token means the old one to go on (RFC 6749 §6).
        await save(response, refreshToken: response.refreshToken ?? refreshToken, over: current)
        return response.accessToken
    }

    /// Asks with the grant itself.
    private func redeem(over current: Current, refusal: OAuth2Error?) async throws(OAuth2Error) -> AccessToken {
        let parameters: [(name: String, value: String)]?
        do { parameters = try await grant.parameters() } catch let error as OAuth2Error {
            throw error
        } catch {
            throw OAuth2Error(.grantFailed, "the grant could not say what to ask for", cause: error)
        }
        guard let parameters else { throw .noRefreshToken(cause: refusal) }
        let response: TokenResponse
        do { response = try await endpoint.requestToken(form: parameters) } catch {
            // Servers call an assertion invalid_grant, too, if their clock differs from the client's. Nobody's help is
            // needed then, and a service must not stay without a token for good.
            guard error.code == .reauthenticationRequired, grant.isRepeatable else { throw error }
            throw OAuth2Error(
                .requestRejected,
                error.message,
                serverCode: error.serverCode,
                status: error.status,
                cause: error.cause
            )
        }
        await save(response, refreshToken: response.refreshToken, over: current)
        return response.accessToken
    }

    // MARK: The store

    /// The record to go on from: the store's, or the one that the store has not taken.
    private func current() async throws(OAuth2Error) -> Current {
        let unsaved = state.withLock { $0.unsaved }
        let stored: VersionedTokenRecord?
        do { stored = try await store.load(key) } catch {
            // Nobody else has an unsaved record, so there is no harm in using it without the store.
            if let unsaved { return Current(record: unsaved.record, version: unsaved.version) }
            throw OAuth2Error(.storeFailed, "the token store could not be read", cause: error)
        }
        if stored?.record.refreshToken != nil { state.withLock { $0.isFirstTokenSpent = true } }
        guard let unsaved, unsaved.replaces(stored) else {
            state.withLock { $0.unsaved = nil }
            return Current(record: stored?.record, version: stored?.version)
        }
        await save(unsaved)
        let saved = try? await store.load(key)
        return Current(record: saved?.record ?? unsaved.record, version: saved?.version ?? stored?.version)
    }

    /// A stored token, if there is time to use it.
    private func adopt(_ record: TokenRecord) -> AccessToken? {
        let now = endpoint.timeSource.now()
        let left = record.expiration.map { $0.timeIntervalSince(endpoint.timeSource.date()) }
        if let left, !(left > 1) { return nil }
        guard record.tokenType.equalsIgnoringASCIICase("Bearer") else { return nil }
        return AccessToken(
            value: record.accessToken,
            type: record.tokenType,
            scope: record.scope,
            expiry: left.map { now + .seconds(min($0, Double(Int32.max))) },
            requested: now
        )
    }

    private func save(_ response: TokenResponse, refreshToken: Secret?, over current: Current) async {
        let token = response.accessToken
        let left = token.expiry.map { $0 - endpoint.timeSource.now() }
        let record = TokenRecord(
            accessToken: token.value,
            tokenType: token.type,
            scope: token.scope,
            expiration: left.map { endpoint.timeSource.date().addingTimeInterval($0 / .seconds(1)) },
            refreshToken: refreshToken
        )
        let predecessor = current.record?.refreshToken
        await save(Pending(record: record, version: current.version, predecessor: predecessor))
    }

    /// Writes tokens before anyone uses them: a rotated refresh token that is lost with the process is lost for good.
    private func save(_ pending: Pending) async {
        // Noted first, because the store may throw, hang or be cancelled.
        state.withLock { $0.unsaved = pending }
        var version = pending.version
        for _ in 1...Self.attempts {
            do {
                if !(try await store.compareAndSwap(key, expectedVersion: version, record: pending.record)) {
                    // Another has written, or an earlier call has and failed afterwards.
                    let stored = try await store.load(key)
                    if pending.replaces(stored) {
                        version = stored?.version
                        continue
                    }
                }
                return state.withLock { $0.unsaved = nil }
            } catch {
                continue
            }
        }
    }

    private func forget(_ refreshToken: Secret, in current: Current) async {
        state.withLock { state in
            state.refusedToken = refreshToken
            state.isFirstTokenSpent = true
            state.unsaved = nil
        }
        guard let version = current.version else { return }
        _ = try? await store.remove(key, ifVersion: version)
    }
}

extension OAuth2Error {
    /// Nothing is left to ask with.
    fileprivate static func noRefreshToken(cause: OAuth2Error?) -> Self {
        Self(
            .reauthenticationRequired,
            "the refresh token is not accepted any more; authenticate again and make a new authenticator",
            serverCode: cause?.serverCode,
            status: cause?.status,
            cause: cause
        )
    }
}
