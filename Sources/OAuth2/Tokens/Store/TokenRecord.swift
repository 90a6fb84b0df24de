public import Foundation
import Networking
internal import OpenSSLCrypto
import TokenGeneration

/// The tokens of one grant, and what the clients that share a store know about their next refresh.
///
/// A store keeps a record as it is: ``serialized(for:)`` returns its bytes, and
/// ``init(parsing:for:)`` reads them.
public struct TokenRecord: Sendable, ComparedByParts {
    package var accessToken: Secret
    package var tokenType: String
    package var scope: String?
    /// The access token's expiry by the wall clock, if the server stated it.
    package var expiration: Date?
    package var refreshToken: Secret?
    /// The private key that was generated for the tokens, as PEM text.
    package var proofKey: Secret?
    package var proofKeyThumbprint: String?
    /// The pending refresh attempt whose response hasn't been written yet, if any.
    ///
    /// It's written before the refresh token is sent, so that a process that finds it knows that
    /// the token may have been used.
    package var refreshAttempt: RefreshAttempt?
    /// The time when the tokens were obtained, by the wall clock of the process that stored them.
    ///
    /// If that is in the future, the clock was set back, and `expiration` isn't reliable: the
    /// access token counts as expired.
    package var obtained: Date?
    /// The reason why the grant has ended, if it has.
    ///
    /// The record has no tokens then, and only a new sign-in brings some.
    package var end: GrantEnd?
    /// The text that all records since one sign-in have in common, if known.
    package var epoch: String?
    /// The number of refreshes in this epoch.
    ///
    /// A number below one that was seen before means that the store was set back, as by a backup.
    package var generation: Int
    /// The pause before the next refresh that the server asked for, if it did.
    package var pause: RefreshPause?

    package init(
        accessToken: Secret,
        tokenType: String = "Bearer",
        scope: String? = nil,
        expiration: Date? = nil,
        refreshToken: Secret? = nil,
        proofKey: Secret? = nil,
        proofKeyThumbprint: String? = nil,
        refreshAttempt: RefreshAttempt? = nil,
        obtained: Date? = nil,
        end: GrantEnd? = nil,
        epoch: String? = nil,
        generation: Int = 0,
        pause: RefreshPause? = nil
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
        self.end = end
        self.epoch = epoch
        self.generation = generation
        self.pause = pause
    }

    /// Reads a record.
    ///
    /// - Parameters:
    ///   - data: The result of ``serialized(for:)``.
    ///   - key: The record's key in the store.
    /// - Throws: ``OAuth2Error`` with the code `storeDamaged` for bytes that aren't a record with
    ///   this key, or `storeTooNew` for those of a newer version of this package.
    public init(parsing data: Data, for key: String) throws(OAuth2Error) {
        self = try TokenRecordCoding(cipher: nil).decodeRecord([UInt8](data), key: key)
    }

    /// Returns the record as JSON.
    ///
    /// - Parameter key: The record's key in the store, which ``init(parsing:for:)`` compares.
    /// - Returns: The bytes. They aren't encrypted and have the tokens and the key of their proofs.
    /// - Throws: ``OAuth2Error``, after which the store must not write anything.
    public func serialized(for key: String) throws(OAuth2Error) -> Data {
        Data(try TokenRecordCoding(cipher: nil).encode(self, key: key))
    }

    var parts: [AnyHashable?] {
        [tokenType, scope, proofKeyThumbprint, epoch].map { $0.map(ByteComparedString.init) }
            + [
                accessToken, refreshToken, proofKey, expiration, obtained, end, generation, refreshAttempt, pause,
            ]
    }

    /// Returns `nil` if unknown, zero if the token was obtained in the future, with one second of
    /// tolerance for clock corrections.
    func timeLeft(at date: Date) -> TimeInterval? {
        if let obtained, obtained.timeIntervalSince(date) > 1 { return 0 }
        return expiration?.timeIntervalSince(date)
    }

    /// The placeholder for an access token that hasn't been issued yet.
    static let noToken = Secret("")

    init(_ token: AccessToken, refreshToken: Secret? = nil, boundKey: BoundKey? = nil, at timeSource: TimeSource) {
        let left = token.expiry.map { $0 - timeSource.now() }
        self.init(
            accessToken: token.value,
            tokenType: token.type,
            scope: token.scope,
            expiration: left.map { timeSource.date().addingTimeInterval($0 / .seconds(1)) },
            refreshToken: refreshToken,
            obtained: timeSource.date()
        )
        bind(to: boundKey)
    }

    init(awaiting refreshToken: Secret?) {
        self.init(
            accessToken: Self.noToken,
            expiration: Date(timeIntervalSince1970: 0),
            refreshToken: refreshToken
        )
    }

    init(_ end: GrantEnd, replacing earlier: TokenRecord? = nil) {
        self.init(awaiting: nil)
        self.end = end
        epoch = earlier?.epoch
        generation = earlier?.generation ?? 0
    }

    mutating func bind(to key: BoundKey?) {
        proofKey = key?.pem
        proofKeyThumbprint = key?.generator.thumbprint
    }
}

/// A refresh that a host has announced in a record before it sends the refresh token.
///
/// The announcement has durations instead of times, because hosts' clocks differ. Other hosts
/// measure `validFor` on their own clocks, from when they first see the attempt.
package struct RefreshAttempt: Sendable, ComparedByParts {
    static let earlierLimit = 8

    package let id: String
    /// The host and process that made the attempt, for operators.
    package var host: String?
    /// By the wall clock of the attempt's host; only processes of one machine rely on it.
    package var date: Date?
    /// The time for which no other host sends the token.
    package var validFor: Duration
    /// The number of attempts with the same refresh token, including this one.
    package var tries: Int
    /// The identifiers of earlier attempts with the same refresh token, which may have used it.
    package var earlier: [String]

    package init(
        id: String,
        host: String? = nil,
        date: Date? = nil,
        validFor: Duration = .seconds(20),
        tries: Int = 1,
        earlier: [String] = []
    ) {
        self.id = id
        self.host = host
        self.date = date
        self.validFor = validFor
        self.tries = tries
        self.earlier = earlier
    }

    var parts: [AnyHashable?] {
        ([id, host] + earlier).map { $0.map(ByteComparedString.init) } + [date, validFor, tries]
    }
}

/// The reason why a grant has ended, by its name in stored records.
package enum GrantEnd: String, Sendable {
    /// The server rejected the refresh token, and its response to an earlier use wasn't lost.
    case revoked
    /// The server rejected the refresh token after the response to an earlier use was lost.
    case lost
    case signedOut
}

/// A pause before the next refresh, which the server asked one host for and all hosts keep.
package struct RefreshPause: Sendable, Hashable {
    /// The length of the pause, measured from when a host first sees it.
    package let duration: Duration
    /// The end of the pause by the wall clock of the host that wrote it.
    ///
    /// A host whose clock has passed it doesn't wait; a wrong clock can only shorten the pause.
    package let end: Date

    package init(duration: Duration, end: Date) {
        self.duration = duration
        self.end = end
    }
}

extension AccessToken {
    /// Returns `nil` if the token expires within a second or its key isn't available.
    init?(_ record: TokenRecord, boundKey: BoundKey? = nil, acceptsBearer: Bool = true, at timeSource: TimeSource) {
        let now = timeSource.now()
        let left = record.timeLeft(at: timeSource.date())
        if let left, !(left > 1) { return nil }
        guard record.accessToken != TokenRecord.noToken else { return nil }
        let isBound = record.tokenType.equalsIgnoringASCIICase("DPoP")
        let isUsable =
            isBound
            ? boundKey.map { record.proofKeyThumbprint == $0.generator.thumbprint } ?? false
            : record.tokenType.equalsIgnoringASCIICase(Self.bearer) && acceptsBearer
                || record.tokenType.equalsIgnoringASCIICase(Self.notApplicable)
        guard isUsable else { return nil }
        self.init(
            value: record.accessToken,
            type: record.tokenType,
            scope: record.scope,
            expiry: left.map { now + Duration(clampingSeconds: $0) },
            requested: now,
            proofGenerator: isBound ? boundKey?.generator : nil
        )
        isFound = true
    }
}
