internal import Foundation

extension TokenIssuer {
    /// Returns Google, for the ID tokens of service accounts that call your service
    /// ([authentication with ID
    /// tokens](https://cloud.google.com/docs/authentication/get-id-token)).
    ///
    /// Tokens are signed with RS256 and have `iss`, `sub`, `aud`, `exp`, `iat`, a `email` of the
    /// list and a true `email_verified`. Every customer of Google Cloud can get tokens for any
    /// audience, so that only the list decides which callers are accepted.
    ///
    /// Callers that use `generateIdToken` must set `includeEmail`.
    ///
    /// - Parameter emails: The addresses of the accepted service accounts, such as
    ///   `orders@project.iam.gserviceaccount.com`. An empty array rejects every token.
    /// - Returns: The issuer.
    public static func googleServiceAccounts(_ emails: [String]) -> TokenIssuer {
        var policy = ValidationPolicy(issuer: .oneOf(IdentityProvider.googleIssuers), type: .absentOrJWT)
        policy.requiredClaims = ["iss", "sub", "aud", "exp", "iat", "email", "email_verified"]
        policy.checks = [
            .claim("email", isOneOf: emails),
            ClaimsCheck(throwing: "email_verified") { subject in
                guard try subject.claims.flagClaim("email_verified") == true else {
                    throw TokenError(.claimMismatch, "the claim “email_verified” isn't true")
                }
            },
        ]
        var profile = TokenIssuer(policy, algorithms: [.rs256])
        profile.keySetURL = IdentityProvider.googleKeys
        return profile
    }
}
