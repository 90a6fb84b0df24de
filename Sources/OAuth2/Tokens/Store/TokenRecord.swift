public import Foundation
internal import OpenSSLCrypto

/// The tokens of one grant.
public struct TokenRecord: Sendable, ComparedByParts {
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
    public var refreshAttempt: RefreshAttempt?
    /// The time when the tokens were obtained, by the wall clock of the process that stored them.
    ///
    /// If that is in the future, the clock was set back, and ``expiration`` isn't reliable: the
    /// access token counts as expired.
    public var obtained: Date?
    /// The reason why the grant has ended, if it has.
    ///
    /// The record has no tokens then, and only a new sign-in brings some.
    public var end: GrantEnd?
    /// The text that all records since one sign-in have in common; `nil` in records of earlier
    /// versions of this package.
    public var epoch: String?
    /// The number of refreshes in this epoch.
    ///
    /// A number below one that was seen before means that the store was set back, as by a backup.
    public var generation: Int
    /// The pause before the next refresh that the server asked for, if it did.
    public var pause: RefreshPause?

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
    ///   - end: The reason why the grant has ended. The default is `nil`.
    ///   - epoch: The text that records since one sign-in have in common. The default is `nil`.
    ///   - generation: The number of refreshes in this epoch. The default is 0.
    ///   - pause: The pause before the next refresh. The default is `nil`.
    public init(
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

    var parts: [AnyHashable?] {
        [tokenType, scope, proofKeyThumbprint, epoch].map { $0.map(ByteComparedString.init) }
            + [
                accessToken, refreshToken, proofKey, expiration, obtained, end, generation, refreshAttempt, pause,
            ]
    }
}

extension TokenRecord {
    /// Returns the seconds until the access token expires by the wall clock; `nil` if unknown, zero
    /// if it was obtained in the future, with one second of tolerance for clock corrections.
    func timeLeft(at date: Date) -> TimeInterval? {
        if let obtained, obtained.timeIntervalSince(date) > 1 { return 0 }
        return expiration?.timeIntervalSince(date)
    }
}
