public import Foundation
internal import OpenSSLCrypto

/// Where tokens are kept between requests, and between processes if the store is shared.
///
/// A record has a version. Whoever writes says which version it replaces, so that nobody overwrites what another has
/// written in the meantime.
///
/// A conforming type writes the body of ``withExclusiveAccess(to:timeout:_:)`` as a `nonisolated(nonsending)` closure. A package with
/// default compiler settings has to say so; with the upcoming feature `NonisolatedNonsendingByDefault` it goes without saying:
///
///     func withExclusiveAccess<Result: Sendable>(
///         to key: String,
///         timeout: Duration,
///         _ body: nonisolated(nonsending) @Sendable () async throws -> Result
///     ) async throws -> Result
///
/// <doc:KeepingRefreshTokens> has a whole type.
public protocol TokenStore: Sendable {
    /// Whether the records are still there after the process has ended; yes, unless a store says otherwise.
    ///
    /// In a store that outlives the process, the end of a grant is a record too: a later process must not use the first refresh
    /// token again.
    var outlivesProcess: Bool { get }

    /// Reads a record.
    ///
    /// - Parameter key: What the record is kept under.
    /// - Returns: The record and its version, or `nil` if there is none.
    /// - Throws: Any error of the store.
    func load(_ key: String) async throws -> VersionedTokenRecord?

    /// Writes a record if nobody has written one since it was read.
    ///
    /// When this returns `true`, the record must be where it survives the process, if the store promises that.
    ///
    /// - Parameters:
    ///   - key: What the record is kept under.
    ///   - expectedVersion: The version to replace; `nil` if there must not be a record.
    ///   - record: The new record.
    /// - Returns: Whether the record was written.
    /// - Throws: Any error of the store.
    func compareAndSwap(_ key: String, expectedVersion: Int?, record: TokenRecord) async throws -> Bool

    /// Removes a record if nobody has written one since it was read.
    ///
    /// - Parameters:
    ///   - key: What the record is kept under.
    ///   - version: The version to remove.
    /// - Returns: Whether there was such a record.
    /// - Throws: Any error of the store.
    func remove(_ key: String, ifVersion version: Int) async throws -> Bool

    /// Runs a body while nobody else is in a body for the same key, in this process and in those that share the store.
    ///
    /// Reading a refresh token, using it and writing its successor is one such section.
    ///
    /// - Parameters:
    ///   - key: What the section is about.
    ///   - timeout: How long to wait for others to leave it.
    ///   - body: What is done in the section.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws; ``OAuth2Error`` with the code `storeBusy` if the section is not free in time.
    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result
}

extension TokenStore {
    /// Yes.
    public var outlivesProcess: Bool { true }
}

/// The tokens of one grant.
public struct TokenRecord: Sendable, Hashable {
    /// The access token's text.
    public var accessToken: Secret
    /// What kind of token it is.
    public var tokenType: String
    /// The scope the server granted, if it said so.
    public var scope: String?
    /// When the access token expires by the wall clock, if the server said so.
    public var expiration: Date?
    /// The refresh token, if the server issued one.
    public var refreshToken: Secret?
    /// The private key, as PEM text, that the tokens are bound to, if it was made for them
    /// ([RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)).
    public var proofKey: Secret?
    /// The thumbprint of the key that the tokens are bound to.
    public var proofKeyThumbprint: String?
    /// The attempt to refresh whose answer has not been written yet; `nil` without such an attempt.
    ///
    /// It is written before the token is sent, so that a process that finds it knows that the token may have been used.
    public var refreshAttempt: String?
    /// The time at which the tokens were obtained, by the wall clock of the process that stored them.
    ///
    /// If that is in the future, the clock was set back, and ``expiration`` can't be relied on: the access token counts as expired.
    public var obtained: Date?
    /// A Boolean value that indicates whether the user has signed out: the record has no tokens, and only a new sign-in brings some.
    public var isSignedOut: Bool

    /// Makes a record.
    ///
    /// - Parameters:
    ///   - accessToken: The access token's text.
    ///   - tokenType: What kind of token it is.
    ///   - scope: The scope the server granted.
    ///   - expiration: When the access token expires by the wall clock.
    ///   - refreshToken: The refresh token.
    ///   - proofKey: The private key that the tokens are bound to, if it was made for them.
    ///   - proofKeyThumbprint: The thumbprint of the key that the tokens are bound to.
    ///   - refreshAttempt: The attempt to refresh whose answer has not been written yet.
    ///   - obtained: When the tokens were obtained.
    ///   - isSignedOut: Whether the user has signed out.
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

    /// Returns a Boolean value that indicates whether two records are the same, with their texts compared by bytes.
    ///
    /// - Parameters:
    ///   - left: One record.
    ///   - right: The other.
    /// - Returns: `true` if all of their properties are the same.
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
    /// The time that the access token has left by the wall clock, in seconds; `nil` if it is not known to expire.
    ///
    /// - Parameter date: The present time.
    /// - Returns: Zero for a token that was obtained in the future. A second is what small corrections of a clock may be.
    func timeLeft(at date: Date) -> TimeInterval? {
        if let obtained, obtained.timeIntervalSince(date) > 1 { return 0 }
        return expiration?.timeIntervalSince(date)
    }
}

/// A record with the version that whoever replaces it must name.
public struct VersionedTokenRecord: Sendable, Hashable {
    /// The record.
    public let record: TokenRecord
    /// Its version, which differs from that of every other record kept under the same key.
    public let version: Int

    /// Makes a versioned record.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - version: Its version.
    public init(record: TokenRecord, version: Int) {
        self.record = record
        self.version = version
    }
}
