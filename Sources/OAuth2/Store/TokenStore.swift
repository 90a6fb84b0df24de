public import Foundation

/// Where tokens are kept between requests, and between processes if the store is shared.
///
/// A record has a version. Whoever writes says which version it replaces, so that nobody overwrites what another has
/// written in the meantime.
public protocol TokenStore: Sendable {
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
    /// - Throws: What the body throws; ``OAuth2Error`` with the code `storeFailed` if the section is not free in time.
    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result
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

    /// Makes a record.
    ///
    /// - Parameters:
    ///   - accessToken: The access token's text.
    ///   - tokenType: What kind of token it is.
    ///   - scope: The scope the server granted.
    ///   - expiration: When the access token expires by the wall clock.
    ///   - refreshToken: The refresh token.
    public init(
        accessToken: Secret,
        tokenType: String = "Bearer",
        scope: String? = nil,
        expiration: Date? = nil,
        refreshToken: Secret? = nil
    ) {
        self.accessToken = accessToken
        self.tokenType = tokenType
        self.scope = scope
        self.expiration = expiration
        self.refreshToken = refreshToken
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
