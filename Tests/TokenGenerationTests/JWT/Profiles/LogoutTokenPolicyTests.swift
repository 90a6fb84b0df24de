import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("ValidationPolicy: logout tokens", .computing)
struct LogoutTokenPolicyTests {
    private static let event = "http://schemas.openid.net/event/backchannel-logout"

    private let key: SigningKey

    init() throws { key = try SigningKey.generate(.es256) }

    private static var claims: JSONObject {
        [
            "iss": "https://id.example", "aud": "shop", "sub": "ada", "sid": "s1", "iat": 1_000_000_000,
            "exp": 1_000_000_120, "jti": "1", "events": .object(JSONObject([(event, .object([:]))])),
        ]
    }

    private func verify(
        _ changes: [String: JSONValue?] = [:],
        type: String? = "logout+jwt",
        change: (inout ValidationPolicy) -> Void = { _ in }
    ) throws -> VerifiedToken {
        var claims = Self.claims
        for (name, value) in changes { claims[name] = value }
        var header: JSONObject = [:]
        header["typ"] = type.map(JSONValue.string)
        var policy = ValidationPolicy.logoutToken(issuer: "https://id.example", clientID: "shop")
        policy.currentDate = { Date(timeIntervalSince1970: 1_000_000_060) }
        change(&policy)
        let token = try JWTGenerator(header: header, payload: claims, signingService: key).token()
        return try JWTVerifier(key: key.verificationKey, policy: policy).verify(token)
    }

    @Test("Accepts a token for a user, a session or both", arguments: [[], ["sub"], ["sid"]])
    func accepted(without names: [String]) throws {
        let token = try verify(Dictionary(uniqueKeysWithValues: names.map { ($0, nil) }))
        #expect(token.registered.subject == (names == ["sub"] ? nil : "ada"))
        #expect(token.claims["sid"] == (names == ["sid"] ? nil : "s1"))
    }

    @Test("Accepts the recommended type, JWT or none, unless the policy requires it")
    func types() throws {
        for type in ["logout+jwt", "application/logout+jwt", "JWT", nil] { _ = try verify(type: type) }
        for type in ["at+jwt", "id+jwt"] {
            #expect(throws: TokenError(.typeMismatch, "")) { try verify(type: type) }
        }
        #expect(throws: TokenError(.typeMismatch, "")) { try verify(type: "JWT") { $0.type = "logout+jwt" } }
    }

    @Test("Rejects a token that lacks a required claim", arguments: ["iss", "aud", "iat", "exp", "jti", "events"])
    func missing(name: String) {
        let error = #expect(throws: TokenError.self) { try verify([name: nil]) }
        let codes: [TokenError.Code] = [.missingClaim, .issuerMismatch, .audienceMismatch]
        #expect(error.map { codes.contains($0.code) } == true, "\(String(describing: error))")
    }

    @Test(
        "Rejects other tokens, such as an ID token",
        .shows("G16", "OpenID Connect Back-Channel Logout 1.0 §2.4, §2.6"),
        arguments: [
            (["nonce": "n"], .prohibitedClaim), (["sub": nil, "sid": nil], .checkFailed), (["sid": ""], .checkFailed),
            (["sub": nil, "sid": 7], .checkFailed), (["events": .string(event)], .checkFailed),
            (["events": ["http://schemas.openid.net/event/other": [:]]], .checkFailed),
            (["events": .object(JSONObject([(event, .bool(true))]))], .checkFailed),
            (["iss": "https://other.example"], .issuerMismatch), (["aud": "other"], .audienceMismatch),
            (["aud": ["shop", "other"]], .audienceMismatch), (["exp": 999_999_999], .expired),
        ] as [([String: JSONValue?], TokenError.Code)]
    )
    func others(changes: [String: JSONValue?], expected: TokenError.Code) {
        #expect(code { try verify(changes) } == expected)
    }

    @Test("A token ends a session once", .shows("G16", "OpenID Connect Back-Channel Logout 1.0 §2.4, §2.6"))
    func once() async throws {
        var policy = ValidationPolicy.logoutToken(issuer: "https://id.example", clientID: "shop")
        policy.currentDate = { Date(timeIntervalSince1970: 1_000_000_060) }
        let token = try JWTGenerator(header: ["typ": "logout+jwt"], payload: Self.claims, signingService: key).token()
        let verifier = JWTVerifier(key: key.verificationKey, policy: policy)
        let cache = InMemoryReplayCache()
        _ = try await verifier.verify(token, onceIn: cache)
        await #expect(throws: TokenError(.replayed, "")) { try await verifier.verify(token, onceIn: cache) }
    }
}
