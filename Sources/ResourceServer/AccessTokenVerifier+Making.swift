public import Foundation
public import OAuth2
public import TokenGeneration

extension AccessTokenVerifier {
    /// Creates a verifier of JWTs with the keys that an issuer publishes.
    ///
    /// - Parameters:
    ///   - issuer: The authorization server's issuer identifier, exactly as in its metadata.
    ///   - audience: The issuer's name for this API.
    ///   - keys: The issuer's keys.
    ///   - selection: The rule that selects the keys for a token.
    ///   - currentDate: A closure that returns the current time.
    public init(
        issuer: String,
        audience: String,
        keys: RemoteKeySet,
        selection: KeySelection = KeySelection(),
        currentDate: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(
            .accessToken(issuer: issuer, audience: audience),
            audience,
            keys: IssuerKeys(keys, selection),
            introspection: nil,
            currentDate: currentDate
        )
    }

    /// Creates a verifier of JWTs with local keys.
    ///
    /// - Parameters:
    ///   - issuer: The authorization server's issuer identifier, exactly as in its metadata.
    ///   - audience: The issuer's name for this API.
    ///   - keys: The issuer's keys.
    ///   - selection: The rule that selects the keys for a token.
    ///   - currentDate: A closure that returns the current time.
    public init(
        issuer: String,
        audience: String,
        keys: JWKSet,
        selection: KeySelection = KeySelection(),
        currentDate: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(
            .accessToken(issuer: issuer, audience: audience),
            audience,
            keys: IssuerKeys(keys, selection),
            introspection: nil,
            currentDate: currentDate
        )
    }
}
