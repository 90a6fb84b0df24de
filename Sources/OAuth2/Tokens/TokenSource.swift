import Foundation
public import Networking
import Synchronization

/// A source of tokens.
///
/// Sources can wrap each other: a ``CachedTokenSource`` caches the token of another source,
/// ``fallingBack(to:)`` tries another one after a failure, and a ``TokenExchangeGrant`` has one as
/// its subject.
public protocol TokenSource: Sendable {
    /// Gets a token.
    ///
    /// - Parameter requirements: The requirements for the token.
    /// - Returns: A valid token that meets the requirements.
    /// - Throws: ``OAuth2Error`` if there's no token; `CancellationError` if the task is cancelled.
    func token(for requirements: TokenRequirements) async throws -> AccessToken

    /// A Boolean value that indicates whether the source can replace a rejected token. The default
    /// is `true`.
    var canReplaceTokens: Bool { get }
}

extension TokenSource {
    /// The default value, `true`.
    public var canReplaceTokens: Bool { true }

    /// Gets any valid token.
    ///
    /// - Returns: The token.
    /// - Throws: ``OAuth2Error`` if there's no token; `CancellationError` if the task is cancelled.
    public func token() async throws -> AccessToken {
        try await token(for: TokenRequirements())
    }

    /// Returns another token than a rejected one; `nil` if the source has no other at the moment.
    package func replacement(
        for token: AccessToken,
        until deadline: ContinuousClock.Instant? = nil
    ) async throws -> AccessToken? {
        guard canReplaceTokens else { return nil }
        do {
            let other = try await self.token(for: .replacing(token, deadline: deadline))
            return other.value == token.value ? nil : other
        } catch let error as any UnchangedTokenError where error.isUnchangedToken {
            return nil
        }
    }
}

protocol WrappingTokenSource: TokenSource {
    var source: any TokenSource { get }
}

extension WrappingTokenSource {
    /// A Boolean value that indicates whether the wrapped source can replace a rejected token.
    public var canReplaceTokens: Bool { source.canReplaceTokens }
}

/// An error of a source that takes its tokens as its platform replaces them.
package protocol UnchangedTokenError: Error {
    var isUnchangedToken: Bool { get }
}

/// The requirements of a caller for a token.
public struct TokenRequirements: Sendable {
    /// The time when the caller stops waiting; `nil` to wait until the request times out.
    public var deadline: ContinuousClock.Instant?
    /// A Boolean value that indicates whether the caller still has a usable token.
    package var isInBackground = false
    private let unwanted: @Sendable (Secret) -> Bool

    /// Creates requirements.
    ///
    /// - Parameters:
    ///   - deadline: The time when the caller stops waiting. The default is `nil`, which waits
    ///     until the request times out.
    ///   - unwanted: A closure that returns `true` for an unsuitable token, such as a rejected one.
    ///     By default every token is suitable.
    public init(
        deadline: ContinuousClock.Instant? = nil,
        unwanted: @escaping @Sendable (Secret) -> Bool = { _ in false }
    ) {
        self.deadline = deadline
        self.unwanted = unwanted
    }

    package static func replacing(_ token: AccessToken, deadline: ContinuousClock.Instant? = nil) -> Self {
        Self(deadline: deadline) { $0 == token.value }
    }

    /// Returns a Boolean value that indicates whether a token is unsuitable.
    ///
    /// - Parameter token: The token.
    /// - Returns: `true` if the caller needs another token.
    public func isUnwanted(_ token: Secret) -> Bool { unwanted(token) }
}

/// A token source with a single token.
public struct StaticTokenSource: TokenSource {
    private let token: AccessToken

    /// Creates a source.
    ///
    /// - Parameter token: The token.
    public init(_ token: AccessToken) {
        self.token = token
    }

    /// Creates a source with a bearer token that has no known expiry, such as a personal access
    /// token.
    ///
    /// - Parameter secret: The token's text.
    public init(_ secret: Secret) {
        token = AccessToken(value: secret, requested: .now)
    }

    /// Unavailable: A token is a ``Secret``.
    @available(*, unavailable, message: "A token is a secret: StaticTokenSource(Secret(text)).")
    public init(_ text: String) {
        self.init(Secret(text))
    }

    /// Always `false`.
    public var canReplaceTokens: Bool { false }

    /// Returns the token.
    ///
    /// - Throws: ``OAuth2Error`` with the code `reauthenticationRequired` if the requirements rule
    ///   it out.
    public func token(for requirements: TokenRequirements) throws -> AccessToken {
        guard !requirements.isUnwanted(token.value) else {
            throw OAuth2Error(.reauthenticationRequired, "the only token of this source was rejected")
        }
        return token
    }
}

/// A token source that calls a closure.
public struct ClosureTokenSource: TokenSource {
    private let body: @Sendable (TokenRequirements) async throws -> AccessToken

    /// Creates a source.
    ///
    /// - Parameter body: A closure that gets a token, such as from a program or a metadata service.
    public init(_ body: @escaping @Sendable (TokenRequirements) async throws -> AccessToken) {
        self.body = body
    }

    /// Returns the closure's result.
    ///
    /// - Throws: Any error of the closure. In a ``CachedTokenSource``, an error other than
    ///   ``OAuth2Error`` becomes the cause of one with the code `grantFailed`.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        try await body(requirements)
    }
}

extension TokenSource {
    /// Returns a source that tries this source first, and then another one.
    ///
    /// It can replace a rejected token if one of the two can. The error is that of the other one.
    ///
    /// - Parameter other: The other source.
    /// - Returns: The source.
    public func fallingBack(to other: any TokenSource) -> some TokenSource {
        FallbackTokenSource(first: self, second: other)
    }

    /// Returns a source that limits the rate of requests to this source.
    ///
    /// Beyond the limit, it fails with the code `excessiveRefresh` and the time to wait in
    /// ``OAuth2Error/retryAfter``.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of requests in a window. The default is 5.
    ///   - window: The length of the sliding window. The default is 30 seconds.
    ///   - timeSource: The source of time.
    /// - Returns: The source.
    public func limited(
        to limit: Int = 5,
        per window: Duration = .seconds(30),
        timeSource: TimeSource = .system
    ) -> some TokenSource {
        LimitedTokenSource(self, limit: limit, per: window, timeSource: timeSource)
    }

    /// Returns a source that keeps the tokens of this source in a store, for other processes and
    /// for this one after a restart.
    ///
    /// A ``CachedTokenSource`` of a grant has a store already; use this for other sources. The
    /// source returns a stored token if it's valid and suitable, and otherwise stores a new one if
    /// possible. Tokens that are bound to a key are passed on without being stored, because the
    /// store doesn't have the key.
    ///
    /// - Parameters:
    ///   - store: The storage for tokens.
    ///   - key: The key of the tokens in the store.
    ///   - timeout: The maximum time to wait for the store's lock. The default is 30 seconds.
    ///   - timeSource: The source of time.
    /// - Returns: The source.
    public func persisted(
        in store: any TokenStore,
        key: String,
        timeout: Duration = .seconds(30),
        timeSource: TimeSource = .system
    ) -> some TokenSource {
        PersistedTokenSource(self, store: store, key: key, timeout: timeout, timeSource: timeSource)
    }
}

private struct FallbackTokenSource: TokenSource {
    let first: any TokenSource
    let second: any TokenSource

    var canReplaceTokens: Bool { first.canReplaceTokens || second.canReplaceTokens }

    func token(for requirements: TokenRequirements) async throws -> AccessToken {
        do {
            let token = try await first.token(for: requirements)
            if !requirements.isUnwanted(token.value) { return token }
        } catch {
            if Task.isCancelled { throw CancellationError() }
        }
        let token = try await second.token(for: requirements)
        guard !requirements.isUnwanted(token.value) else {
            throw OAuth2Error(.reauthenticationRequired, "the only token of this source was rejected")
        }
        return token
    }
}

private final class LimitedTokenSource: WrappingTokenSource {
    let source: any TokenSource
    private let limit: Int
    private let window: Duration
    private let timeSource: TimeSource
    private let requests = Mutex<[ContinuousClock.Instant]>([])

    init(
        _ source: any TokenSource,
        limit: Int,
        per window: Duration,
        timeSource: TimeSource
    ) {
        self.source = source
        self.limit = limit
        self.window = window
        self.timeSource = timeSource
    }

    func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let now = timeSource.now()
        let wait = requests.withLock { requests -> Duration? in
            requests.removeAll { now - $0 >= window }
            guard requests.count >= limit else {
                requests.append(now)
                return nil
            }
            return requests.first.map { $0 + window - now } ?? window
        }
        if let wait {
            var error = OAuth2Error(.excessiveRefresh, "the limit of \(limit) token requests in \(window) is exceeded")
            error.retryAfter = wait
            throw error
        }
        return try await source.token(for: requirements)
    }
}

private final class PersistedTokenSource: WrappingTokenSource, StoreWaiting {
    let source: any TokenSource
    private let store: WatchedTokenStore
    private let key: String
    private let timeout: Duration
    private let timeSource: TimeSource

    init(
        _ source: any TokenSource,
        store: any TokenStore,
        key: String,
        timeout: Duration,
        timeSource: TimeSource
    ) {
        self.source = source
        self.store = WatchedTokenStore(store)
        self.key = key
        self.timeout = timeout
        self.timeSource = timeSource
    }

    func token(for requirements: TokenRequirements) async throws -> AccessToken {
        do {
            return try await store.withExclusiveAccess(to: key, timeout: timeout) {
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
        } catch let failure as WatchedTokenStore.AccessFailure { throw failure.cause }
    }

    var isWaitingForStore: Bool { store.isWaitedFor }
}
