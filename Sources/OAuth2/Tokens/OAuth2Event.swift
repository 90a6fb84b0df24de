/// What happens to a token, for logs and metrics: never the token itself.
@nonexhaustive
public enum OAuth2Event: Sendable, Hashable {
    /// Somebody asks for a token that is to replace a generation's; in the background if callers go on with that one.
    case refreshStarted(replacing: Int, isInBackground: Bool)
    /// A token came, from the server or out of the store; its lifetime is `nil` if the server did not say.
    case refreshed(generation: Int, lifetime: Duration?, isFound: Bool)
    /// No token came; the status is that of the server's answer, if there was one.
    case refreshFailed(OAuth2Error.Code, status: Int?)
    /// The server has replaced the refresh token, and the new one is in the store.
    case rotated
    /// The refresh token was sent and its answer is missing: here, or by a process that ended before it could write it. The token is not
    /// sent again while that request may be on its way; if the server refuses it then, a successor was lost.
    case refreshInDoubt
    /// The server is left alone for this long.
    case backoff(Duration, OAuth2Error.Code)
    /// There will be no token without somebody's help.
    case dead(OAuth2Error.Code, isPossiblyLostRotation: Bool)
    /// A server sent a new nonce for DPoP proofs; its origin is `host:port`.
    case nonceUpdated(origin: String)
    /// A server's clock is this much ahead of ours by now; zero if the clocks agree (again).
    case skewChanged(origin: String, Duration)
    /// The store could not take a token; it is in memory only.
    case storeFailed
    /// A resource asks for more than a fresh token.
    case demanded(OAuth2Error.Code, ResourceDemand)
    /// The token was dropped, here and in the store.
    case signedOut
    /// A new refresh token was given.
    case signedIn
}

/// How often things have happened since an authenticator was made.
public struct OAuth2Counters: Sendable, Hashable {
    /// Requests to the token endpoint, repetitions included.
    public var tokenRequests = 0
    /// Tokens that the server issued.
    public var refreshes = 0
    /// Tokens that were in the store.
    public var found = 0
    /// Times that no token could be had.
    public var failures = 0
    /// Callers that waited for a token.
    public var waits = 0
    /// Refused requests that were worth another attempt.
    public var retries = 0
    /// Refused requests that were not.
    public var refusals = 0
    /// Refresh tokens that were replaced.
    public var rotations = 0
    /// Tokens that the store could not take.
    public var storeFailures = 0

    /// All zero.
    public init() {}
}
