import Foundation
import MockNetworking
import TestSupport
import Testing
import TokenGeneration

@testable import OAuth2

@Suite("TokenResponse", .computing)
struct TokenResponseTests {
    private let requested = ContinuousClock.now

    @Test("Reads the example of RFC 6749 §5.1", .shows("RFC 6749 §5.1"))
    func example() throws {
        let response = try read(
            """
            {"access_token":"2YotnFZFEjr1zCsicMWpAA","token_type":"example","expires_in":3600,
             "refresh_token":"tGzv3JOkF0XG5Qx2TlKWIA","example_parameter":"example_value","scope":"a b"}
            """.replacingOccurrences(of: "\"example\"", with: "\"Bearer\"")
        )
        #expect(response.accessToken.value == Secret("2YotnFZFEjr1zCsicMWpAA"))
        #expect((response.accessToken.type, response.accessToken.scope) == ("Bearer", "a b"))
        #expect(response.accessToken.expiry == requested + .seconds(3600))
        #expect(response.accessToken.requested == requested)
        #expect(response.refreshToken == Secret("tGzv3JOkF0XG5Qx2TlKWIA"))
    }

    @Test(
        "Reads any number as a lifetime, also quoted, and ignores other values",
        .shows("RFC 6749 §5.1"),
        arguments: [
            ("3600", 3600), ("3600.5", 3600.5), ("3.6e3", 3600), ("\"3600\"", 3600), ("\"59.5\"", 59.5), ("0", 0),
            ("\"0\"", 0), ("-1", 0), ("1e300", 2_147_483_647), ("99999999999999999999", 2_147_483_647), ("null", nil),
            ("\"soon\"", nil), ("\"\"", nil), ("\"nan\"", nil), ("\"inf\"", nil), ("true", nil), ("[3600]", nil),
            ("{}", nil), (nil, nil),
        ] as [(String?, Double?)]
    )
    func lifetimes(json: String?, seconds: Double?) throws {
        let member = json.map { #","expires_in":\#($0)"# } ?? ""
        let response = try read(#"{"access_token":"a","token_type":"Bearer"\#(member)}"#)
        #expect(response.accessToken.expiry == seconds.map { requested + .seconds($0) })
    }

    @Test(
        "Accepts Bearer in any case, and ignores empty members",
        .shows("RFC 6749 §7.1"),
        arguments: [
            #""token_type":"Bearer""#, #""token_type":"bearer""#, #""token_type":"BEARER""#, #""token_type":"bEaReR""#,
            #""token_type":"Bearer","error":"""#, #""token_type":"Bearer","error":null"#,
            #""token_type":"Bearer","refresh_token":"""#, #""token_type":"Bearer","refresh_token":null"#,
            #""token_type":"Bearer","refresh_token":7"#,
        ]
    )
    func tolerance(members: String) throws {
        let response = try read(#"{"access_token":"Az09-._~+/==",\#(members)}"#)
        #expect(response.accessToken.value == Secret("Az09-._~+/=="))
        #expect(response.accessToken.type.lowercased() == "bearer")
        #expect(members.contains(#""\#(response.accessToken.type)""#))
        #expect(response.refreshToken == nil)
    }

    /// Access tokens with characters that RFC 6750 doesn't allow.
    private static let badTokens = [
        "a b", "a\\tb", "a,b", "a\\\"b", "a;b", "é", "a=b", "=", "a\\u0000", "a|b", "a\\nb", "a%20b", "a\\u2028b", " a",
        "a ",
    ]

    @Test(
        "Rejects an invalid token response",
        .shows("S11", "RFC 6749 §5.1", "RFC 6749 §5.2", "RFC 6749 §7.1"),
        arguments: [
            "", "<html></html>", "[]", "\"token\"", "null", "{", "{}", #"{"token_type":"Bearer"}"#,
            #"{"access_token":"","token_type":"Bearer"}"#, #"{"access_token":7,"token_type":"Bearer"}"#,
            #"{"access_token":null,"token_type":"Bearer"}"#, #"{"access_token":"a"}"#,
            #"{"access_token":"a","token_type":7}"#, #"{"access_token":"a\r\nX-Evil: 1","token_type":"Bearer"}"#,
            #"{"access_token":"a","access_token":"b","token_type":"Bearer"}"#,
            #"{"access_token":"a","token_type":"Bearer"} trailing"#,
        ].map { ($0, OAuth2Error.Code.protocolViolation) }
            + badTokens.map { (#"{"access_token":"\#($0)","token_type":"Bearer"}"#, .protocolViolation) }
            + ["DPoP", "mac", "N_A", "Bearer "].map {
                (#"{"access_token":"a","token_type":"\#($0)"}"#, .unsupportedTokenType)
            } + [
                (#"{"error":"invalid_client"}"#, .invalidClient),
                (
                    #"{"error":"temporarily_unavailable","access_token":"a","token_type":"Bearer"}"#,
                    .serverTransient
                ),
            ]
    )
    func violations(json: String, code: OAuth2Error.Code) {
        #expect(throws: OAuth2Error(code, "")) { try read(json) }
    }

    @Test("Accepts any characters in an exchanged token that isn't sent in a header field")
    func exchangedToken() throws {
        let json = Data(#"{"access_token":"<saml/>","token_type":"N_A","issued_token_type":"urn:saml"}"#.utf8)
        let response = try TokenResponse(parsing: json, requested: requested, isExchange: true)
        #expect(response.accessToken.value == Secret("<saml/>"))
    }

    @Test(
        "Rejects an exchanged token without the requested type of RFC 8693 §2.2.1",
        arguments: [
            ("", nil, .protocolViolation), (#""issued_token_type":7,"#, nil, .protocolViolation),
            (#""issued_token_type":null,"#, "urn:a", .protocolViolation), (#""issued_token_type":"urn:a","#, nil, nil),
            (#""issued_token_type":"urn:a","#, "urn:a", nil),
            (#""issued_token_type":"urn:b","#, "urn:a", .unsupportedTokenType),
            (#""issued_token_type":"urn:A","#, "urn:a", .unsupportedTokenType),
            (#""issued_token_type":"","#, "urn:a", .unsupportedTokenType),
        ] as [(String, String?, OAuth2Error.Code?)]
    )
    func issuedTokenType(member: String, requested: String?, code: OAuth2Error.Code?) async {
        let fixture = EndpointFixture(.json("{\(member)\"access_token\":\"a\",\"token_type\":\"Bearer\"}"))
        let grant = TokenExchangeGrant(
            subject: StaticTokenSource(AccessToken(value: Secret("s"), requested: self.requested)),
            identifier: "ada",
            requestedTokenType: requested.map(TokenType.init)
        )
        #expect(await failureCode { _ = try await fixture.oauth.tokens(for: grant) } == code)
    }

    @Test("Accepts a token without a type only from a server with omitsTokenType")
    func missingType() async throws {
        for json in [#"{"access_token":"a"}"#, #"{"access_token":"a","token_type":null}"#] {
            #expect(throws: OAuth2Error(.protocolViolation, "")) { try read(json) }
            let response = try TokenResponse(
                parsing: Data(json.utf8),
                requested: requested,
                acceptsMissingType: true
            )
            #expect(response.accessToken.type == "Bearer")
            for omits in [false, true] {
                let fixture = EndpointFixture(.json(json)) { $0.omitsTokenType = omits }
                let code = await failureCode { try await fixture.oauth.tokens(for: ClientCredentialsGrant()) }
                #expect(code == (omits ? nil : .protocolViolation))
            }
        }
        // A type in the response counts, and a bound token requires one.
        #expect(throws: OAuth2Error(.protocolViolation, "")) {
            try TokenResponse(
                parsing: Data(#"{"access_token":"a","token_type":7}"#.utf8),
                requested: requested,
                acceptsMissingType: true
            )
        }
        #expect(throws: OAuth2Error(.unsupportedTokenType, "")) {
            try TokenResponse(
                parsing: Data(#"{"access_token":"a"}"#.utf8),
                requested: requested,
                proof: DPoPProofGenerator(key: .generate(.es256)),
                acceptsMissingType: true
            )
        }
    }

    private func read(_ json: String) throws(OAuth2Error) -> TokenResponse {
        try TokenResponse(parsing: Data(json.utf8), requested: requested)
    }
}
