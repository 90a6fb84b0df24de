extension ValidationPolicy {
    /// The policy for a plain JWT: of one issuer, for one audience, with an `exp`, and of no kind that has a type of its own.
    ///
    /// - Parameters:
    ///   - issuer: The value that `iss` must have.
    ///   - audience: The value that `aud` must be or contain.
    /// - Returns: The policy; `typ` must be absent or `JWT`.
    public static func plain(issuer: String, audience: String) -> ValidationPolicy {
        var policy = ValidationPolicy(issuer: .exactly(issuer), audience: .contains(audience))
        policy.type = .absentOrJWT
        return policy
    }

    /// The policy for an OAuth 2 access token in the profile of RFC 9068, as a resource server must apply it
    /// ([RFC 9068 §4](https://www.rfc-editor.org/rfc/rfc9068#section-4)).
    ///
    /// The header's `typ` must be `at+jwt`, so that an ID token does not pass for an access token; `iss`, `exp`, `aud`, `sub`,
    /// `client_id`, `iat` and `jti` must be there ([§2.2](https://www.rfc-editor.org/rfc/rfc9068#section-2.2)). What a token
    /// is good for (`scope` and the like) is for the application to check.
    ///
    /// - Parameters:
    ///   - issuer: The authorization server's issuer identifier, exactly as its metadata have it.
    ///   - audience: The resource indicator by which the authorization server knows this resource server.
    /// - Returns: The policy.
    public static func accessToken(issuer: String, audience: String) -> ValidationPolicy {
        var policy = ValidationPolicy(issuer: .exactly(issuer), audience: .contains(audience), type: "at+jwt")
        policy.requiredClaims = ["iss", "exp", "aud", "sub", "client_id", "iat", "jti"]
        policy.checks = [
            ClaimsCheck("client_id") { subject in
                _ = try subject.claims.stringClaim("client_id")
                return true
            }
        ]
        return policy
    }

    /// The policy for a client's assertion about itself, as an authorization server must apply it
    /// ([RFC 7523 §3](https://www.rfc-editor.org/rfc/rfc7523#section-3)).
    ///
    /// `iss` and `sub` must be there and be the same, and so must `aud`, `exp` and `jti`. That a `jti` has not been used
    /// before is for the caller to see to: ``ReplayCache``.
    ///
    /// - Parameters:
    ///   - audiences: The values by which clients may address this authorization server; `aud` must have at least one of them.
    ///   - clientID: The client whose key verifies the signature; ``IssuerRule/skipIssuerCheck`` if the key alone identifies
    ///     the client.
    ///   - maximumLifetime: The longest time from `iat` (or from now, if there is none) to `exp`.
    /// - Returns: The policy; `typ` must be absent, `JWT` or `client-authentication+jwt`.
    public static func clientAssertion(
        audiences: [String],
        clientID: IssuerRule,
        maximumLifetime: Duration = .seconds(300)
    ) -> ValidationPolicy {
        var policy = ValidationPolicy(issuer: clientID)
        policy.type = .absentOrOneOf(["JWT", "client-authentication+jwt"])
        policy.audience = .containsAny(of: audiences)
        policy.maximumLifetime = maximumLifetime
        policy.requiredClaims = ["iss", "sub", "aud", "exp", "jti"]
        policy.checks = [
            ClaimsCheck("sub is iss") { subject in
                guard let issuer = subject.registered.issuer, subject.registered.subject?.isExactly(issuer) ?? false
                else {
                    throw TokenError(
                        .subjectMismatch,
                        "the claim “sub” is not the client that issued the assertion (“iss”)"
                    )
                }
                return true
            }
        ]
        return policy
    }
}
