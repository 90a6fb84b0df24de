internal import Foundation

extension TokenIssuer {
    /// Returns Microsoft Entra, for access tokens of certain tenants to your API ([access
    /// tokens](https://learn.microsoft.com/en-us/entra/identity-platform/access-tokens)).
    ///
    /// Tokens are signed with RS256 and have `iss`, `sub`, `aud`, `exp`, `iat`, `tid` and the
    /// client's ID, which ID tokens don't have. `iss` must be the issuer of the tenant in `tid`,
    /// and the signing key must be for that tenant.
    ///
    /// The audience of version 2 is the API's client ID, that of version 1 usually its App ID URI.
    /// Check what a token allows with `scp` for users and `roles` for applications. Find users by
    /// `tid` and `oid`, or by `tid` and `sub`, and never by `email`, `upn` or `preferred_username`,
    /// which others can set ([claims
    /// validation](https://learn.microsoft.com/en-us/entra/identity-platform/claims-validation)).
    ///
    /// - Parameters:
    ///   - tenants: The IDs of the tenants, as GUIDs. Names such as `common` match nothing.
    ///   - version: The version of the tokens, the `accessTokenAcceptedVersion` of the API. The
    ///     default is version 2.
    /// - Returns: The issuer.
    public static func entra(tenants: [String], version: EntraTokenVersion = .v2) -> TokenIssuer {
        TokenIssuer(EntraTenants(tenants, version: version))
    }

    /// Returns Microsoft Entra, for access tokens of every tenant to your API.
    ///
    /// The rules are those of ``entra(tenants:version:)``, except that `tid` can be any tenant.
    ///
    /// - Warning: Everyone can create a tenant. Accept a token only if its `tid` belongs to one of
    ///   your customers, and keep the data of tenants apart.
    ///
    /// - Parameter version: The version of the tokens. The default is version 2.
    /// - Returns: The issuer.
    public static func entraSkippingTenantCheck(version: EntraTokenVersion = .v2) -> TokenIssuer {
        TokenIssuer(EntraTenants(nil, version: version))
    }

    private init(_ tenants: EntraTenants) {
        var policy = ValidationPolicy(issuer: tenants.issuerRule, type: .absentOrJWT)
        policy.requiredClaims = ["iss", "sub", "aud", "exp", "iat", "tid", tenants.version.clientClaim]
        policy.checks = [tenants.check]
        self.init(policy, algorithms: [.rs256])
        keySetURL = tenants.keySetURL
        scopeClaim = "scp"
        clientClaim = tenants.version.clientClaim
    }
}
