import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Keycloak, Auth0, Okta and Cognito", .computing)
struct AuthorizationServerProfileTests {
    // MARK: Keycloak

    private static let realm = "https://id.example/realms/shop"

    /// The claims of an access token whose realm has an audience mapper for `orders`.
    private static let keycloak = IssuerFixture(claims: [
        "exp": 1_761_484_500, "iat": 1_761_484_200, "jti": "trrtcc:4c1a42a5-2b14-4f2d-8f4c-0a5d3a3c1f3f",
        "iss": .string(realm), "aud": ["orders", "account"], "sub": "6f1f5ca4-7d7c-4cc6-9c9b-3a4f1b6a5f10",
        "typ": "Bearer", "azp": "reports", "sid": "8a3b", "acr": "1", "scope": "email profile",
        "realm_access": ["roles": ["offline_access", "uma_authorization"]],
    ])

    @Test(
        "Keycloak: accepts access tokens in both formats, but no ID token or refresh token",
        .shows("J28"),
        arguments: [
            ([:], [:], nil), ([:], ["typ": "at+jwt"], nil), (["typ": "DPoP"], [:], nil),
            (["typ": "ID"], [:], .claimMismatch), (["typ": "Refresh"], [:], .claimMismatch),
            (["typ": "Offline"], [:], .claimMismatch), (["typ": nil], [:], .missingClaim),
            (["azp": nil], [:], .missingClaim), (["sub": nil], [:], .missingClaim),
            (["aud": "account"], [:], .audienceMismatch), (["aud": nil], [:], .missingClaim),
            (["iss": "https://id.example/realms/other"], [:], .issuerMismatch),
            (["iss": "https://id.example/realms/shop/"], [:], .issuerMismatch),
            ([:], ["typ": "logout+jwt"], .typeMismatch), ([:], ["typ": nil], .typeMismatch),
        ] as [([String: JSONValue?], [String: JSONValue?], TokenError.Code?)]
    )
    func keycloak(claims: [String: JSONValue?], header: [String: JSONValue?], expected: TokenError.Code?) throws {
        let issuer = TokenIssuer.keycloak(issuer: Self.realm)
        #expect(try Self.keycloak.refusal(claims, header: header, by: issuer, audience: "orders") == expected)
    }

    @Test("Keycloak: accepts only the algorithms of the realm")
    func keycloakAlgorithms() throws {
        var elliptic = Self.keycloak
        elliptic.algorithm = .es256
        let realm = Self.realm
        #expect(try elliptic.refusal(by: .keycloak(issuer: realm), audience: "orders") == .algorithmMismatch)
        #expect(
            try elliptic.refusal(by: .keycloak(issuer: realm, algorithms: [.es256]), audience: "orders") == nil
        )
    }

    // MARK: Auth0

    /// The sample of Auth0's own format in
    /// https://auth0.com/docs/secure/tokens/access-tokens/access-token-profiles.
    private static let auth0 = IssuerFixture(claims: [
        "iss": "https://my-domain.auth0.com/", "sub": "auth0|123456",
        "aud": ["https://example.com/health-api", "https://my-domain.auth0.com/userinfo"], "azp": "my_client_id",
        "exp": 1_311_281_970, "iat": 1_311_280_970, "scope": "openid profile read:patients read:admin",
    ])

    @Test(
        "Auth0: accepts both formats, with and without the slash of the setting",
        arguments: ["https://my-domain.auth0.com/", "https://my-domain.auth0.com"]
    )
    func auth0(setting: String) throws {
        let issuer = TokenIssuer.auth0(issuer: setting)
        let api = "https://example.com/health-api"
        #expect(try Self.auth0.refusal(by: issuer, audience: api) == nil)
        let standard: [String: JSONValue?] = ["azp": nil, "client_id": "my_client_id", "jti": "73WakrfVbNJBaAmhQtEeDv"]
        #expect(try Self.auth0.refusal(standard, header: ["typ": "at+jwt"], by: issuer, audience: api) == nil)
        #expect(try Self.auth0.refusal(["azp": nil], by: issuer, audience: api) == .missingClaim)
        #expect(try Self.auth0.refusal(["azp": 1], by: issuer, audience: api) == .missingClaim)
        #expect(try Self.auth0.refusal(["aud": "my_client_id"], by: issuer, audience: api) == .audienceMismatch)
        let other: [String: JSONValue?] = ["iss": "https://my-domain.auth0.com"]
        #expect(try Self.auth0.refusal(other, by: issuer, audience: api) == .issuerMismatch)
        #expect(try Self.auth0.refusal(header: ["typ": "logout+jwt"], by: issuer, audience: api) == .typeMismatch)
    }

    // MARK: Okta

    /// The claims of an access token of the authorization server `default`.
    private static let okta = IssuerFixture(
        claims: [
            "ver": 1, "jti": "AT.0mP4JKAZX1iACIT4vbEDF7LpvDVjxypPMf0D7uX39RE",
            "iss": "https://shop.okta.com/oauth2/default", "aud": "api://default", "sub": "jane@shop.example",
            "iat": 1_467_145_094, "exp": 1_467_148_694, "cid": "nmdP1fcyvdVO11AL7ECm", "uid": "00ujmkLgagxeRrAg20g3",
            "scp": ["openid", "email"],
        ],
        header: ["kid": "1"]
    )

    @Test(
        "Okta: accepts the tokens of a custom authorization server, but not those for Okta itself",
        arguments: [
            ([:], [:], nil), ([:], ["typ": "at+jwt"], nil), (["cid": nil], [:], .missingClaim),
            (["jti": nil], [:], .missingClaim), (["aud": "nmdP1fcyvdVO11AL7ECm"], [:], .audienceMismatch),
            (["iss": "https://shop.okta.com"], [:], .issuerMismatch),
            ([:], ["typ": "application/okta-internal-at+jwt"], .typeMismatch),
        ] as [([String: JSONValue?], [String: JSONValue?], TokenError.Code?)]
    )
    func okta(claims: [String: JSONValue?], header: [String: JSONValue?], expected: TokenError.Code?) throws {
        let issuer = TokenIssuer.okta(issuer: "https://shop.okta.com/oauth2/default")
        #expect(try Self.okta.refusal(claims, header: header, by: issuer, audience: "api://default") == expected)
    }

    // MARK: Cognito

    private static let pool = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEfGhI"

    /// The claims of an access token of a client that requested no resource.
    private static let cognito = IssuerFixture(
        claims: [
            "sub": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "token_use": "access", "scope": "orders/read",
            "auth_time": 1_676_312_777, "iss": .string(pool), "exp": 1_676_316_377, "iat": 1_676_312_777, "version": 2,
            "jti": "cccccccc-cccc-cccc-cccc-cccccccccccc", "client_id": "57cbishk4j24pabc1234567890",
            "username": "jane",
        ],
        header: ["kid": "1"]
    )

    @Test(
        "Cognito: accepts the access tokens of listed clients, for the API or for no resource",
        arguments: [
            ([:], nil), (["aud": "https://api.example"], nil), (["aud": "https://other.example"], .audienceMismatch),
            (["client_id": "other"], .claimMismatch), (["client_id": nil], .missingClaim),
            (["token_use": "id", "aud": "57cbishk4j24pabc1234567890"], .audienceMismatch),
            (["token_use": "id"], .claimMismatch), (["token_use": nil], .missingClaim),
            (["iss": "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Other"], .issuerMismatch),
        ] as [([String: JSONValue?], TokenError.Code?)]
    )
    func cognito(claims: [String: JSONValue?], expected: TokenError.Code?) throws {
        let issuer = TokenIssuer.cognito(issuer: Self.pool, clients: ["57cbishk4j24pabc1234567890"])
        #expect(try Self.cognito.refusal(claims, by: issuer, audience: "https://api.example") == expected)
        let nobody = TokenIssuer.cognito(issuer: Self.pool, clients: [])
        #expect(try Self.cognito.refusal(claims, by: nobody, audience: "https://api.example") != nil)
    }
}
