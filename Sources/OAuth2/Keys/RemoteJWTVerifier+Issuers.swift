public import TokenGeneration

extension RemoteJWTVerifier {
    /// Creates a verifier of the tokens that a well-known issuer makes for an audience.
    ///
    /// ```swift
    /// let verifier = RemoteJWTVerifier(
    ///     .gitHubActions(requiring: [
    ///         "repository_id": "456789", "environment": "production",
    ///     ]),
    ///     audience: "https://deploy.example"
    /// )
    /// let job = try await verifier.verify(text)
    /// ```
    ///
    /// - Parameters:
    ///   - issuer: The issuer.
    ///   - audience: The value that `aud` must be or contain.
    ///   - keys: The issuer's keys. The default, `nil`, fetches those that the issuer publishes. To
    ///     share keys between verifiers, or to use another client, pass a ``RemoteKeySet``.
    public convenience init(_ issuer: TokenIssuer, audience: String, keys: RemoteKeySet? = nil) {
        self.init(
            keys: keys ?? RemoteKeySet(issuer),
            selection: issuer.selection,
            policy: issuer.policy(audience: audience)
        )
    }

    /// Verifies a token that may be used only once, and remembers it, so that the next use is
    /// rejected.
    ///
    /// The token is remembered after all other checks, as `JWTVerifier.verify(_:onceIn:)` does.
    ///
    /// - Parameters:
    ///   - token: A compact JWS.
    ///   - cache: The store of used tokens. In a single process, all verifiers with the same leeway
    ///     can share one `InMemoryReplayCache`. Servers behind a load balancer need a shared cache.
    /// - Returns: The verified token.
    /// - Throws: The errors of ``verify(_:)``, and `TokenError` with the code `missingClaim`,
    ///   `malformedClaim` or `lifetimeTooLong` if the token can't be remembered; `replayed` if it
    ///   has been used before or the cache can't rule that out; `replayCacheFull` or
    ///   `replayCacheFailed` if the cache can't answer.
    public func verify(_ token: String, onceIn cache: any ReplayCache) async throws -> VerifiedToken {
        let use = SingleUse()
        let verified = try await verify(token, against: use.policy(policy))
        try await use.record(in: cache)
        return verified
    }
}
