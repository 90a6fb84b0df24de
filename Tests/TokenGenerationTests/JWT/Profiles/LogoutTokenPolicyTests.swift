import Foundation
import Testing
import TokenGeneration

@Suite("ValidationPolicy: logout tokens")
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

    @Test("Rejects other tokens, such as an ID token")
    func others() {
        let cases: [(String, [String: JSONValue?], TokenError.Code)] = [
            ("a nonce", ["nonce": "n"], .prohibitedClaim),
            ("neither user nor session", ["sub": nil, "sid": nil], .checkFailed),
            ("an empty session", ["sid": ""], .checkFailed),
            ("a session that isn't text", ["sub": nil, "sid": 7], .checkFailed),
            ("another event", ["events": ["http://schemas.openid.net/event/other": [:]]], .checkFailed),
            ("events as text", ["events": .string(Self.event)], .checkFailed),
            (
                "an event that isn't an object", ["events": .object(JSONObject([(Self.event, .bool(true))]))],
                .checkFailed
            ),
            ("another issuer", ["iss": "https://other.example"], .issuerMismatch),
            ("another client", ["aud": "other"], .audienceMismatch),
            ("several clients", ["aud": ["shop", "other"]], .audienceMismatch),
            ("an expired token", ["exp": 999_999_999], .expired),
        ]
        for (what, changes, code) in cases {
            let error = #expect(throws: TokenError.self, "\(what)") { try verify(changes) }
            #expect(error?.code == code, "\(what)")
        }
    }

    @Test("A token ends a session once")
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
