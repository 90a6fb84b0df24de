import Foundation
public import Networking

/// A token source that keeps the tokens of another source in a store, for other processes and for
/// this one after a restart.
///
/// A ``GrantTokenSource`` has a store already; use this type for other sources. Tokens that are
/// bound to a key are passed on without being stored, because the store doesn't have the key.
public final class PersistedTokenSource: WrappingTokenSource, StoreWaiting {
    let source: any TokenSource
    private let store: WatchedTokenStore
    private let key: String
    private let timeout: Duration
    private let timeSource: TimeSource

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - source: The source of tokens that aren't in the store.
    ///   - store: The storage for tokens.
    ///   - key: The key of the tokens in the store.
    ///   - timeout: The maximum time to wait for the lock. The default is 30 seconds.
    ///   - timeSource: The source of time.
    public init(
        _ source: any TokenSource,
        store: any TokenStore,
        key: String,
        timeout: Duration = .seconds(30),
        timeSource: TimeSource = .system
    ) {
        self.source = source
        self.store = WatchedTokenStore(store)
        self.key = key
        self.timeout = timeout
        self.timeSource = timeSource
    }

    /// Returns the stored token if it's valid and meets the requirements; otherwise gets one from
    /// the wrapped source, and stores it if possible.
    ///
    /// - Throws: Any error of the wrapped source, or of the store's lock.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        do { return try await tokenInSection(for: requirements) } catch let failure as WatchedTokenStore.AccessFailure {
            throw failure.cause
        }
    }

    var isWaitingForStore: Bool { store.isWaitedFor }

    private func tokenInSection(for requirements: TokenRequirements) async throws -> AccessToken {
        try await store.withExclusiveAccess(to: key, timeout: timeout) {
            let stored = try? await self.store.load(self.key)
            if let record = stored?.record, !requirements.isUnwanted(record.accessToken),
                let token = AccessToken(record, at: self.timeSource)
            {
                return token
            }
            let token = try await self.source.token(for: requirements)
            guard token.proofGenerator == nil else { return token }
            let record = TokenRecord(token, at: self.timeSource)
            let hasExpired = token.hasExpired(at: self.timeSource.now())
            _ = try? await self.store.compareAndSwap(self.key, expectedVersion: stored?.version, record: record)
            guard hasExpired || !token.hasExpired(at: self.timeSource.now()) else {
                return try await self.source.token(for: requirements)
            }
            return token
        }
    }
}
