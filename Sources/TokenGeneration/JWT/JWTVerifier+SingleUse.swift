extension JWTVerifier {
    /// Verifies a token that may be used only once, and remembers it, so that the next use is
    /// rejected.
    ///
    /// ```swift
    /// let assertion = try await verifier.verify(text, onceIn: cache)
    /// ```
    ///
    /// The verifier remembers the token after all other checks, by its `jti`, its issuer and its
    /// key, until it has expired. The token must have a `jti`, and must expire within the policy's
    /// ``ValidationPolicy/maximumLifetime``, or within a day if the policy doesn't set one.
    ///
    /// - Parameters:
    ///   - token: A compact JWS.
    ///   - cache: The store of used tokens. In a single process, all verifiers with the same leeway
    ///     can share one ``InMemoryReplayCache``. Servers behind a load balancer need a shared
    ///     cache.
    /// - Returns: The verified token.
    /// - Throws: ``TokenError`` as ``verify(_:)`` does; then with the code `missingClaim`,
    ///   `malformedClaim` or `lifetimeTooLong` if the token can't be remembered; `replayed` if it
    ///   has been used before or the cache can't rule that out; `replayCacheFull` or
    ///   `replayCacheFailed` if the cache can't answer. `CancellationError` if the cache throws it.
    public func verify(_ token: String, onceIn cache: any ReplayCache) async throws -> VerifiedToken {
        let use = SingleUse()
        let verified = try core.against(use.policy(core.policy)).check(token, keepsHeader: true)
        try await use.record(in: cache)
        return verified
    }
}
