/// A token that opens a protected resource ([RFC 6749 §1.4](https://www.rfc-editor.org/rfc/rfc6749#section-1.4)).
public struct AccessToken: Sendable, Hashable {
    /// The token itself.
    public let value: Secret
    /// What kind of token it is, as the server wrote it; `Bearer` in most cases.
    public let type: String
    /// The scope the server granted, if it said so.
    public let scope: String?
    /// When the token expires on the monotonic clock, if the server said so.
    public let expiry: ContinuousClock.Instant?
    /// When the request that brought the token was sent, or the token was found in a store.
    public let requested: ContinuousClock.Instant

    /// Makes a token.
    ///
    /// - Parameters:
    ///   - value: The token itself.
    ///   - type: What kind of token it is.
    ///   - scope: The scope the server granted.
    ///   - expiry: When the token expires.
    ///   - requested: When the request that brought the token was sent.
    public init(
        value: Secret,
        type: String = "Bearer",
        scope: String? = nil,
        expiry: ContinuousClock.Instant? = nil,
        requested: ContinuousClock.Instant
    ) {
        self.value = value
        self.type = type
        self.scope = scope
        self.expiry = expiry
        self.requested = requested
    }
}
