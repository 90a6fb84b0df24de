import Foundation
import Networking
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
    static let entraTenant = "8eaef023-2b34-4da1-9baa-8bc8c9d6a490"

    var isOfVendor: Bool { self != .standard && self != .govUKOneLogin }

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

    var keepsReplacedRefreshTokens: Bool { self == .keycloak || self == .entra }

    var supportsDPoP: Bool {
        switch self {
        case .standard, .govUKOneLogin, .keycloak, .auth0, .okta: true
        case .entra, .cognito, .google, .gitHub: false
        }
    }

    func supports(_ grant: GrantType) -> Bool {
        switch self {
        case .google, .gitHub: grant != .clientCredentials
        default: true
        }
    }

    func resources(of request: RequestParameters) -> [String] {
        switch self {
        case .auth0: request.values("audience")
        case .keycloak, .okta, .entra: []
        default: request.values("resource")
        }
    }

    func check(scope: String, of grant: GrantType?) throws(TokenEndpointError) {
        guard self == .okta || self == .entra, grant == .clientCredentials, scope.isEmpty else { return }
        throw TokenEndpointError(self == .okta ? "invalid_scope" : "invalid_request", "the scope is missing")
    }

    func opaquePrefix(_ authorization: Authorization) -> String? {
        switch self {
        case .google: "ya29."
        case .gitHub: "ghu_"
        case .auth0 where authorization.resources.isEmpty: ""
        default: nil
        }
    }

    /// The header of a JWT, without its algorithm and key.
    var accessTokenHeader: JSONObject {
        switch self {
        case .standard, .govUKOneLogin: ["typ": "at+jwt"]
        case .okta, .cognito, .google, .gitHub: [:]
        case .keycloak, .entra, .auth0: ["typ": "JWT"]
        }
    }

    func adapt(_ claims: inout JSONObject, of authorization: Authorization, audiences: [String]) {
        let names = authorization.scope.split(separator: " ").map(String.init)
        let isOfClient = authorization.subject == authorization.clientID
        func move(_ name: String, to other: String) {
            claims[other] = claims[name]
            claims[name] = nil
        }
        switch self {
        case .standard, .govUKOneLogin, .google, .gitHub: break
        case .keycloak:
            move("client_id", to: "azp")
            claims["aud"] = Self.audience(["account"] + audiences)
            claims["typ"] = authorization.keyThumbprint == nil ? "Bearer" : "DPoP"
            claims["realm_access"] = ["roles": ["offline_access", "uma_authorization"]]
            if !isOfClient { claims["sid"] = .string(UUID().uuidString) }
        case .entra:
            move("client_id", to: "azp")
            move("scope", to: "scp")
            let parts = names.map { $0.split(separator: "/", omittingEmptySubsequences: false) }
            let resource = parts.first { $0.count > 1 }?.dropLast().joined(separator: "/")
            if let resource { claims["aud"] = .string(resource) }
            if isOfClient {
                claims["scp"] = nil
                let roles = authorization.roles
                if !roles.isEmpty { claims["roles"] = .array(roles.map(JSONValue.string)) }
            } else {
                let granted = parts.compactMap(\.last).map(String.init).filter { $0 != ".default" }
                claims["scp"] = .string(granted.joined(separator: " "))
            }
            claims["tid"] = .string(Self.entraTenant)
            claims["oid"] = claims["sub"]
            claims["ver"] = "2.0"
            claims["jti"] = nil
        case .auth0:
            move("client_id", to: "azp")
            claims["jti"] = nil
            if isOfClient {
                claims["sub"] = .string("\(authorization.clientID)@clients")
                claims["gty"] = "client-credentials"
            } else if names.contains("openid"), let issuer = claims["iss"]?.string {
                claims["aud"] = Self.audience(authorization.resources + [issuer + "userinfo"])
            }
        case .okta:
            move("client_id", to: "cid")
            move("scope", to: "scp")
            claims["scp"] = .array(names.map(JSONValue.string))
            claims["aud"] = Self.audience(audiences.isEmpty ? ["api://default"] : audiences)
            claims["ver"] = 1
            if !isOfClient { claims["uid"] = claims["sub"] }
        case .cognito:
            if authorization.resources.isEmpty { claims["aud"] = nil }
            claims["token_use"] = "access"
            claims["version"] = 2
            if !isOfClient { claims["username"] = claims["sub"] }
        }
    }

    private static func audience(_ names: [String]) -> JSONValue {
        names.count == 1 ? .string(names[0]) : .array(names.map(JSONValue.string))
    }

    // MARK: Responses

    func adapt(tokens body: inout JSONObject) {
        switch self {
        case .standard, .govUKOneLogin, .auth0, .okta, .google: break
        case .keycloak:
            body["not-before-policy"] = 0
            if body["refresh_token"] != nil { body["refresh_expires_in"] = 1_800 }
        case .entra: body["ext_expires_in"] = body["expires_in"]
        case .cognito: body["scope"] = nil
        case .gitHub:
            body["token_type"] = "bearer"
            body["scope"] = .string((body["scope"]?.string ?? "").replacing(" ", with: ","))
            if body["refresh_token"] != nil { body["refresh_token_expires_in"] = 15_897_600 }
        }
    }

    func adapted(_ error: TokenEndpointError, of grant: GrantType?) -> TokenEndpointError {
        var error = error
        switch (self, error.code) {
        case (.auth0, "invalid_grant"): error.status = 403
        case (.auth0, "invalid_client"):
            error = TokenEndpointError("access_denied", "Unauthorized", status: 401)
        case (.cognito, "invalid_client"): error.status = 400
        case (.entra, _):
            let number =
                switch error.code {
                case "invalid_client": 7_000_215
                case "invalid_grant": 70_000
                default: 900_144
                }
            error.members = [
                "error_codes": [.number(JSONNumber(number))], "trace_id": .string(UUID().uuidString),
                "correlation_id": .string(UUID().uuidString),
            ]
        case (.gitHub, let code):
            let code =
                switch code {
                case "invalid_grant": grant == .refreshToken ? "bad_refresh_token" : "bad_verification_code"
                case "invalid_client": "incorrect_client_credentials"
                default: code
                }
            error = TokenEndpointError(code, error.description, status: 200)
        default: break
        }
        return error
    }

    func formatted(_ response: LoopbackResponse, for request: LoopbackRequest) -> LoopbackResponse {
        guard self == .gitHub, request.headers["Accept"]?.contains("application/json") != true,
            case .data(let body) = response.content, let object = try? JSONObject(parsing: body)
        else { return response }
        let pairs = object.map { ($0.name, $0.value.string ?? $0.value.number?.literal ?? "") }
        var headers = response.headers
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return LoopbackResponse(
            status: response.status,
            headers: headers,
            body: Data(FormURLEncoded.encode(pairs).utf8)
        )
    }
}
