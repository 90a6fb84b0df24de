import FoundationEssentials

extension TokenIssuer {
    private static let googleIssuers = ["https://accounts.google.com", "accounts.google.com"]
    private static let googleKeys = URL(string: "https://www.googleapis.com/oauth2/v3/certs")

    /// Returns Google, for users who sign in ([OpenID
    /// Connect](https://developers.google.com/identity/openid-connect/openid-connect#validatinganidtoken)).
    ///
    /// Tokens are signed with RS256. Their issuer is `https://accounts.google.com` or, from older
    /// implementations, `accounts.google.com`.
    ///
    /// If a mobile app requests tokens for your server, `aud` is the server's client ID and `azp`
    /// the app's. Pass the app's client ID as an authorized party. Find users by `sub`, not by
    /// `email`.
    ///
    /// - Parameter hostedDomain: The domain of the Google Workspace organization whose users are
    ///   accepted, `hd`. The default, `nil`, accepts everyone with a Google account. The domain of
    ///   `email` proves nothing.
    /// - Returns: The issuer.
    public static func google(hostedDomain: String? = nil) -> TokenIssuer {
        var policy = ValidationPolicy(issuer: .oneOf(googleIssuers))
        if let hostedDomain {
            policy.checks = [.claim("hd", isOneOf: [hostedDomain]) { $0.isExactlyIgnoringASCIICase($1) }]
        }
        var profile = TokenIssuer(idTokens: policy, issuer: googleIssuers[0], algorithms: [.rs256])
        profile.keySetURL = googleKeys
        return profile
    }

    /// Returns Apple, for Sign in with Apple ([verifying a
    /// user](https://developer.apple.com/documentation/signinwithapple/verifying-a-user)).
    ///
    /// Tokens are signed with RS256, the algorithm of Apple's published keys, or ES256, which
    /// Apple's guide names. The client ID is the app's bundle ID or the website's services ID.
    ///
    /// Apple's platforms don't all support nonces. If the request had a nonce and the token has
    /// none, the token is accepted only if its `nonce_supported` is `false`
    /// ([`nonce_supported`](https://developer.apple.com/documentation/signinwithapplejs/authorizationi/id_token)).
    /// Pass the nonce exactly as in the request: if the app sent a hash, pass the hash.
    ///
    /// `email_verified`, `is_private_email` and `nonce_supported` are Booleans or the strings
    /// `true` and `false`; see ``VerifiedToken/hasVerifiedEmail``.
    ///
    /// - Returns: The issuer.
    public static func apple() -> TokenIssuer {
        let issuer = "https://appleid.apple.com"
        var policy = ValidationPolicy(issuer: .exactly(issuer))
        policy.checks = [
            ClaimsCheck(throwing: "flags") { subject in
                for name in ["email_verified", "is_private_email", "nonce_supported"] {
                    _ = try subject.claims.flagClaim(name)
                }
            }
        ]
        var profile = TokenIssuer(idTokens: policy, issuer: issuer, algorithms: [.rs256, .es256])
        profile.keySetURL = URL(string: "https://appleid.apple.com/auth/keys")
        profile.mayLackNonce = true
        return profile
    }

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
        var policy = ValidationPolicy(issuer: .oneOf(googleIssuers), type: .absentOrJWT)
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
        profile.keySetURL = googleKeys
        return profile
    }

    /// Returns Microsoft Entra, for users and access tokens of certain tenants.
    ///
    /// Tokens are signed with RS256. `iss` must be the issuer of the tenant in `tid`, and the
    /// signing key must be for that tenant. Find users by `tid` and `oid`, or by `tid` and `sub`,
    /// and never by `email`, `upn` or `preferred_username`, which others can set ([claims
    /// validation](https://learn.microsoft.com/en-us/entra/identity-platform/claims-validation)).
    ///
    /// - [Access tokens](https://learn.microsoft.com/en-us/entra/identity-platform/access-tokens)
    ///   to your API have `iss`, `sub`, `aud`, `exp`, `iat`, `tid` and the client's ID, which ID
    ///   tokens don't have. The audience of version 2 is the API's client ID, that of version 1
    ///   usually its App ID URI. Check what a token allows with `scp` for users and `roles` for
    ///   applications.
    /// - [ID
    ///   tokens](https://learn.microsoft.com/en-us/entra/identity-platform/id-token-claims-reference)
    ///   have the version of the endpoint.
    ///
    /// - Parameters:
    ///   - tenants: The IDs of the tenants, as GUIDs. Names such as `common` match nothing.
    ///     `9188040d-6c67-4c5b-b112-36a304b66dad` are the personal accounts.
    ///   - version: The version of the tokens: the `accessTokenAcceptedVersion` of the API, or that
    ///     of the sign-in endpoint. The default is version 2.
    /// - Returns: The issuer.
    public static func entra(tenants: [String], version: EntraTokenVersion = .v2) -> TokenIssuer {
        TokenIssuer(EntraTenants(tenants, version: version))
    }

    /// Returns Microsoft Entra, for users and access tokens of every tenant.
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
        var access = ValidationPolicy(issuer: tenants.issuerRule, type: .absentOrJWT)
        access.requiredClaims = ["iss", "sub", "aud", "exp", "iat", "tid", tenants.version.clientClaim]
        access.checks = [tenants.check]
        var idTokens = ValidationPolicy(issuer: tenants.issuerRule)
        idTokens.requiredClaims = ["tid"]
        idTokens.checks = [tenants.check]
        self.init(access, idTokens: idTokens, issuer: tenants.issuer, algorithms: [.rs256])
        keySetURL = tenants.keySetURL
        scopeClaim = "scp"
        clientClaim = tenants.version.clientClaim
    }
}

/// The version of a token from Microsoft Entra, which determines its issuer and its keys ([token
/// formats](https://learn.microsoft.com/en-us/entra/identity-platform/access-tokens#token-formats)).
public struct EntraTokenVersion: Hashable, Sendable {
    private enum Wrapped { case v1, v2 }
    private let wrapped: Wrapped

    /// Version 1, with the issuer `https://sts.windows.net/TENANT/`.
    public static let v1 = EntraTokenVersion(wrapped: .v1)
    /// Version 2, with the issuer `https://login.microsoftonline.com/TENANT/v2.0`.
    public static let v2 = EntraTokenVersion(wrapped: .v2)

    func issuer(of tenant: String) -> String {
        switch wrapped {
        case .v1: "https://sts.windows.net/\(tenant)/"
        case .v2: "https://login.microsoftonline.com/\(tenant)/v2.0"
        }
    }

    func keySetURL(of tenant: String) -> URL? {
        let version = self == .v1 ? "" : "/v2.0"
        return URL(string: "https://login.microsoftonline.com/\(tenant)/discovery\(version)/keys")
    }

    var clientClaim: String { self == .v1 ? "appid" : "azp" }
}

struct EntraTenants: Sendable {
    let version: EntraTokenVersion
    /// In lower case; `nil` for every tenant.
    private let allowed: [String]?

    /// `nil` for every tenant; texts that aren't GUIDs are ignored.
    init(_ tenants: [String]?, version: EntraTokenVersion) {
        self.version = version
        allowed = tenants?.map { $0.lowercased() }.filter(Self.isTenant)
    }

    var issuerRule: IssuerRule {
        guard let allowed else { return .skipIssuerCheck }
        return .oneOf(allowed.map(version.issuer(of:)))
    }

    var issuer: String { version.issuer(of: onlyTenant ?? "{tenantid}") }

    var keySetURL: URL? { version.keySetURL(of: onlyTenant ?? "common") }

    private var onlyTenant: String? { allowed?.count == 1 ? allowed?.first : nil }

    /// The check that `tid`, `iss` and the issuer of the signing key are the same tenant
    /// ([issuers](https://learn.microsoft.com/en-us/entra/identity-platform/access-tokens#validate-the-issuer)).
    var check: ClaimsCheck {
        ClaimsCheck(throwing: "tid") { [version] subject in
            guard let tenant = try subject.claims.stringClaim("tid") else {
                throw TokenError(.missingClaim, "the claim “tid” is missing, so the tenant is unknown")
            }
            guard Self.isTenant(tenant) else {
                throw TokenError(.malformedClaim, "the claim “tid” must be a GUID in lower case")
            }
            try IssuerRule.exactly(version.issuer(of: tenant)).check(subject.registered.issuer)
            guard let issuer = subject.key?.jwk.members["issuer"] else { return }
            // The keys for version 1 state the issuer of version 2, or none.
            guard let issuer = issuer.string,
                Self.filled(issuer, tenant).isExactly(EntraTokenVersion.v2.issuer(of: tenant))
                    || Self.filled(issuer, tenant).isExactly(version.issuer(of: tenant))
            else {
                throw TokenError(.issuerMismatch, "the key that signed the token is for another tenant")
            }
        }
    }

    private static func filled(_ issuer: String, _ tenant: String) -> String {
        issuer.replacing("{tenantid}", with: tenant).replacing("{tenantId}", with: tenant)
    }

    /// In lower case.
    private static func isTenant(_ text: String) -> Bool {
        UUID(uuidString: text)?.uuidString.lowercased().isExactly(text) ?? false
    }
}
