public import Foundation

/// A store of the one-time tokens that have been used, such as DPoP proofs and client assertions.
///
/// ``InMemoryReplayCache`` serves a single process. Servers that share their load need a shared cache, such as a database in which
/// inserting an existing key fails.
///
/// A cache accepts an identifier only if it is certain that the identifier is new. Where entries are forgotten by another clock
/// than the caller's, as with a time to live in a database, an identifier must be rejected once its expiration has passed on
/// either clock: after the caller's clock was set back, a token whose entry is gone would be accepted again.
///
/// Verifiers that share a cache need the same maximum age and leeway, so that a token has the same expiration at each of them.
public protocol ReplayCache: Sendable {
    /// Remembers an identifier if it is certainly new.
    ///
    /// Of two calls with the same identifier, however close, only one may return `true`.
    ///
    /// - Parameters:
    ///   - identifier: The identifier of the token.
    ///   - thumbprint: The thumbprint of the key that signed the token, for a quota per key.
    ///   - expiration: The time until which the cache must remember the identifier. It is later than the last time at which a
    ///     verifier accepts the token, and depends on the token alone.
    ///   - now: The reading of the clock by which the verifier has judged the token.
    /// - Returns: `true` if the identifier is new. `false` if it is known, or may have been known and forgotten.
    /// - Throws: An error if the cache can't answer. The verifier then rejects the token.
    func remember(
        _ identifier: String,
        signedBy thumbprint: String,
        until expiration: Date,
        at now: Date
    ) async throws -> Bool
}
