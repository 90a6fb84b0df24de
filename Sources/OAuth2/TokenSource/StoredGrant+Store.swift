import Foundation
import Networking
import Synchronization
import TokenGeneration

extension StoredGrant {
    /// The record to go on from: the store's, or the one that the store has not taken.
    func current() async throws(OAuth2Error) -> Current {
        let unsaved = state.withLock { $0.unsaved }
        let stored: VersionedTokenRecord?
        do { stored = try await store.load(key) } catch {
            // Nobody else has an unsaved record, so there is no harm in using it without the store.
            if let unsaved { return Current(record: unsaved.record, version: unsaved.version) }
            // What can't be read is no loss to a grant that needs nobody: the next write sets it aside.
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
        return Current(record: saved?.record ?? unsaved.record, version: saved?.version ?? stored?.version)
    }

    /// Notes in a store that outlives the process that the refresh token is about to be sent.
    func markAsBeingRefreshed(_ refreshToken: Secret, _ bound: BoundKey?, in current: inout Current) async {
        guard store.outlivesProcess, current.record?.isBeingRefreshed != true else { return }
        var record = current.record ?? TokenRecord(awaiting: refreshToken)
        record.isBeingRefreshed = true
        record.proofKey = bound?.pem
        record.proofKeyThumbprint = bound?.generator.thumbprint
        // A store that can't take the note is no reason to do without a token.
        guard (try? await store.compareAndSwap(key, expectedVersion: current.version, record: record)) == true,
            let stored = try? await store.load(key)
        else { return }
        current = Current(record: stored.record, version: stored.version)
    }

    /// A stored token, if there is time to use it, and its key is at hand.
    func adopt(_ record: TokenRecord, _ bound: BoundKey?) -> AccessToken? {
        let now = endpoint.timeSource.now()
        let left = record.expiration.map { $0.timeIntervalSince(endpoint.timeSource.date()) }
        if let left, !(left > 1) { return nil }
        if bound != nil, record.tokenType.equalsIgnoringASCIICase("DPoP") {
            guard record.proofKeyThumbprint == bound?.generator.thumbprint else { return nil }
        } else if !record.tokenType.equalsIgnoringASCIICase(AccessToken.notApplicable) {
            guard record.tokenType.equalsIgnoringASCIICase("Bearer"),
                bound == nil || endpoint.insecurelyAcceptsBearerTokens
            else { return nil }
        }
        guard record.accessToken != TokenRecord.noToken else { return nil }
        return AccessToken(
            value: record.accessToken,
            type: record.tokenType,
            scope: record.scope,
            expiry: left.map { now + .seconds(min($0, Double(Int32.max))) },
            requested: now,
            proofGenerator: record.tokenType.equalsIgnoringASCIICase("DPoP") ? bound?.generator : nil,
            isFound: true
        )
    }

    func save(
        _ response: TokenResponse,
        refreshToken: Secret?,
        bound: BoundKey?,
        over current: Current
    ) async {
        let token = response.accessToken
        let left = token.expiry.map { $0 - endpoint.timeSource.now() }
        let record = TokenRecord(
            accessToken: token.value,
            tokenType: token.type,
            scope: token.scope,
            expiration: left.map { endpoint.timeSource.date().addingTimeInterval($0 / .seconds(1)) },
            refreshToken: refreshToken,
            proofKey: bound?.pem,
            proofKeyThumbprint: bound?.generator.thumbprint
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
        endpoint.journal.add(.storeFailed)
    }

    /// Drops a refresh token that was refused.
    ///
    /// In a store that outlives the process a mark takes its place if somebody has to grant anew: those who come later must not dig out
    /// the first token again, and have to know whether the chain was revoked or lost.
    func forget(_ refreshToken: Secret, in current: Current, isPossiblyLost: Bool) async {
        state.withLock { state in
            state.refusedToken = refreshToken
            state.isFirstTokenSpent = true
            state.unsaved = nil
        }
        if store.outlivesProcess, !grant.isRepeatable {
            var mark = TokenRecord(awaiting: nil)
            mark.isBeingRefreshed = isPossiblyLost
            _ = try? await store.compareAndSwap(key, expectedVersion: current.version, record: mark)
        } else if let version = current.version {
            _ = try? await store.remove(key, ifVersion: version)
        }
    }

    // MARK: Sign-out and sign-in

    /// Removes what is in the store, after whoever is in the section has left it.
    func signOut() async throws(OAuth2Error) {
        try await inSection {
            self.state.withLock { state in
                state.unsaved = nil
                state.isFirstTokenSpent = true
                state.boundKey = nil
            }
            while let stored = try await self.store.load(self.key) {
                if try await self.store.remove(self.key, ifVersion: stored.version) { return }
            }
        }
    }

    /// Puts a new refresh token into the store, in place of whatever is there.
    func signIn(_ refreshToken: Secret) async throws(OAuth2Error) {
        try await signIn(TokenRecord(awaiting: refreshToken))
    }

    /// Puts new tokens into the store, in place of whatever is there.
    func signIn(_ tokens: IssuedTokens) async throws(OAuth2Error) {
        let left = tokens.accessToken.expiry.map { $0 - endpoint.timeSource.now() }
        let token = tokens.accessToken
        try await signIn(
            TokenRecord(
                accessToken: token.value,
                tokenType: token.type,
                scope: token.scope,
                expiration: left.map { endpoint.timeSource.date().addingTimeInterval($0 / .seconds(1)) },
                refreshToken: tokens.refreshToken,
                proofKey: tokens.boundKey?.pem,
                proofKeyThumbprint: tokens.boundKey?.generator.thumbprint
            )
        )
    }

    private func signIn(_ record: TokenRecord) async throws(OAuth2Error) {
        try await inSection {
            self.state.withLock { state in
                state.unsaved = nil
                state.refusedToken = nil
                state.boundKey = nil
            }
            while true {
                let version: Int?
                do { version = try await self.store.load(self.key)?.version } catch let error as OAuth2Error {
                    // Somebody has granted anew: what was there is set aside.
                    guard error.code == .storeDamaged else { throw error }
                    version = nil
                }
                if try await self.store.compareAndSwap(self.key, expectedVersion: version, record: record) { return }
            }
        }
    }

    private func inSection(_ body: @escaping @Sendable () async throws -> Void) async throws(OAuth2Error) {
        do { try await store.withExclusiveAccess(to: key, timeout: timeout, body) } catch let error as OAuth2Error {
            throw error
        } catch {
            throw OAuth2Error(.storeFailed, "the token store could not be changed", cause: error)
        }
    }
}

extension TokenRecord {
    /// Stands for the access token that is still to come.
    static let noToken = Secret("")

    /// Whether the record says only that the chain of refresh tokens has ended.
    var isEnd: Bool { accessToken == Self.noToken && refreshToken == nil }

    /// A refresh token, and no access token yet.
    fileprivate init(awaiting refreshToken: Secret?) {
        self.init(
            accessToken: Self.noToken,
            expiration: Date(timeIntervalSince1970: 0),
            refreshToken: refreshToken
        )
    }
}
