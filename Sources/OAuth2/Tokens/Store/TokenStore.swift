public import Foundation
internal import OpenSSLCrypto

/// Storage for tokens, optionally shared between processes.
///
/// Each record has a version. A writer names the version that it replaces, so that it can't
/// overwrite what another writer has stored in the meantime.
///
/// A conforming type declares the closure of ``withExclusiveAccess(to:timeout:_:)`` as
/// `nonisolated(nonsending)`. Packages with default compiler settings must spell it out; with the
/// upcoming feature `NonisolatedNonsendingByDefault` it's implied:
///
/// ```swift
/// func withExclusiveAccess<Result: Sendable>(
///     to key: String,
///     timeout: Duration,
///     _ body: nonisolated(nonsending) @Sendable () async throws -> Result
/// ) async throws -> Result
/// ```
///
/// <doc:KeepingRefreshTokens> shows a complete type.
public protocol TokenStore: Sendable {
    /// A Boolean value that indicates whether records survive the end of the process. The default
    /// is `true`.
    ///
    /// In such a store, the end of a grant is a record too: later processes must not reuse the
    /// first token.
    var outlivesProcess: Bool { get }

    /// Reads a record.
    ///
    /// - Parameter key: The record's key.
    /// - Returns: The record and its version, or `nil` if there isn't one.
    /// - Throws: Any error of the store.
    func load(_ key: String) async throws -> VersionedTokenRecord?

    /// Writes a record if the stored version is the expected one.
    ///
    /// If records survive the process, this one must be durable when the method returns `true`.
    ///
    /// - Parameters:
    ///   - key: The record's key.
    ///   - expectedVersion: The version to replace; `nil` if there must not be a record.
    ///   - record: The new record.
    /// - Returns: `true` if the record was written.
    /// - Throws: Any error of the store.
    func compareAndSwap(_ key: String, expectedVersion: Int?, record: TokenRecord) async throws -> Bool

    /// Removes a record if the stored version is the expected one.
    ///
    /// - Parameters:
    ///   - key: The record's key.
    ///   - version: The version to remove.
    /// - Returns: `true` if the record was removed.
    /// - Throws: Any error of the store.
    func remove(_ key: String, ifVersion version: Int) async throws -> Bool

    /// Runs a closure while holding the exclusive lock for a key, among all processes that share
    /// the store.
    ///
    /// Reading a refresh token, using it and writing its successor happen under one such lock.
    ///
    /// - Parameters:
    ///   - key: The key to lock.
    ///   - timeout: The maximum time to wait for the lock.
    ///   - body: The closure.
    /// - Returns: The closure's result.
    /// - Throws: Any error of the closure; ``OAuth2Error`` with the code `storeBusy` if the lock
    ///   isn't available in time.
    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result
}

extension TokenStore {
    /// The default value, `true`.
    public var outlivesProcess: Bool { true }
}

/// The tokens of one grant.
public struct TokenRecord: Sendable, Hashable {
    /// The access token's text.
    public var accessToken: Secret
    /// The token's type.
    public var tokenType: String
    /// The scope that the server granted, if stated.
    public var scope: String?
    /// The access token's expiry by the wall clock, if the server stated it.
    public var expiration: Date?
    /// The refresh token, if the server issued one.
    public var refreshToken: Secret?
    /// The private key, as PEM text, that was generated for the tokens and that they are bound to
    /// ([RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)).
    public var proofKey: Secret?
    /// The thumbprint of the key that the tokens are bound to.
    public var proofKeyThumbprint: String?
    /// The pending refresh attempt whose response hasn't been written yet, if any.
    ///
    /// It's written before the refresh token is sent, so that a process that finds it knows that
    /// the token may have been used.
    public var refreshAttempt: String?
    /// The time when the tokens were obtained, by the wall clock of the process that stored them.
    ///
    /// If that is in the future, the clock was set back, and ``expiration`` isn't reliable: the
    /// access token counts as expired.
    public var obtained: Date?
    /// A Boolean value that indicates whether the user has signed out.
    ///
    /// The record has no tokens then, and only a new sign-in brings some.
    public var isSignedOut: Bool

    /// Creates a record.
    ///
    /// - Parameters:
    ///   - accessToken: The access token's text.
    ///   - tokenType: The token's type. The default is `Bearer`.
    ///   - scope: The scope that the server granted. The default is `nil`.
    ///   - expiration: The access token's expiry by the wall clock. The default is `nil`, for
    ///     unknown.
    ///   - refreshToken: The refresh token. The default is `nil`.
    ///   - proofKey: The private key that was generated for the tokens. The default is `nil`.
    ///   - proofKeyThumbprint: The thumbprint of the tokens' key. The default is `nil`.
    ///   - refreshAttempt: The pending refresh attempt. The default is `nil`.
    ///   - obtained: The time when the tokens were obtained. The default is `nil`.
    ///   - isSignedOut: `true` if the user has signed out. The default is `false`.
    public init(
        accessToken: Secret,
        tokenType: String = "Bearer",
        scope: String? = nil,
        expiration: Date? = nil,
        refreshToken: Secret? = nil,
        proofKey: Secret? = nil,
        proofKeyThumbprint: String? = nil,
        refreshAttempt: String? = nil,
        obtained: Date? = nil,
        isSignedOut: Bool = false
    ) {
        self.accessToken = accessToken
        self.tokenType = tokenType
        self.scope = scope
        self.expiration = expiration
        self.refreshToken = refreshToken
        self.proofKey = proofKey
        self.proofKeyThumbprint = proofKeyThumbprint
        self.refreshAttempt = refreshAttempt
        self.obtained = obtained
        self.isSignedOut = isSignedOut
    }

    /// Returns a Boolean value that indicates whether two records are equal, with texts as bytes.
    ///
    /// - Parameters:
    ///   - left: A record.
    ///   - right: Another record.
    /// - Returns: `true` if all properties are equal.
    public static func == (left: Self, right: Self) -> Bool {
        left.accessToken == right.accessToken && left.refreshToken == right.refreshToken
            && left.proofKey == right.proofKey && left.texts == right.texts && left.expiration == right.expiration
            && left.obtained == right.obtained && left.isSignedOut == right.isSignedOut
    }

    /// Feeds the record to a hasher.
    ///
    /// - Parameter hasher: The hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(accessToken)
        hasher.combine(refreshToken)
        hasher.combine(texts)
    }

    private var texts: [ByteComparedString?] {
        [tokenType, scope, proofKeyThumbprint, refreshAttempt].map { $0.map(ByteComparedString.init) }
    }
}

extension TokenRecord {
    /// Returns the seconds until the access token expires by the wall clock; `nil` if unknown.
    ///
    /// - Parameter date: The current time.
    /// - Returns: The time; zero for a token that was obtained in the future, with one second of
    ///   tolerance for clock corrections.
    func timeLeft(at date: Date) -> TimeInterval? {
        if let obtained, obtained.timeIntervalSince(date) > 1 { return 0 }
        return expiration?.timeIntervalSince(date)
    }
}

/// A record and the version that a writer must name to replace it.
public struct VersionedTokenRecord: Sendable, Hashable {
    /// The record.
    public let record: TokenRecord
    /// The version, which differs from that of every other record with the same key.
    public let version: Int

    /// Creates a versioned record.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - version: The record's version.
    public init(record: TokenRecord, version: Int) {
        self.record = record
        self.version = version
    }
}
