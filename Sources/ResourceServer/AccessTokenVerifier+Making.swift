public import Foundation
public import OAuth2
public import TokenGeneration

extension AccessTokenVerifier {
    /// Makes a verifier of JWTs with the keys that an issuer publishes.
    ///
    /// - Parameters:
    ///   - issuer: The authorization server's issuer identifier, exactly as its metadata have it.
    ///   - audience: The name by which the issuer knows this API.
    ///   - keys: The issuer's keys.
    ///   - selection: Which of the keys a token can mean.
    ///   - currentDate: Tells the time.
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

    /// Makes a verifier of JWTs with keys at hand.
    ///
    /// - Parameters:
    ///   - issuer: The authorization server's issuer identifier, exactly as its metadata have it.
    ///   - audience: The name by which the issuer knows this API.
    ///   - keys: The issuer's keys.
    ///   - selection: Which of the keys a token can mean.
    ///   - currentDate: Tells the time.
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
