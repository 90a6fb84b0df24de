import Foundation
import Networking
import Synchronization
import TokenGeneration

extension GrantTokenSource {
    /// Removes the record from the store once the current holder of the lock has released it.
    ///
    /// If the grant needs a user, a sign-out record replaces it. Another process, or this one after
    /// a restart, must not reuse the first refresh token or write back a token that it still has.
    func signOut() async throws(OAuth2Error) {
        try await inSection {
            self.state.withLock { state in
                state.unsaved = nil
                state.isFirstTokenSpent = true
                state.boundKey = nil
            }
            while true {
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
        }
    }

    func signIn(_ refreshToken: Secret) async throws(OAuth2Error) {
        try await signIn(TokenRecord(awaiting: refreshToken))
    }

    func signIn(_ tokens: IssuedTokens) async throws(OAuth2Error) {
        try await signIn(
            TokenRecord(
                tokens.accessToken,
                refreshToken: tokens.refreshToken,
                boundKey: tokens.boundKey,
                at: client.timing.timeSource
            )
        )
    }

    private func signIn(_ record: TokenRecord) async throws(OAuth2Error) {
        var record = record
        record.epoch = try Self.randomText()
        try await inSection { [record] in
            self.state.withLock { state in
                state.unsaved = nil
                state.refusal = nil
                state.boundKey = nil
            }
            while true {
                let version: TokenRecordVersion?
                do { version = try await self.store.load(self.key)?.version } catch let error as OAuth2Error {
                    // There is a new grant, so the damaged record is set aside.
                    guard error.code == .storeDamaged else { throw error }
                    version = nil
                }
                if try await self.store.compareAndSwap(self.key, expectedVersion: version, record: record) != nil {
                    return
                }
            }
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
