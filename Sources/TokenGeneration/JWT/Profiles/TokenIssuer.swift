public import FoundationEssentials

/// An issuer of tokens, with the rules that it documents for them.
///
/// A value has the issuer's names, its algorithms, its own claims and the location of its keys. It
/// has rules for each kind of token that the issuer makes:
///
/// - ``policy`` is for tokens that workloads and clients send to your service. Only the audience is
///   missing, which is your own name.
/// - ``idTokenPolicy`` is for the ID tokens of users who sign in.
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
/// The modules OAuth2 and ResourceServer have verifiers that fetch the keys.
///
/// All claims are compared code point by code point. An empty value, which comes from a missing
/// setting, matches nothing.
public struct TokenIssuer: Sendable {
    /// The rules for tokens that are sent to your service, except for the audience.
    ///
    /// Without an audience, the policy rejects every token with `aud`. For an issuer without such
    /// tokens, it rejects every token with the code `typeMismatch`.
    public var policy: ValidationPolicy
    /// The rules for ID tokens, in addition to those for the ID tokens of all issuers.
    ///
    /// For an issuer without ID tokens, it rejects every token with the code `typeMismatch`.
    public var idTokenPolicy: ValidationPolicy
    /// The rules by which a token's key is selected from the issuer's keys.
    public var selection: KeySelection
    /// The URL of the issuer's keys, or `nil` if the issuer's metadata or nothing names it.
    public var keySetURL: URL?
    /// The identifier, if there's a single one.
    package let issuer: String?
    package var scopeClaim = "scope"
    package var clientClaim = "client_id"
    var mayLackAudience = false
    /// With `nonce_supported`.
    var mayLackNonce = false

    init(
        _ policy: ValidationPolicy? = nil,
        idTokens idTokenPolicy: ValidationPolicy? = nil,
        issuer: String? = nil,
        algorithms: Set<JWSAlgorithm>?,
        selection: KeySelection = KeySelection(assumedAlgorithms: [.rs256])
    ) {
        self.policy = policy ?? .rejectingAll("the issuer has no rules for tokens to services, only for ID tokens")
        self.idTokenPolicy = idTokenPolicy ?? .rejectingAll("the issuer has no rules for ID tokens")
        self.policy.algorithms = algorithms
        self.idTokenPolicy.algorithms = algorithms
        self.issuer = issuer
        self.selection = selection
    }

    /// Creates an issuer of ID tokens without rules of its own; without algorithms, those of the
    /// keys are accepted.
    package init(idTokensOf issuer: String, algorithms: Set<JWSAlgorithm>? = nil) {
        let policy = ValidationPolicy(issuer: .exactly(issuer))
        self.init(idTokens: policy, issuer: issuer, algorithms: algorithms, selection: KeySelection())
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
        var profile = TokenIssuer(policy, issuer: issuer, algorithms: algorithms)
        profile.clientClaim = clientClaim
        return profile
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
