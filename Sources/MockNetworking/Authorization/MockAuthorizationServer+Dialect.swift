import Foundation
import TokenGeneration

extension MockAuthorizationServer {
    /// An authorization server that the mock server behaves like.
    ///
    /// ```swift
    /// let keycloak = try MockAuthorizationServer.start(
    ///     configuration: .init(dialect: .keycloak),
    ///     clients: [.init(id: "reports", secret: "s3cret")]
    /// )
    /// ```
    ///
    /// A dialect has the vendor's form of the issuer, the access tokens, the responses and the
    /// errors, and its rules for refresh tokens, as far as clients and APIs notice them. The paths
    /// of the endpoints and the supported extensions are those of the mock server.
    public enum Dialect: Sendable {
        /// The behavior that the RFCs define.
        case standard
        /// The behavior of [GOV.UK One Login](https://docs.sign-in.service.gov.uk).
        ///
        /// An expired assertion gives `invalid_grant`, and any other invalid assertion gives
        /// `invalid_client` with the status 400. All audiences of an assertion must be the issuer
        /// or the token endpoint. A request without a `User-Agent` gets 403.
        case govUKOneLogin
        /// The behavior of [Keycloak](https://www.keycloak.org/docs/latest/server_admin/).
        ///
        /// The issuer is a realm. Access tokens have the claims `typ`, `azp` and `realm_access`.
        /// Their audience is always `account` and ``Configuration/resources``. A replaced refresh
        /// token stays valid.
        case keycloak
        /// The behavior of [Microsoft
        /// Entra](https://learn.microsoft.com/en-us/entra/identity-platform/access-tokens), version
        /// 2.
        ///
        /// The scope `RESOURCE/NAME` determines the audience; it's required. Tokens of users have
        /// `scp`, and tokens of clients have `roles` with the names that the client may request. A
        /// replaced refresh token stays valid. Errors have Entra's additional members.
        case entra
        /// The behavior of
        /// [Auth0](https://auth0.com/docs/secure/tokens/access-tokens/access-token-profiles).
        ///
        /// The issuer ends with a slash. The parameter `audience` determines the audience, and
        /// without it the token is opaque. By default, refresh tokens aren't replaced. A rejected
        /// grant has the status 403, and a client that isn't authenticated gets `access_denied`.
        case auth0
        /// The behavior of a custom authorization server of
        /// [Okta](https://developer.okta.com/docs/guides/validate-access-tokens/).
        ///
        /// Access tokens have `cid` and an array `scp`. Their audience is that of the server,
        /// ``Configuration/resources`` or else `api://default`. Clients must request a scope. DPoP
        /// proofs require a nonce. By default, refresh tokens aren't replaced.
        case okta
        /// The behavior of [Amazon
        /// Cognito](https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-the-access-token.html).
        ///
        /// Access tokens have `token_use`, but `aud` only if the client requested a resource. By
        /// default, refresh tokens aren't replaced. Rejected clients get the status 400.
        case cognito
        /// The behavior of
        /// [Google](https://developers.google.com/identity/protocols/oauth2/web-server).
        ///
        /// Access tokens are opaque. By default, refresh tokens aren't replaced. Clients can't act
        /// for themselves.
        case google
        /// The behavior of a [GitHub
        /// App](https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app).
        ///
        /// Access tokens are opaque. Errors have the status 200 and GitHub's codes. Responses are
        /// forms unless the request accepts JSON. Clients can't act for themselves.
        case gitHub
    }
}

extension MockAuthorizationServer.Dialect {
    /// The tenant of the dialect of Entra.
    static let entraTenant = "8eaef023-2b34-4da1-9baa-8bc8c9d6a490"

    /// A Boolean value that indicates whether the dialect is that of a product.
    var isOfVendor: Bool { self != .standard && self != .govUKOneLogin }

    /// The path of the issuer.
    var issuerPath: String {
        switch self {
        case .keycloak: "/realms/mock"
        case .entra: "/\(Self.entraTenant)/v2.0"
        case .auth0: "/"
        case .okta: "/oauth2/default"
        case .cognito: "/eu-west-1_mock"
        case .standard, .govUKOneLogin, .google, .gitHub: ""
        }
    }

    var rotatesRefreshTokens: Bool {
        switch self {
        case .standard, .govUKOneLogin, .keycloak, .entra, .gitHub: true
        case .auth0, .okta, .cognito, .google: false
        }
    }

    /// A Boolean value that indicates whether a replaced refresh token stays valid.
    var keepsReplacedRefreshTokens: Bool { self == .keycloak || self == .entra }

    var supportsDPoP: Bool {
        switch self {
        case .standard, .govUKOneLogin, .keycloak, .auth0, .okta: true
        case .entra, .cognito, .google, .gitHub: false
        }
    }

    /// Returns a Boolean value that indicates whether a grant type is supported.
    func supports(_ grant: GrantType) -> Bool {
        switch self {
        case .google, .gitHub: grant != .clientCredentials
        default: true
        }
    }
}
