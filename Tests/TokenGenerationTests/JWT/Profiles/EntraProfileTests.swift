import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Microsoft Entra", .computing)
struct EntraProfileTests {
    private static let tenant = "72f988bf-86f1-41af-91ab-2d7cd011db47"
    private static let other = "fa15d692-e9c7-4460-a743-29f2956fd429"
    private static let api = "6e74172b-be56-4843-9ff4-e66a39bb12e3"

    /// The claims of the version 2 access token in
    /// https://learn.microsoft.com/en-us/entra/identity-platform/access-tokens#token-formats. Like
    /// Microsoft's, the key doesn't state its algorithm.
    private static let call = IssuerFixture(
        claims: [
            "aud": .string(api), "iss": "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0",
            "iat": 1_537_231_048, "nbf": 1_537_231_048, "exp": 1_537_234_948, "azp": .string(api), "azpacr": "0",
            "name": "Abe Lincoln", "oid": "690222be-ff1a-4d56-abd1-7e4f7d38e474",
            "preferred_username": "abeli@microsoft.com", "rh": "I", "scp": "access_as_user",
            "sub": "HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ", "tid": .string(tenant), "ver": "2.0",
        ],
        keyMembers: [
            "use": "sig", "alg": nil, "issuer": "https://login.microsoftonline.com/{tenantid}/v2.0",
        ]
    )

    /// The same for version 1, whose keys don't state an issuer.
    private static let oldCall = IssuerFixture(
        claims: [
            "aud": "api://orders", "iss": "https://sts.windows.net/fa15d692-e9c7-4460-a743-29f2956fd429/",
            "iat": 1_537_233_106, "nbf": 1_537_233_106, "exp": 1_537_237_006, "acr": "1", "amr": ["wia"],
            "appid": "75dbe77f-10a3-4e59-85fd-8c127544f17c", "appidacr": "0", "email": "AbeLi@microsoft.com",
            "oid": "02223b6b-aa1d-42d4-9ec0-1b2bb9194438", "scp": "user_impersonation",
            "sub": "l3_roISQU222bULS9yi2k0XpqpOiMz5H3ZACo1GeXA", "tid": .string(other),
            "unique_name": "abeli@microsoft.com", "ver": "1.0",
        ],
        keyMembers: ["use": "sig", "alg": nil]
    )

    /// The claims of the version 2 ID token in
    /// https://learn.microsoft.com/en-us/entra/identity-platform/id-tokens#sample-v20-id-token.
    private static let user = IssuerFixture(
        claims: [
            "ver": "2.0", "iss": "https://login.microsoftonline.com/9122040d-6c67-4c5b-b112-36a304b66dad/v2.0",
            "sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ", "aud": "6cb04018-a3f5-46a7-b995-940c78f5aef3",
            "exp": 1_536_361_411, "iat": 1_536_274_711, "nbf": 1_536_274_711, "name": "Abe Lincoln",
            "preferred_username": "AbeLi@microsoft.com", "oid": "00000000-0000-0000-66f3-3332eca7ea81",
            "tid": "9122040d-6c67-4c5b-b112-36a304b66dad", "nonce": "123523",
        ],
        keyMembers: ["use": "sig", "alg": nil, "issuer": "https://login.microsoftonline.com/{tenantid}/v2.0"]
    )

    private static func issuer(_ tenant: String) -> JSONValue {
        .string("https://login.microsoftonline.com/\(tenant)/v2.0")
    }

    private static func refusal(
        _ changes: [String: JSONValue?] = [:],
        by issuer: TokenIssuer = .entra(tenants: [tenant])
    ) throws -> TokenError.Code? {
        try call.refusal(changes, by: issuer, audience: api)
    }

    private static func oldRefusal(
        _ changes: [String: JSONValue?] = [:],
        by issuer: TokenIssuer = .entra(tenants: [other], version: .v1)
    ) throws -> TokenError.Code? {
        try oldCall.refusal(changes, by: issuer, audience: "api://orders")
    }

    private static func userRefusal(
        _ changes: [String: JSONValue?],
        by provider: TokenIssuer
    ) throws -> TokenError.Code? {
        try user.refusal(
            changes,
            by: provider,
            clientID: "6cb04018-a3f5-46a7-b995-940c78f5aef3",
            nonce: "123523"
        )
    }

    // MARK: Tenants

    @Test(
        "Accepts the documented tokens of both versions, only with the policy of their version",
        .shows("Microsoft identity platform")
    )
    func versions() throws {
        #expect(try Self.refusal() == nil)
        #expect(try Self.oldRefusal() == nil)
        let old = TokenIssuer.entra(tenants: [Self.tenant], version: .v1)
        #expect(try Self.refusal(["appid": "x"], by: old) == .issuerMismatch)
        #expect(try Self.oldRefusal(["azp": "x"], by: .entra(tenants: [Self.other])) == .issuerMismatch)
    }

    @Test(
        "Accepts only the tenants of the list, in any case",
        .shows("I2"),
        arguments: [
            ([tenant], nil), ([other, tenant], nil), ([tenant.uppercased()], nil), ([other], .issuerMismatch),
            ([], .issuerMismatch), (["common"], .issuerMismatch), (["{tenantid}"], .issuerMismatch),
            (["*"], .issuerMismatch), ([""], .issuerMismatch),
        ] as [([String], TokenError.Code?)]
    )
    func allowList(tenants: [String], expected: TokenError.Code?) throws {
        #expect(try Self.refusal(by: .entra(tenants: tenants)) == expected)
    }

    @Test(
        "The issuer must be that of the tenant in tid, with and without a list",
        .shows("I3", "J28", "Microsoft identity platform", "RFC 8725bis §3.8 (tenants)"),
        arguments: [
            ([:], nil, nil), (["tid": .string(other)], .issuerMismatch, .issuerMismatch),
            (["tid": nil], .missingClaim, .missingClaim), (["tid": "common"], .malformedClaim, .malformedClaim),
            (["tid": 1], .malformedClaim, .malformedClaim),
            (["tid": .string(tenant.uppercased())], .malformedClaim, .malformedClaim),
            (["iss": issuer(other)], .issuerMismatch, .issuerMismatch),
            (["iss": issuer(other), "tid": .string(other)], .issuerMismatch, nil),
            (["iss": issuer("{tenantid}")], .issuerMismatch, .issuerMismatch),
            (["iss": issuer("common"), "tid": "common"], .issuerMismatch, .malformedClaim),
            (["iss": .string("https://sts.windows.net/\(tenant)/")], .issuerMismatch, .issuerMismatch),
            (
                ["iss": .string("https://login.microsoftonline.com.example/\(tenant)/v2.0")], .issuerMismatch,
                .issuerMismatch
            ),
            (["iss": nil], .missingClaim, .missingClaim),
        ] as [([String: JSONValue?], TokenError.Code?, TokenError.Code?)]
    )
    func tenants(changes: [String: JSONValue?], listed: TokenError.Code?, unlisted: TokenError.Code?) throws {
        #expect(try Self.refusal(changes) == listed)
        #expect(try Self.refusal(changes, by: .entraSkippingTenantCheck()) == unlisted)
    }

    @Test(
        "A key for one tenant doesn't sign for another",
        .shows("I3", "Microsoft identity platform", "RFC 8725bis §3.8 (tenants)"),
        arguments: [
            ("https://login.microsoftonline.com/{tenantid}/v2.0", nil),
            ("https://login.microsoftonline.com/{tenantId}/v2.0", nil), (issuer(tenant), nil), (nil, nil),
            ("https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0", .issuerMismatch),
            (issuer(other), .issuerMismatch), (1, .issuerMismatch),
            ("https://sts.windows.net/{tenantid}/", .issuerMismatch), ("", .issuerMismatch),
        ] as [(JSONValue?, TokenError.Code?)]
    )
    func signingKeyIssuer(value: JSONValue?, expected: TokenError.Code?) throws {
        var call = Self.call
        call.keyMembers["issuer"] = value
        #expect(try call.refusal(by: .entraSkippingTenantCheck(), audience: Self.api) == expected)
        #expect(try call.refusal(by: .entra(tenants: [Self.tenant, Self.other]), audience: Self.api) == expected)
    }

    @Test("A version 1 token can be signed with a key that states the issuer of version 2")
    func oldSigningKeyIssuer() throws {
        var call = Self.oldCall
        for (issuer, expected) in [
            ("https://login.microsoftonline.com/{tenantid}/v2.0", nil), ("https://sts.windows.net/{tenantid}/", nil),
            ("https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0", .issuerMismatch),
        ] as [(JSONValue, TokenError.Code?)] {
            call.keyMembers["issuer"] = issuer
            let found = try call.refusal(by: .entra(tenants: [Self.other], version: .v1), audience: "api://orders")
            #expect(found == expected)
        }
    }

    // MARK: Claims

    @Test(
        "Rejects an ID token, another audience and another algorithm at the API",
        .shows("I4"),
        arguments: [
            (["azp": nil], .missingClaim), (["aud": "api://other"], .audienceMismatch), (["sub": nil], .missingClaim),
            (["exp": 1_537_230_000], .expired), (["nbf": 1_537_240_000], .notYetValid),
        ] as [([String: JSONValue?], TokenError.Code)]
    )
    func claims(changes: [String: JSONValue?], expected: TokenError.Code) throws {
        #expect(try Self.refusal(changes) == expected)
    }

    @Test("Rejects keys and tokens of other algorithms")
    func algorithms() throws {
        var call = Self.call
        call.algorithm = .es256
        #expect(try call.refusal(by: .entra(tenants: [Self.tenant]), audience: Self.api) == .algorithmMismatch)
        call.algorithm = .ps256
        call.keyMembers["alg"] = "PS256"
        #expect(try call.refusal(by: .entra(tenants: [Self.tenant]), audience: Self.api) == .algorithmMismatch)
    }

    @Test(
        "Accepts the documented ID token of an allowed tenant, and no access token",
        arguments: [
            ([:], nil), (["nonce": "1"], .nonceMismatch), (["tid": nil], .missingClaim),
            (["tid": .string(tenant)], .issuerMismatch),
            (["iss": issuer(tenant), "tid": .string(tenant)], .issuerMismatch),
            (["aud": .string(api)], .audienceMismatch), (["azp": .string(api)], .authorizedPartyMismatch),
        ] as [([String: JSONValue?], TokenError.Code?)]
    )
    func idToken(changes: [String: JSONValue?], expected: TokenError.Code?) throws {
        let provider = TokenIssuer.entra(tenants: ["9122040d-6c67-4c5b-b112-36a304b66dad"])
        #expect(try Self.userRefusal(changes, by: provider) == expected)
    }

    @Test("Users of every tenant are accepted only by the policy whose name says so", .shows("I2"))
    func everyTenant() throws {
        let anyTenant = TokenIssuer.entraSkippingTenantCheck()
        let tenant = JSONValue.string(Self.other)
        #expect(try Self.userRefusal(["iss": Self.issuer(Self.other), "tid": tenant], by: anyTenant) == nil)
        #expect(try Self.userRefusal(["tid": tenant], by: anyTenant) == .issuerMismatch)
    }

    @Test("The keys are those of the only tenant, or those of all tenants, of the version")
    func keys() {
        let one = TokenIssuer.entra(tenants: [Self.tenant])
        for (issuer, path) in [
            (one, "\(Self.tenant)/discovery/v2.0"), (.entra(tenants: []), "common/discovery/v2.0"),
            (.entra(tenants: [Self.tenant, Self.other]), "common/discovery/v2.0"),
            (.entraSkippingTenantCheck(version: .v1), "common/discovery"),
        ] {
            #expect(issuer.keySetURL?.absoluteString == "https://login.microsoftonline.com/\(path)/keys")
        }
    }
}
