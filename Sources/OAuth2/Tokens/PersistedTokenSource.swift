import Foundation
public import Networking

/// Keeps the tokens of any source in a store, so that other processes, and this one after a restart, go on with them.
///
/// A ``GrantTokenSource`` has a store already; this is for sources of another kind. Tokens that are bound to a key are passed on and
/// not stored, because the key is not the store's.
public final class PersistedTokenSource: TokenSource, StoreWaiting {
    private let source: any TokenSource
    private let store: WatchedTokenStore
    private let key: String
    private let timeout: Duration
    private let timeSource: TimeSource

    /// Makes a source.
    ///
    /// - Parameters:
    ///   - source: What is asked if nothing in the store will do.
    ///   - store: Where the tokens are kept.
    ///   - key: What they are kept under.
    ///   - timeout: How long to wait for others who ask.
    ///   - timeSource: Where time comes from.
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

    /// Whether the wrapped source can.
    public var canReplaceTokens: Bool { source.canReplaceTokens }

    /// The token in the store, if it is good and wanted; otherwise the wrapped source's, after it was stored.
    ///
    /// - Parameter requirements: What the token is for.
    /// - Returns: The token. One that the store could not take is returned all the same.
    /// - Throws: What the wrapped source and the store's section throw.
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
            _ = try? await self.store.compareAndSwap(self.key, expectedVersion: stored?.version, record: record)
            return token
        }
    }
}
