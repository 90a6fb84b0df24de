/// An event in the life of a token, for logs and metrics, without the token itself.
///
/// A `ClientObserver` of the authenticator's clients receives it.
@nonexhaustive
public enum OAuth2Event: Sendable, Hashable {
    /// A request to the token endpoint is about to be sent, for the first time or again.
    case requested
    /// A caller waits for a token.
    case awaited
    /// The client sends a rejected request again.
    case retried
    /// The client doesn't send a rejected request again.
    case refused
    /// A request for a token to replace that of a generation started. If it's in the background,
    /// callers still use the old token.
    case refreshStarted(replacing: Int, isInBackground: Bool)
    /// A token arrived from the server or the store. Its lifetime is `nil` if unknown.
    case refreshed(generation: Int, lifetime: Duration?, isFound: Bool)
    /// A token request failed. The status is that of the server's response, if there was one.
    case refreshFailed(OAuth2Error.Code, status: Int?)
    /// The server rotated the refresh token, and the new one is in the store.
    case rotated
    /// The response to a refresh is missing, here or in a process that ended before storing it.
    ///
    /// The client doesn't send the refresh token again while that request may still be pending. If
    /// the server then rejects it, a rotated refresh token was lost.
    case refreshInDoubt
    /// The client backs off from the server for this long.
    case backoff(Duration, OAuth2Error.Code)
    /// The grant has ended; the user must sign in again.
    case dead(OAuth2Error.Code, isPossiblyLostRotation: Bool)
    /// A server sent a new nonce for DPoP proofs. Its origin is `host:port`.
    case nonceUpdated(origin: String)
    /// A server's clock is ahead of the local one by this much; zero if the clocks agree again.
    case skewChanged(origin: String, Duration)
    /// The store couldn't save a token; it's in memory only.
    case storeFailed
    /// A resource demands more than a fresh token.
    case demanded(OAuth2Error.Code, ResourceDemand)
    /// A server rejected a request that had no token, because the authenticator's ``ResourceRule``
    /// doesn't cover its origin, `host:port`. It's reported once for each origin, for up to 64.
    case withheld(origin: String)
    /// The token was deleted, in memory and in the store.
    case signedOut
    /// The user signed in with new tokens.
    case signedIn
}

/// The numbers of events since an authenticator was created.
public struct OAuth2Counters: Sendable, Hashable {
    /// The number of requests to the token endpoint, including retries.
    public var tokenRequests = 0
    /// The number of tokens that the server issued.
    public var refreshes = 0
    /// The number of tokens found in the store.
    public var found = 0
    /// The number of failed attempts to get a token.
    public var failures = 0
    /// The number of callers that waited for a token.
    public var waits = 0
    /// The number of rejected requests that were retried.
    public var retries = 0
    /// The number of rejected requests that weren't retried.
    public var refusals = 0
    /// The number of rotated refresh tokens.
    public var rotations = 0
    /// The number of tokens that the store couldn't save.
    public var storeFailures = 0
}
