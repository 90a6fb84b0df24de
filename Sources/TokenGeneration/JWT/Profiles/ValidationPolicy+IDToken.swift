internal import FoundationEssentials
internal import OpenSSLCrypto

extension ValidationPolicy {
    /// Returns the policy for an ID token, as a client must apply it ([OpenID Connect Core 1.0
    /// §3.1.3.7](https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation)).
    ///
    /// - `iss`, `sub`, `aud`, `exp` and `iat` are required, and `sub` must not be empty. `aud` must
    ///   name the client and may also name the trusted audiences, but no others. `azp` is optional
    ///   and must be the client.
    /// - `nonce` must match the authentication request. If the request had none, a token with a
    ///   `nonce` is rejected.
    /// - `at_hash` must be the hash of the access token, if both are present. To require it for an
    ///   access token from the authorization endpoint, add it to ``requiredClaims``.
    /// - `c_hash` is required and must be the hash of the code, if you pass a code.
    ///
    ///   Both are the left half of a hash. Its function is the one of the token's signature
    ///   ([§3.1.3.6](https://openid.net/specs/openid-connect-core-1_0.html#CodeIDToken)). The
    ///   specification doesn't define a function for EdDSA;
    ///   [by convention among providers](https://bitbucket.org/openid/connect/issues/1125), it's
    ///   the function of the key's curve: SHA-512 for Ed25519, SHAKE256 with 114 bytes for Ed448.
    /// - `s_hash` is required and must be the hash of the state, if you pass a state, as
    ///   [FAPI 1.0](https://openid.net/specs/openid-financial-api-part-2-1_0.html) requires.
    /// - `acr` is required and must be one of the authentication context classes, if you pass any.
    /// - `auth_time` is required and must be recent enough, if you pass a maximum age.
    /// - `typ` must be absent or `JWT`, so that an access token isn't accepted as an ID token.
    ///
    /// - Parameters:
    ///   - issuer: The provider's issuer identifier, exactly as in its metadata.
    ///   - clientID: The client's ID at the provider.
    ///   - nonce: The nonce of the authentication request, or `nil` if it had none. An empty nonce
    ///     rejects every token.
    ///   - accessToken: The access token that came with the ID token, for `at_hash`. The default is
    ///     `nil`.
    ///   - code: The authorization code that came with the ID token from the authorization
    ///     endpoint, for `c_hash`. The default is `nil`.
    ///   - maximumAuthenticationAge: The `max_age` of the authentication request. The default is
    ///     `nil`.
    ///   - state: The `state` that came with the ID token from the authorization endpoint, for
    ///     `s_hash`. The default is `nil`.
    ///   - acrValues: The accepted authentication context classes. The default, an empty array,
    ///     accepts any or none.
    ///   - trustedAudiences: The audiences that `aud` may name in addition to the client. The
    ///     default is an empty array.
    /// - Returns: The policy.
    public static func idToken(
        issuer: String,
        clientID: String,
        nonce: String?,
        accessToken: String? = nil,
        code: String? = nil,
        maximumAuthenticationAge: Duration? = nil,
        state: String? = nil,
        acrValues: [String] = [],
        trustedAudiences: [String] = []
    ) -> ValidationPolicy {
        idToken(
            provider: TokenIssuer(idTokensOf: issuer),
            clientID: clientID,
            nonce: nonce,
            accessToken: accessToken,
            code: code,
            maximumAuthenticationAge: maximumAuthenticationAge,
            state: state,
            acrValues: acrValues,
            trustedAudiences: trustedAudiences
        )
    }

    /// Returns the policy for an ID token of a well-known provider.
    ///
    /// It has the rules of
    /// ``idToken(issuer:clientID:nonce:accessToken:code:maximumAuthenticationAge:state:acrValues:trustedAudiences:)``
    /// and those of the provider.
    ///
    /// - Parameters:
    ///   - provider: The provider.
    ///   - clientID: The client's ID at the provider.
    ///   - nonce: The nonce of the authentication request, or `nil` if it had none. An empty nonce
    ///     rejects every token.
    ///   - accessToken: The access token that came with the ID token, for `at_hash`. The default is
    ///     `nil`.
    ///   - code: The authorization code that came with the ID token from the authorization
    ///     endpoint, for `c_hash`. The default is `nil`.
    ///   - maximumAuthenticationAge: The `max_age` of the authentication request. The default is
    ///     `nil`.
    ///   - state: The `state` that came with the ID token from the authorization endpoint, for
    ///     `s_hash`. The default is `nil`.
    ///   - acrValues: The accepted authentication context classes. The default, an empty array,
    ///     accepts any or none.
    ///   - trustedAudiences: The audiences that `aud` may name in addition to the client. The
    ///     default is an empty array.
    ///   - authorizedParties: The clients that `azp` may name instead of the client, because they
    ///     request tokens for it. The default is an empty array.
    /// - Returns: The policy.
    public static func idToken(
        provider: TokenIssuer,
        clientID: String,
        nonce: String?,
        accessToken: String? = nil,
        code: String? = nil,
        maximumAuthenticationAge: Duration? = nil,
        state: String? = nil,
        acrValues: [String] = [],
        trustedAudiences: [String] = [],
        authorizedParties: [String] = []
    ) -> ValidationPolicy {
        var policy = provider.idTokenPolicy
        policy.audience = .contains(clientID)
        policy.type = .absentOrJWT
        policy.requiredClaims = ["iss", "sub", "aud", "exp", "iat"] + policy.requiredClaims
        var checks = [
            audienceCheck([clientID] + trustedAudiences), authorizedPartyCheck([clientID] + authorizedParties),
            nonceCheck(nonce, mayBeAbsent: provider.mayLackNonce),
        ]
        if let accessToken { checks.append(hashCheck("at_hash", of: accessToken, isRequired: false)) }
        if let code { checks.append(hashCheck("c_hash", of: code, isRequired: true)) }
        if let state { checks.append(hashCheck("s_hash", of: state, isRequired: true)) }
        if !acrValues.isEmpty { checks.append(authenticationContext(acrValues)) }
        if let maximumAuthenticationAge { checks.append(authenticationAge(maximumAuthenticationAge)) }
        policy.checks = checks + policy.checks
        return policy
    }

    private static func audienceCheck(_ audiences: [String]) -> ClaimsCheck {
        ClaimsCheck(throwing: "aud") { subject in
            for found in subject.registered.audience where !audiences.contains(where: found.isExactly) {
                throw TokenError(
                    .audienceMismatch,
                    "the claim “aud” names an untrusted audience in addition to the client"
                )
            }
        }
    }

    private static func authorizedPartyCheck(_ clients: [String]) -> ClaimsCheck {
        ClaimsCheck(throwing: "azp") { subject in
            guard let party = try subject.claims.stringClaim("azp"), !clients.contains(where: party.isExactly) else {
                return
            }
            throw TokenError(
                .authorizedPartyMismatch,
                "the claim “azp” isn't the client: the token was issued to another client"
            )
        }
    }

    private static func nonceCheck(_ expected: String?, mayBeAbsent: Bool) -> ClaimsCheck {
        ClaimsCheck(throwing: "nonce") { subject in
            guard expected?.isEmpty != true else {
                throw TokenError(
                    .nonceMismatch,
                    "an empty nonce is expected, which matches no token; pass the request's"
                )
            }
            switch (try subject.claims.stringClaim("nonce"), expected) {
            case (nil, nil): return
            case (nil, _?):
                if mayBeAbsent, try subject.claims.flagClaim("nonce_supported") == false { return }
                throw TokenError(.missingClaim, "the claim “nonce” is missing, but the request had a nonce")
            case (_?, nil):
                throw TokenError(.nonceMismatch, "the token has a “nonce”, but the request had none")
            case (let found?, let expected?):
                guard found.isExactly(expected) else {
                    throw TokenError(.nonceMismatch, "the claim “nonce” isn't the nonce of the request")
                }
            }
        }
    }

    private static func authenticationAge(_ maximum: Duration) -> ClaimsCheck {
        ClaimsCheck(throwing: "auth_time") { subject in
            guard let time = try subject.claims.secondsClaim("auth_time") else {
                throw TokenError(
                    .missingClaim,
                    "the claim “auth_time” is missing, so the time since the user's login is unknown"
                )
            }
            let now = subject.date.timeIntervalSince1970
            let leeway = subject.leeway / .seconds(1)
            guard time <= now + leeway else {
                throw TokenError(
                    .issuedInFuture,
                    "the claim “auth_time” is in the future; check the clocks"
                )
            }
            guard now - time <= maximum / .seconds(1) + leeway else {
                throw TokenError(.tooOld, "the user's login is older than the policy's maximum age")
            }
        }
    }

    private static func authenticationContext(_ accepted: [String]) -> ClaimsCheck {
        ClaimsCheck(throwing: "acr") { subject in
            guard let found = try subject.claims.stringClaim("acr") else {
                throw TokenError(.missingClaim, "the claim “acr” is missing, so the user's login method is unknown")
            }
            guard accepted.contains(where: { $0.isExactly(found) }) else {
                throw TokenError(
                    .authenticationContextMismatch,
                    "the claim “acr” isn't one of the accepted authentication context classes"
                )
            }
        }
    }

    private static func hashCheck(_ name: String, of text: String, isRequired: Bool) -> ClaimsCheck {
        ClaimsCheck(throwing: name) { subject in
            guard let found = try subject.claims.stringClaim(name) else {
                guard isRequired else { return }
                throw TokenError(.missingClaim, "the claim “\(name)” is missing")
            }
            guard let expected = try subject.key?.idTokenHash(of: text) else {
                throw TokenError(
                    .hashMismatch,
                    "the hash function of the claim “\(name)” isn't defined for the token's algorithm"
                )
            }
            guard found.isExactly(expected) else {
                throw TokenError(.hashMismatch, "the claim “\(name)” isn't the hash of the accompanying value")
            }
        }
    }
}

extension VerificationKey {
    /// The value of `at_hash`, `c_hash` or `s_hash` ([OpenID Connect Core 1.0
    /// §3.3.2.11](https://openid.net/specs/openid-connect-core-1_0.html#HybridIDToken)), or `nil`
    /// if the algorithm doesn't have a known hash.
    package func idTokenHash(of text: String) throws -> String? {
        let curve: EdwardsCurve? = if case .edwards(let key) = publicKey { key.curve } else { nil }
        let digest = try algorithm.details?.hash(text.utf8.span.octets, on: curve)
        return digest.map { Base64URL.encode(Array($0.prefix($0.count / 2))) }
    }
}
