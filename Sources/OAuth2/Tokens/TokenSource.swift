import Foundation
public import Networking
import Synchronization

/// A source of tokens.
///
/// Sources can wrap each other. A ``CachedTokenSource`` caches the token of a ``GrantTokenSource``,
/// a ``FallbackTokenSource`` tries several sources in order, and a ``TokenExchangeGrant`` has one
/// as its subject.
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

    /// Creates the requirements for a replacement of a rejected token.
    ///
    /// - Parameters:
    ///   - token: The rejected token.
    ///   - deadline: The time when the caller stops waiting. The default is `nil`, which waits
    ///     until the request times out.
    /// - Returns: The requirements.
    public static func replacing(_ token: AccessToken, deadline: ContinuousClock.Instant? = nil) -> Self {
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

/// A token source that tries several sources in order.
public struct FallbackTokenSource: TokenSource {
    private let sources: [any TokenSource]

    /// Creates a source.
    ///
    /// - Parameter sources: The sources, in the order to try them.
    public init(_ sources: any TokenSource...) {
        self.sources = sources
    }

    /// A Boolean value that indicates whether any of the sources can replace a rejected token.
    public var canReplaceTokens: Bool { sources.contains { $0.canReplaceTokens } }

    /// Returns the token of the first source that has one.
    ///
    /// - Throws: The error of the last source.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        var failure: any Error = OAuth2Error(.grantFailed, "the fallback has no sources")
        for source in sources {
            do {
                let token = try await source.token(for: requirements)
                if !requirements.isUnwanted(token.value) { return token }
                failure = OAuth2Error(.reauthenticationRequired, "the only token of this source was rejected")
            } catch {
                if Task.isCancelled { throw CancellationError() }
                failure = error
            }
        }
        throw failure
    }
}

/// A token source that limits the rate of requests to another source.
public final class LimitedTokenSource: WrappingTokenSource {
    let source: any TokenSource
    private let limit: Int
    private let window: Duration
    private let timeSource: TimeSource
    private let requests = Mutex<[ContinuousClock.Instant]>([])

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - source: The source of tokens.
    ///   - limit: The maximum number of requests in a window. The default is 5.
    ///   - window: The length of the sliding window. The default is 30 seconds.
    ///   - timeSource: The source of time.
    public init(
        _ source: any TokenSource,
        limit: Int = 5,
        per window: Duration = .seconds(30),
        timeSource: TimeSource = .system
    ) {
        self.source = source
        self.limit = limit
        self.window = window
        self.timeSource = timeSource
    }

    /// Returns the wrapped source's token.
    ///
    /// - Throws: ``OAuth2Error`` with the code `excessiveRefresh` if the limit is exceeded, with
    ///   the time to wait in ``OAuth2Error/retryAfter``; any error of the wrapped source.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
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
