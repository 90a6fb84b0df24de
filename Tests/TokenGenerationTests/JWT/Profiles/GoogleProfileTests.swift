import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Google", .computing)
struct GoogleProfileTests {
    private static let client = "1234987819200.apps.googleusercontent.com"
    private static let app = "9876543210000.apps.googleusercontent.com"

    /// The sample of
    /// https://developers.google.com/identity/openid-connect/openid-connect#an-id-tokens-payload.
    private static let user = IssuerFixture(
        claims: [
            "iss": "https://accounts.google.com", "azp": .string(client), "aud": .string(client),
            "sub": "10769150350006150715113082367", "at_hash": "HK6E_P6Dh8Y93mRNtsDB1Q", "hd": "example.com",
            "email": "jsmith@example.com", "email_verified": true, "iat": 1_353_601_026, "exp": 1_353_604_926,
            "nonce": "0394852-3190485-2490358",
        ]
    )

    private static func refusal(
        _ changes: [String: JSONValue?] = [:],
        by provider: TokenIssuer = .google(),
        authorizedParties: [String] = []
    ) throws -> TokenError.Code? {
        try user.refusal(
            changes,
            by: provider,
            clientID: client,
            nonce: "0394852-3190485-2490358",
            authorizedParties: authorizedParties
        )
    }

    @Test(
        "Accepts the documented token under both names of the issuer, and no other",
        .shows("J28", "Google OpenID Connect")
    )
    func issuers() throws {
        #expect(try Self.refusal() == nil)
        #expect(try Self.refusal(["iss": "accounts.google.com"]) == nil)
        for name in [
            "https://accounts.google.com/", "http://accounts.google.com", "ACCOUNTS.GOOGLE.COM", "google.com",
            "https://accounts.google.com.example",
        ] {
            #expect(try Self.refusal(["iss": .string(name)]) == .issuerMismatch)
        }
        #expect(try Self.refusal(["iss": nil]) == .missingClaim)
    }

    @Test(
        "Accepts only users of the hosted domain, regardless of their address",
        .shows("I5", "Google OpenID Connect"),
        arguments: [
            ([:], "example.com", nil), ([:], "EXAMPLE.com", nil),
            (["hd": "other.example"], "example.com", .claimMismatch),
            (["hd": nil], "example.com", .missingClaim), (["hd": "sub.example.com"], "example.com", .claimMismatch),
            (["hd": ["example.com"]], "example.com", .malformedClaim), (["hd": ""], "", .claimMismatch),
            (["hd": nil], nil, nil),
        ] as [([String: JSONValue?], String?, TokenError.Code?)]
    )
    func hostedDomain(changes: [String: JSONValue?], domain: String?, expected: TokenError.Code?) throws {
        #expect(try Self.refusal(changes, by: .google(hostedDomain: domain)) == expected)
    }

    @Test("Accepts a token that the server's own app requested, but not one of another party", .shows("I6"))
    func authorizedParty() throws {
        let changes: [String: JSONValue?] = ["azp": .string(Self.app)]
        #expect(try Self.refusal(changes) == .authorizedPartyMismatch)
        #expect(try Self.refusal(changes, authorizedParties: [Self.app]) == nil)
        #expect(try Self.refusal(authorizedParties: [Self.app]) == nil)
        // A service account can name any audience.
        #expect(
            try Self.refusal(["azp": "1042", "sub": "1042"], authorizedParties: [Self.app]) == .authorizedPartyMismatch
        )
        #expect(try Self.refusal(["aud": .string(Self.app)], authorizedParties: [Self.app]) == .audienceMismatch)
    }

    @Test("Rejects other algorithms and audiences, and a wrong nonce")
    func others() throws {
        var ps256 = Self.user
        ps256.algorithm = .ps256
        #expect(
            try ps256.refusal(by: .google(), clientID: Self.client, nonce: "0394852-3190485-2490358")
                == .algorithmMismatch
        )
        #expect(try Self.refusal(["aud": "other"]) == .audienceMismatch)
        #expect(try Self.refusal(["nonce": "other"]) == .nonceMismatch)
        #expect(try Self.refusal(["nonce": nil]) == .missingClaim)
        // `nonce_supported` is Apple's.
        #expect(try Self.refusal(["nonce": nil, "nonce_supported": false]) == .missingClaim)
    }

    // MARK: Service accounts

    private static let service = "https://orders.example"
    private static let account = "caller@project.iam.gserviceaccount.com"

    private static let call = IssuerFixture(
        claims: [
            "aud": .string(service), "azp": "102", "email": .string(account), "email_verified": true,
            "exp": 1_700_003_600, "iat": 1_700_000_000, "iss": "https://accounts.google.com", "sub": "102",
        ]
    )

    @Test(
        "Accepts a service account of the list, and none of another project",
        .shows("I6", "Google OpenID Connect"),
        arguments: [
            ([:], [account], nil), ([:], ["other@x.example", account], nil),
            (["email": "caller@attacker.iam.gserviceaccount.com"], [account], .claimMismatch),
            (["email": nil], [account], .missingClaim), (["email_verified": nil], [account], .missingClaim),
            (["email_verified": false], [account], .claimMismatch), (["email_verified": 1], [account], .malformedClaim),
            ([:], [], .claimMismatch), (["email": ""], [""], .claimMismatch),
            (["aud": "https://other.example"], [account], .audienceMismatch),
            (["iss": "https://accounts.example"], [account], .issuerMismatch),
        ] as [([String: JSONValue?], [String], TokenError.Code?)]
    )
    func serviceAccount(changes: [String: JSONValue?], emails: [String], expected: TokenError.Code?) throws {
        let found = try Self.call.refusal(changes, by: .googleServiceAccounts(emails), audience: Self.service)
        #expect(found == expected)
    }

    @Test("Names the published keys")
    func keys() {
        #expect(TokenIssuer.google().keySetURL?.absoluteString == "https://www.googleapis.com/oauth2/v3/certs")
        #expect(TokenIssuer.googleServiceAccounts([]).keySetURL == TokenIssuer.google().keySetURL)
    }
}
