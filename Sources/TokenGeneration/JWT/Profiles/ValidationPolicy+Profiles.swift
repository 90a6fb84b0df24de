extension ValidationPolicy {
    /// Returns the policy for a plain JWT: from one issuer, for one audience, with an `exp` and
    /// without a specific type.
    ///
    /// - Parameters:
    ///   - issuer: The value that `iss` must have.
    ///   - audience: The value that `aud` must be or contain.
    /// - Returns: The policy; `typ` must be absent or `JWT`.
    public static func plain(issuer: String, audience: String) -> ValidationPolicy {
        ValidationPolicy(issuer: .exactly(issuer), audience: .contains(audience), type: .absentOrJWT)
    }

    /// Returns the policy for an OAuth 2 access token of RFC 9068, as a resource server must apply
    /// it ([RFC 9068 §4](https://www.rfc-editor.org/rfc/rfc9068#section-4)).
    ///
    /// The header's `typ` must be `at+jwt`, so that an ID token isn't accepted as an access token.
    /// `iss`, `exp`, `aud`, `sub`, `client_id`, `iat` and `jti` are required
    /// ([§2.2](https://www.rfc-editor.org/rfc/rfc9068#section-2.2)). The application checks what a
    /// token authorizes, such as its `scope`.
    ///
    /// - Parameters:
    ///   - issuer: The authorization server's issuer identifier, exactly as in its metadata.
    ///   - audience: The resource indicator that the authorization server knows this resource
    ///     server by.
    /// - Returns: The policy.
    public static func accessToken(issuer: String, audience: String) -> ValidationPolicy {
        var policy = ValidationPolicy(issuer: .exactly(issuer), audience: .contains(audience), type: "at+jwt")
        policy.requiredClaims = ["iss", "exp", "aud", "sub", "client_id", "iat", "jti"]
        policy.checks = [
            ClaimsCheck(throwing: "client_id") { subject in
                _ = try subject.claims.stringClaim("client_id")
            }
        ]
        return policy
    }

    /// Returns the policy for a client assertion, as an authorization server must apply it
    /// ([RFC 7523 §3](https://www.rfc-editor.org/rfc/rfc7523#section-3), [RFC 10070
    /// §4](https://www.rfc-editor.org/rfc/rfc10070#section-4)).
    ///
    /// `iss` and `sub` are required and must be the same. `aud` must be the server's issuer
    /// identifier and nothing else, so that another server can't use an assertion that it got.
    /// `exp` is required, and so is `jti` ([OpenID Connect Core
    /// §9](https://openid.net/specs/openid-connect-core-1_0.html#ClientAuthentication)). To accept
    /// each assertion only once, verify it with ``JWTVerifier/verify(_:onceIn:)``.
    ///
    /// Clients older than RFC 10070 also send the token endpoint's URL as `aud`. To accept them,
    /// set ``audience`` to `.containsAny(of:)` with both.
    ///
    /// - Parameters:
    ///   - audience: The issuer identifier of this authorization server.
    ///   - clientID: The client whose key verifies the signature, or ``IssuerRule/skipIssuerCheck``
    ///     if the key alone identifies the client.
    ///   - maximumLifetime: The maximum time from `iat` (or from now, if `iat` is absent) to `exp`.
    ///     The default is 300 seconds.
    /// - Returns: The policy; `typ` must be absent, `JWT` or `client-authentication+jwt`.
    public static func clientAssertion(
        audience: String,
        clientID: IssuerRule,
        maximumLifetime: Duration = .seconds(300)
    ) -> ValidationPolicy {
        var policy = ValidationPolicy(issuer: clientID)
        policy.type = .absentOrOneOf(["JWT", "client-authentication+jwt"])
        policy.audience = .only(audience)
        policy.maximumLifetime = maximumLifetime
        policy.requiredClaims = ["iss", "sub", "aud", "exp", "jti"]
        policy.checks = [
            ClaimsCheck(throwing: "sub is iss") { subject in
                guard let issuer = subject.registered.issuer, subject.registered.subject?.isExactly(issuer) ?? false
                else {
                    throw TokenError(
                        .subjectMismatch,
                        "the claim “sub” isn't the client that issued the assertion (“iss”)"
                    )
                }
            }
        ]
        return policy
    }

    /// Returns the policy for a logout token of an OpenID provider, as a client must apply it
    /// ([OpenID Connect Back-Channel Logout 1.0
    /// §2.6](https://openid.net/specs/openid-connect-backchannel-1_0.html#Validation)).
    ///
    /// `iss`, `aud`, `iat`, `exp`, `jti` and `events` are required, and at least one of `sub` and
    /// `sid`. `events` must have the member `http://schemas.openid.net/event/backchannel-logout`,
    /// and `nonce` must be absent, so that an ID token isn't accepted. Verify the token with
    /// ``JWTVerifier/verify(_:onceIn:)``, so that it ends a session only once.
    ///
    /// The specification only recommends `typ`. If the provider sets it, require it:
    ///
    /// ```swift
    /// policy.type = "logout+jwt"
    /// ```
    ///
    /// - Parameters:
    ///   - issuer: The provider's issuer identifier, exactly as in its metadata.
    ///   - clientID: The client's ID at the provider, which must be the only audience.
    /// - Returns: The policy; `typ` must be absent, `JWT` or `logout+jwt`.
    public static func logoutToken(issuer: String, clientID: String) -> ValidationPolicy {
        var policy = ValidationPolicy(issuer: .exactly(issuer), audience: .only(clientID))
        policy.type = .absentOrOneOf(["JWT", "logout+jwt"])
        policy.requiredClaims = ["iss", "aud", "iat", "exp", "jti", "events"]
        policy.prohibitedClaims = ["nonce"]
        policy.checks = [
            ClaimsCheck("events") { subject in
                subject.claims["events"]?.object?["http://schemas.openid.net/event/backchannel-logout"]?.object != nil
            },
            ClaimsCheck("sub or sid") { subject in
                if let session = subject.claims["sid"] { return session.string?.isEmpty == false }
                return subject.registered.subject != nil
            },
        ]
        return policy
    }

    /// Returns the policy for a status list token, as the verifier of a token that refers to it
    /// must apply it ([Token Status List
    /// §8.3](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-status-list-20#section-8.3)).
    ///
    /// `sub` must be the URI in the token, so that another list of the same issuer isn't accepted.
    /// `iat` and `status_list` are required; `exp` is optional. Give the verified token to
    /// ``StatusListToken/init(_:maximumListSize:)``.
    ///
    /// - Parameters:
    ///   - uri: The URI of the list, exactly as in the reference.
    ///   - issuer: The issuer of status lists. `iss` is optional, and must be this one.
    ///   - maximumTokenSize: The maximum size of the token in bytes. The default is 1 MiB.
    /// - Returns: The policy; `typ` must be `statuslist+jwt`.
    public static func statusList(
        uri: String,
        issuer: String,
        maximumTokenSize: Int = 1_048_576
    ) -> ValidationPolicy {
        var policy = ValidationPolicy(issuer: .skipIssuerCheck, subject: .exactly(uri))
        policy.type = .exactly(StatusListToken.type)
        policy.expiration = .optional
        policy.requiredClaims = ["sub", "iat", "status_list"]
        policy.limits.size = maximumTokenSize
        policy.checks = [
            ClaimsCheck(throwing: "iss") { subject in
                if let found = subject.registered.issuer { try IssuerRule.exactly(issuer).check(found) }
            }
        ]
        return policy
    }
}
