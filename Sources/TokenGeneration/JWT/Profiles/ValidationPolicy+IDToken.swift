internal import Foundation
internal import OpenSSLCrypto

extension ValidationPolicy {
    /// The policy for an ID token, as a client must apply it
    /// ([OpenID Connect Core 1.0 §3.1.3.7](https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation)).
    ///
    /// - `iss`, `sub`, `aud`, `exp` and `iat` must be there, and `sub` must not be empty. `aud` must name the client, and may
    ///   name the trusted audiences, but no others; `azp`, if it is there, must be the client.
    /// - `nonce` must be the one of the authentication request; a token with a `nonce` is refused if there was none.
    /// - `at_hash`, if an access token is given and the claim is there, must be the hash of that token; add it to
    ///   ``requiredClaims`` where the access token came from the authorization endpoint.
    /// - `c_hash` must be there and be the hash of the code, if a code is given.
    ///
    ///   Both are the left half of the hash by the function that the token's signature is made with
    ///   ([§3.1.3.6](https://openid.net/specs/openid-connect-core-1_0.html#CodeIDToken)). The specification does not name one for
    ///   EdDSA; as [providers have agreed](https://bitbucket.org/openid/connect/issues/1125), it is the function of the key's
    ///   curve: SHA-512 for Ed25519, SHAKE256 with 114 octets for Ed448.
    /// - `s_hash` must be there and be the hash of the state, if a state is given, as
    ///   [FAPI 1.0](https://openid.net/specs/openid-financial-api-part-2-1_0.html) demands.
    /// - `acr` must be there and be one of the authentication context classes, if some are given.
    /// - `auth_time` must be there and not too long ago, if a maximum age was asked for.
    /// - `typ` must be absent or `JWT`, so that an access token does not pass for an ID token.
    ///
    /// - Parameters:
    ///   - issuer: The provider's issuer identifier, exactly as its metadata have it.
    ///   - clientID: The client's ID at the provider.
    ///   - nonce: The nonce of the authentication request, or `nil` if it had none.
    ///   - accessToken: The access token that came with the ID token, to be compared with `at_hash`.
    ///   - code: The authorization code that came with the ID token from the authorization endpoint, to be compared with
    ///     `c_hash`.
    ///   - maximumAuthenticationAge: The `max_age` of the authentication request.
    ///   - state: The `state` that came with the ID token from the authorization endpoint, to be compared with `s_hash`.
    ///   - acrValues: The authentication context classes of which `acr` must be one; empty if any will do, and none.
    ///   - trustedAudiences: The audiences that `aud` may name besides the client; none by default.
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
        var policy = ValidationPolicy(issuer: .exactly(issuer), audience: .contains(clientID))
        policy.type = .absentOrJWT
        policy.requiredClaims = ["iss", "sub", "aud", "exp", "iat"]
        policy.checks = [authorizedParty(clientID, trustedAudiences), nonceCheck(nonce)]
        if let accessToken { policy.checks.append(hashCheck("at_hash", of: accessToken, isRequired: false)) }
        if let code { policy.checks.append(hashCheck("c_hash", of: code, isRequired: true)) }
        if let state { policy.checks.append(hashCheck("s_hash", of: state, isRequired: true)) }
        if !acrValues.isEmpty { policy.checks.append(authenticationContext(acrValues)) }
        if let maximumAuthenticationAge { policy.checks.append(authenticationAge(maximumAuthenticationAge)) }
        return policy
    }

    private static func authorizedParty(_ clientID: String, _ trustedAudiences: [String]) -> ClaimsCheck {
        let audiences = [clientID] + trustedAudiences
        return ClaimsCheck("azp") { subject in
            for found in subject.registered.audience where !audiences.contains(where: found.isExactly) {
                throw TokenError(
                    .audienceMismatch,
                    "the claim “aud” names an audience besides the client that isn't trusted"
                )
            }
            guard let party = try subject.claims.stringClaim("azp"), !party.isExactly(clientID) else { return true }
            throw TokenError(
                .authorizedPartyMismatch,
                "the claim “azp” is not the client: the token was issued to another"
            )
        }
    }

    private static func nonceCheck(_ expected: String?) -> ClaimsCheck {
        ClaimsCheck("nonce") { subject in
            switch (try subject.claims.stringClaim("nonce"), expected) {
            case (nil, nil):
                return true
            case (nil, _?):
                throw TokenError(.missingClaim, "the claim “nonce” is missing, though the request had one")
            case (_?, nil):
                throw TokenError(.nonceMismatch, "the token has a “nonce”, though the request had none")
            case (let found?, let expected?):
                guard found.isExactly(expected) else {
                    throw TokenError(.nonceMismatch, "the claim “nonce” is not the one of the request")
                }
                return true
            }
        }
    }

    private static func authenticationAge(_ maximum: Duration) -> ClaimsCheck {
        ClaimsCheck("auth_time") { subject in
            guard let time = try subject.claims.secondsClaim("auth_time") else {
                throw TokenError(
                    .missingClaim,
                    "the claim “auth_time” is missing: how long ago the user logged in can't be told"
                )
            }
            let now = subject.date.timeIntervalSince1970
            let leeway = subject.leeway / .seconds(1)
            guard time <= now + leeway else {
                throw TokenError(
                    .issuedInFuture,
                    "the time of the claim “auth_time” has not come; do the clocks differ?"
                )
            }
            guard now - time <= maximum / .seconds(1) + leeway else {
                throw TokenError(.tooOld, "the user logged in longer ago than the policy's maximum age")
            }
            return true
        }
    }

    private static func authenticationContext(_ accepted: [String]) -> ClaimsCheck {
        ClaimsCheck("acr") { subject in
            guard let found = try subject.claims.stringClaim("acr") else {
                throw TokenError(.missingClaim, "the claim “acr” is missing: how the user logged in can't be told")
            }
            guard accepted.contains(where: { $0.isExactly(found) }) else {
                throw TokenError(
                    .authenticationContextMismatch,
                    "the claim “acr” is none of the authentication context classes that will do"
                )
            }
            return true
        }
    }

    private static func hashCheck(_ name: String, of text: String, isRequired: Bool) -> ClaimsCheck {
        ClaimsCheck(name) { subject in
            guard let found = try subject.claims.stringClaim(name) else {
                guard isRequired else { return true }
                throw TokenError(.missingClaim, "the claim “\(name)” is missing")
            }
            guard let expected = try subject.key.idTokenHash(of: text) else {
                throw TokenError(
                    .hashMismatch,
                    "which hash the claim “\(name)” is made with can't be told for this algorithm"
                )
            }
            guard found.isExactly(expected) else {
                throw TokenError(.hashMismatch, "the claim “\(name)” is not the hash of what came with the token")
            }
            return true
        }
    }
}

extension VerificationKey {
    /// The left half of the hash that goes with the key's signatures, in base64url
    /// ([OpenID Connect Core 1.0 §3.3.2.11](https://openid.net/specs/openid-connect-core-1_0.html#HybridIDToken)).
    ///
    /// - Parameter text: What comes with an ID token.
    /// - Returns: The value of `at_hash`, `c_hash` or `s_hash`; `nil` if the algorithm has no hash that is known.
    /// - Throws: `CryptoError` if OpenSSL does not offer the function.
    package func idTokenHash(of text: String) throws -> String? {
        let curve: EdwardsCurve? = if case .edwards(let key) = publicKey { key.curve } else { nil }
        let digest = try Array(text.utf8).withBytes { bytes throws(CryptoError) in
            try algorithm.details?.hash(bytes, on: curve)
        }
        return digest.map { Base64URL.encode(Array($0.prefix($0.count / 2))) }
    }
}
