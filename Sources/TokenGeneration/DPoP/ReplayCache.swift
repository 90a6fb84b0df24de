public import Foundation

/// A store of used one-time tokens, such as DPoP proofs and client assertions.
///
/// ``InMemoryReplayCache`` serves a single process. Servers behind a load balancer need a shared
/// cache, such as a database in which inserting an existing key fails.
///
/// A cache accepts an identifier only if it is certainly new. If entries expire by a clock other
/// than the caller's, such as with a database's time to live, reject an identifier once its
/// expiration has passed on either clock. Otherwise, after the caller's clock is set back, a token
/// whose entry is gone would be accepted again.
///
/// Verifiers that share a cache need the same maximum age and leeway, so that a token has the same
/// expiration in all of them.
public protocol ReplayCache: Sendable {
    /// Remembers an identifier if it is certainly new.
    ///
    /// Of several calls with the same identifier, even concurrent ones, only one may return `true`.
    ///
    /// - Parameters:
    ///   - identifier: The identifier of the token.
    ///   - thumbprint: The thumbprint of the key that signed the token, for a quota per key. For an
    ///     introspected token, it's the issuer.
    ///   - expiration: The time until which the cache must remember the identifier. It is later
    ///     than the last time at which a verifier accepts the token, and depends on the token
    ///     alone.
    ///   - now: The verifier's reading of the clock for this token.
    /// - Returns: `true` if the identifier is new; `false` if it is known, or may have been known
    ///   and forgotten.
    /// - Throws: An error if the cache can't answer. The verifier then rejects the token. It passes
    ///   a ``TokenError`` on, and makes any other error the cause of `replayCacheFailed`.
    func remember(
        _ identifier: String,
        signedBy thumbprint: String,
        until expiration: Date,
        at now: Date
    ) async throws -> Bool
}
