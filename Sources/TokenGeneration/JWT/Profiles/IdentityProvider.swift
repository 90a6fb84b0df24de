public import Foundation

/// A provider with which users sign in, with the rules that it documents for its ID tokens.
///
/// A value has the provider's names, its algorithms, its own claims and the URL of its keys.
///
/// ```swift
/// let verifier = JWTVerifier(
///     keys: keys,
///     selection: provider.selection,
///     policy: .idToken(provider: .apple(), clientID: "com.example.shop", nonce: nonce)
/// )
/// ```
///
/// The module OAuth2 has a verifier of ID tokens that fetches the keys. For the tokens of workloads
/// and clients, see ``TokenIssuer``.
public struct IdentityProvider: Sendable {
    /// The rules for the provider's ID tokens, in addition to those for all ID tokens.
    public var policy: ValidationPolicy
    /// The rules by which a token's key is selected from the provider's keys.
    public var selection = KeySelection()
    /// The URL of the provider's keys.
    public var keySetURL: URL?
    package let issuer: String
    /// With `nonce_supported`.
    private(set) var mayLackNonce = false

    /// Without a rule, `iss` is the issuer alone; without algorithms, those of the keys are
    /// accepted.
    package init(
        issuer: String,
        issuerRule: IssuerRule? = nil,
        algorithms: Set<JWSAlgorithm>? = nil,
        keySetURL: URL? = nil
    ) {
        self.issuer = issuer
        policy = ValidationPolicy(issuer: issuerRule ?? .exactly(issuer))
        policy.algorithms = algorithms
        self.keySetURL = keySetURL
    }

    static let googleIssuers = ["https://accounts.google.com", "accounts.google.com"]
    static let googleKeys = URL(string: "https://www.googleapis.com/oauth2/v3/certs")

    /// Returns Google ([OpenID
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
    /// - Returns: The provider.
    public static func google(hostedDomain: String? = nil) -> IdentityProvider {
        var provider = IdentityProvider(
            issuer: googleIssuers[0],
            issuerRule: .oneOf(googleIssuers),
            algorithms: [.rs256],
            keySetURL: googleKeys
        )
        if let hostedDomain {
            let check = ClaimsCheck.claim("hd", isOneOf: [hostedDomain]) { $0.isExactlyIgnoringASCIICase($1) }
            provider.policy.checks = [check]
        }
        return provider
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
    /// - Returns: The provider.
    public static func apple() -> IdentityProvider {
        var provider = IdentityProvider(
            issuer: "https://appleid.apple.com",
            algorithms: [.rs256, .es256],
            keySetURL: URL(string: "https://appleid.apple.com/auth/keys")
        )
        provider.mayLackNonce = true
        provider.policy.checks = [
            ClaimsCheck(throwing: "flags") { subject in
                for name in ["email_verified", "is_private_email", "nonce_supported"] {
                    _ = try subject.claims.flagClaim(name)
                }
            }
        ]
        return provider
    }

    /// Returns Microsoft Entra, for users of certain tenants ([ID token
    /// claims](https://learn.microsoft.com/en-us/entra/identity-platform/id-token-claims-reference)).
    ///
    /// Tokens are signed with RS256. `iss` must be the issuer of the tenant in `tid`, and the
    /// signing key must be for that tenant. Find users by `tid` and `oid`, or by `tid` and `sub`,
    /// and never by `email` or `preferred_username`, which others can set.
    ///
    /// - Parameters:
    ///   - tenants: The IDs of the tenants, as GUIDs. Names such as `common` match nothing.
    ///     `9188040d-6c67-4c5b-b112-36a304b66dad` are the personal accounts.
    ///   - version: The version of the endpoint. The default is version 2.
    /// - Returns: The provider.
    public static func entra(tenants: [String], version: EntraTokenVersion = .v2) -> IdentityProvider {
        IdentityProvider(EntraTenants(tenants, version: version))
    }

    /// Returns Microsoft Entra, for users of every tenant.
    ///
    /// The rules are those of ``entra(tenants:version:)``, except that `tid` can be any tenant.
    ///
    /// - Warning: Everyone can create a tenant. Sign users in only if their `tid` belongs to one of
    ///   your customers, and keep the data of tenants apart.
    ///
    /// - Parameter version: The version of the endpoint. The default is version 2.
    /// - Returns: The provider.
    public static func entraSkippingTenantCheck(version: EntraTokenVersion = .v2) -> IdentityProvider {
        IdentityProvider(EntraTenants(nil, version: version))
    }

    private init(_ tenants: EntraTenants) {
        self.init(
            issuer: tenants.issuer,
            issuerRule: tenants.issuerRule,
            algorithms: [.rs256],
            keySetURL: tenants.keySetURL
        )
        policy.requiredClaims = ["tid"]
        policy.checks = [tenants.check]
    }
}
