public import Foundation

/// Remembers which one-time tokens have been used: DPoP proofs, client assertions.
///
/// ``InMemoryReplayCache`` is one for a single process. Servers that share their load need one that they share, such as a
/// database in which inserting a key that exists fails.
public protocol ReplayCache: Sendable {
    /// Remembers an identifier, if it is not remembered yet.
    ///
    /// Of two calls with the same identifier, however close, only one may return `true`.
    ///
    /// - Parameters:
    ///   - identifier: The identifier.
    ///   - expiration: When it can be forgotten, because by then the token is refused as too old.
    ///   - date: The current time.
    /// - Returns: Whether the identifier was not remembered.
    /// - Throws: Whatever keeps the cache from telling. The token is refused then.
    func remember(_ identifier: String, until expiration: Date, at date: Date) async throws -> Bool
}
