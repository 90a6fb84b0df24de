public import Foundation
public import OAuth2
public import TokenGeneration

extension AccessTokenVerifier {
    /// Creates a verifier of the tokens that a well-known issuer makes for this API.
    ///
    /// ```swift
    /// let verifier = AccessTokenVerifier(
    ///     .entra(tenants: ["8eaef023-2b34-4da1-9baa-8bc8c9d6a490"]),
    ///     audience: "6e74172b-be56-4843-9ff4-e66a39bb12e3"
    /// )
    /// ```
    ///
    /// The ``policy`` is the issuer's, instead of that of RFC 9068.
    ///
    /// - Parameters:
    ///   - issuer: The issuer.
    ///   - audience: The issuer's name for this API.
    ///   - keys: The issuer's keys. The default, `nil`, fetches those that the issuer publishes.
    ///   - currentDate: A closure that returns the current time.
    public init(
        _ issuer: TokenIssuer,
        audience: String,
        keys: RemoteKeySet? = nil,
        currentDate: @escaping @Sendable () -> Date = { Date() }
    ) {
        let keys = IssuerKeys(keys ?? RemoteKeySet(issuer), issuer.selection)
        self.init(issuer, audience, keys, currentDate)
    }

    /// Creates a verifier of the tokens that a well-known issuer makes for this API, with local
    /// keys.
    ///
    /// - Parameters:
    ///   - issuer: The issuer.
    ///   - audience: The issuer's name for this API.
    ///   - keys: The issuer's keys.
    ///   - currentDate: A closure that returns the current time.
    public init(
        _ issuer: TokenIssuer,
        audience: String,
        keys: JWKSet,
        currentDate: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(issuer, audience, IssuerKeys(keys, issuer.selection), currentDate)
    }

    private init(
        _ issuer: TokenIssuer,
        _ audience: String,
        _ keys: IssuerKeys,
        _ currentDate: @escaping @Sendable () -> Date
    ) {
        let policy = issuer.policy(audience: audience)
        self.init(policy, audience, keys: keys, introspection: nil, currentDate: currentDate)
        scopeClaim = issuer.scopeClaim
        clientClaim = issuer.clientClaim
    }
}
