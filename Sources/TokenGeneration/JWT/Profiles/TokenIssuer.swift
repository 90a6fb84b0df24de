public import Foundation

/// An issuer whose tokens workloads and clients send to your service, with the rules that the
/// issuer documents for them.
///
/// A value has the issuer's name, its algorithms, the claims that identify the sender, and the
/// location of its keys. Only the audience is missing, which is your own name.
///
/// ```swift
/// let verifier = JWTVerifier(
///     .kubernetes(
///         issuer: "https://cluster.example",
///         namespace: "shop",
///         serviceAccount: "orders"
///     ),
///     audience: "https://api.example",
///     keys: keys
/// )
/// ```
///
/// The modules OAuth2 and ResourceServer have initializers that fetch the keys. For users who sign
/// in, see ``IdentityProvider``.
///
/// All claims are compared code point by code point. An empty value, which comes from a missing
/// setting, matches nothing.
public struct TokenIssuer: Sendable {
    /// The rules for the issuer's tokens, except for the audience.
    ///
    /// Without an audience, the policy rejects every token with `aud`.
    public var policy: ValidationPolicy
    /// The rules by which a token's key is selected from the issuer's keys.
    public var selection: KeySelection
    /// The URL of the issuer's keys, or `nil` if the issuer's metadata or nothing names it.
    public var keySetURL: URL?
    package var metadataIssuer: String?
    package var scopeClaim = "scope"
    package var clientClaim = "client_id"
    var mayLackAudience = false

    init(_ policy: ValidationPolicy, algorithms: Set<JWSAlgorithm>, assumedAlgorithm: JWSAlgorithm = .rs256) {
        self.policy = policy
        self.policy.algorithms = algorithms
        selection = KeySelection(assumedAlgorithms: [assumedAlgorithm])
    }

    /// Returns the policy for the issuer's tokens to an audience.
    ///
    /// - Parameter audience: The value that `aud` must be or contain. Choose one that no other
    ///   service uses, because a service can present the tokens that it receives to others of the
    ///   same name.
    /// - Returns: The policy.
    public func policy(audience: String) -> ValidationPolicy {
        var policy = policy
        policy.audience = mayLackAudience ? .absentOrContains(audience) : .contains(audience)
        return policy
    }
}

extension JWTVerifier {
    /// Creates a verifier of the tokens that an issuer makes for an audience.
    ///
    /// - Parameters:
    ///   - issuer: The issuer.
    ///   - audience: The value that `aud` must be or contain.
    ///   - keys: The issuer's keys.
    public init(_ issuer: TokenIssuer, audience: String, keys: JWKSet) {
        self.init(keys: keys, selection: issuer.selection, policy: issuer.policy(audience: audience))
    }
}

extension TokenIssuer {
    /// Returns a realm of Keycloak, for access tokens to your API ([audience
    /// support](https://www.keycloak.org/docs/latest/server_admin/index.html#audience-support)).
    ///
    /// Tokens have `iss`, `sub`, `aud`, `exp`, `iat`, `azp`, which is the client's ID, and a claim
    /// `typ` with the value `Bearer` or `DPoP`. That claim distinguishes them from ID tokens and
    /// refresh tokens, which have the same header and the same keys.
    ///
    /// Without a mapper, Keycloak names your API in no token: `aud` is `account` or absent. Add an
    /// audience mapper to a client scope. Roles are in `realm_access` and `resource_access`.
    ///
    /// - Parameters:
    ///   - issuer: The realm's issuer, such as `https://id.example/realms/shop`. Its metadata names
    ///     the URL of its keys.
    ///   - algorithms: The algorithms that the realm may sign with. The default is RS256, as in a
    ///     new realm.
    /// - Returns: The issuer.
    public static func keycloak(issuer: String, algorithms: Set<JWSAlgorithm> = [.rs256]) -> TokenIssuer {
        var profile = authorizationServer(issuer, types: .oneOf(["JWT", "at+jwt"]), algorithms, clientClaim: "azp")
        profile.policy.requiredClaims += ["azp", "typ"]
        profile.policy.checks = [.claim("typ", isOneOf: ["Bearer", "DPoP"])]
        return profile
    }

    /// Returns a tenant of Auth0, for access tokens to your API in both formats ([access token
    /// profiles](https://auth0.com/docs/secure/tokens/access-tokens/access-token-profiles)).
    ///
    /// Tokens are signed with RS256 and have `iss`, `sub`, `aud`, `exp`, `iat` and the client's ID,
    /// which is `azp` in Auth0's format and `client_id` in that of RFC 9068. The audience is the
    /// API's identifier. Clients must request it with the parameter `audience`; otherwise they get
    /// an opaque token.
    ///
    /// The permissions of role-based access control are in `permissions`.
    ///
    /// - Parameter issuer: The tenant's issuer, such as `https://shop.eu.auth0.com/`, or that of
    ///   its custom domain. It ends with a slash, which is added if it's missing.
    /// - Returns: The issuer.
    public static func auth0(issuer: String) -> TokenIssuer {
        let issuer = issuer.utf8.last == UInt8(ascii: "/") ? issuer : issuer + "/"
        var profile = authorizationServer(issuer, types: .oneOf(["JWT", "at+jwt"]), [.rs256], clientClaim: "azp")
        profile.policy.checks = [
            ClaimsCheck(throwing: "azp") { subject in
                guard subject.claims["azp"]?.string ?? subject.claims["client_id"]?.string != nil else {
                    throw TokenError(.missingClaim, "the claims “azp” and “client_id” are missing")
                }
            }
        ]
        return profile
    }

    /// Returns a custom authorization server of Okta, for access tokens to your API ([validate
    /// access tokens](https://developer.okta.com/docs/guides/validate-access-tokens/)).
    ///
    /// Tokens are signed with RS256 and have `iss`, `sub`, `aud`, `exp`, `iat`, `jti`, `cid`, which
    /// is the client's ID, and their scope in `scp`. The audience is that of the authorization
    /// server, such as `api://default`.
    ///
    /// Only Okta itself can validate the tokens of the org authorization server, whose issuer has
    /// no `/oauth2/…`.
    ///
    /// - Parameter issuer: The server's issuer, such as
    ///   `https://shop.okta.com/oauth2/default`.
    /// - Returns: The issuer.
    public static func okta(issuer: String) -> TokenIssuer {
        var profile = authorizationServer(
            issuer,
            types: .absentOrOneOf(["JWT", "at+jwt"]),
            [.rs256],
            clientClaim: "cid"
        )
        profile.policy.requiredClaims += ["jti", "cid"]
        profile.scopeClaim = "scp"
        return profile
    }

    /// Returns a user pool of Amazon Cognito, for access tokens of certain clients ([access
    /// token](https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-the-access-token.html)).
    ///
    /// Tokens are signed with RS256 and have `iss`, `sub`, `exp`, `iat`, `client_id` and a
    /// `token_use` of `access`.
    ///
    /// They have `aud` only if the client requested a resource. A token without `aud` is accepted
    /// too, so the list of clients decides who can call your API. Check the scope as well: its
    /// names begin with the identifier of the resource server, such as
    /// `https://api.example/orders.read`.
    ///
    /// - Parameters:
    ///   - issuer: The pool's issuer, such as
    ///     `https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEfGhI`.
    ///   - clients: The IDs of the accepted app clients. An empty array rejects every token.
    /// - Returns: The issuer.
    public static func cognito(issuer: String, clients: [String]) -> TokenIssuer {
        var profile = authorizationServer(issuer, types: .absentOrJWT, [.rs256], clientClaim: "client_id")
        profile.policy.requiredClaims.removeAll { $0 == "aud" }
        profile.policy.requiredClaims += ["client_id", "token_use"]
        profile.policy.checks = [.claim("token_use", is: "access"), .claim("client_id", isOneOf: clients)]
        profile.mayLackAudience = true
        return profile
    }

    private static func authorizationServer(
        _ issuer: String,
        types: TypeRule,
        _ algorithms: Set<JWSAlgorithm>,
        clientClaim: String
    ) -> TokenIssuer {
        var policy = ValidationPolicy(issuer: .exactly(issuer), type: types)
        policy.requiredClaims = ["iss", "sub", "aud", "exp", "iat"]
        var profile = TokenIssuer(policy, algorithms: algorithms)
        profile.metadataIssuer = issuer
        profile.clientClaim = clientClaim
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
