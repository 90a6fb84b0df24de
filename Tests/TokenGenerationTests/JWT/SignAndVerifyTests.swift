import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@Suite("Signing and verifying", .computing)
struct SignAndVerifyTests {
    @Test("RFC 7515 A.3 verifies at its own time", .shows("RFC 7515 A.1–A.7"))
    func rfc7515A3() throws {
        let vector = try Vector.object("rfc7515-a3-es256")
        let keyJSON = try JSONSerialization.data(withJSONObject: #require(vector["key"]))
        let key = try VerificationKey(jwk: JWK(parsing: keyJSON))
        let policy = ValidationPolicy(issuer: "joe", currentDate: { Date(timeIntervalSince1970: 1_300_819_000) })
        let token = try JWTVerifier(key: key, policy: policy).verify(#require(vector["compact"] as? String))
        #expect(token.claims["http://example.com/is_root"] == true)
        #expect(token.registered.expiration == Date(timeIntervalSince1970: 1_300_819_380))
        #expect(token.header == ["alg": "ES256"])
    }

    @Test("Verifies a generated token", .shows("RFC 7519 §7.1, §7.2"))
    func roundTrip() throws {
        let service = try ES256SigningService.generate(keyID: "k1")
        let claims = RegisteredClaims(issuer: "me", expiration: Date(timeIntervalSinceNow: 60))
        let token = try JWTGenerator(claims: claims, signingService: service).token()
        let verifier = JWTVerifier(key: service.verificationKey, policy: ValidationPolicy(issuer: "me"))
        let verified = try verifier.verify(token)
        #expect(verified.header == ["alg": "ES256", "kid": "k1", "typ": "JWT"])
        #expect(verified.registered.issuer == "me")
    }

    @Test("The published JWK of a service verifies its tokens by their kid")
    func publishedSet() throws {
        let services = [try ES256SigningService.generate(keyID: "old"), try ES256SigningService.generate(keyID: "new")]
        let published = JWKSet(keys: services.map(\.verificationKey.jwk)).serialized()
        let verifier = try JWTVerifier(keys: JWKSet(parsing: published))
        for service in services {
            let claims = RegisteredClaims(subject: service.keyID, expiration: Date(timeIntervalSinceNow: 60))
            let token = try JWTGenerator(claims: claims, signingService: service).token()
            #expect(try verifier.verify(token).registered.subject == service.keyID)
        }
        let stranger = try ES256SigningService.generate(keyID: "other")
        let token = try JWTGenerator(payload: ["exp": 4_000_000_000], signingService: stranger).token()
        #expect(throws: TokenError(.unknownKey, "")) { try verifier.verify(token) }
    }
}

/// Tests the order of checks that "Token verification" in Docs/Architecture.md describes.
@Suite("Order of verification", .computing)
struct VerificationOrderTests {
    private let key: SigningKey
    private let verifier: JWTVerifier

    init() throws {
        key = try SigningKey.generate(.es256)
        var policy = ValidationPolicy(issuer: "i", audience: "a")
        policy.type = .absentOrJWT
        policy.subject = "s"
        policy.requiredClaims = ["needed"]
        policy.prohibitedClaims = ["unwanted"]
        policy.checks = [ClaimsCheck("mine") { $0.claims["mine"] == true }]
        verifier = JWTVerifier(key: key.verificationKey, policy: policy)
    }

    private func part(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }

    private func signed(_ header: String, _ payload: String) throws -> String {
        try Fixture.token(header: header, payload: payload, key: key)
    }

    /// Returns tokens that each fix one error of the previous token and still have all later ones.
    private func tokens() throws -> [String] {
        let bad = #"{"alg":"ES256","typ":"at+jwt"}"#
        let good = #"{"alg":"ES256","typ":"JWT"}"#
        let noSignature = Base64URL.encode([UInt8](repeating: 0, count: 64))
        let exp = "\"exp\":4102444800"
        return [
            String(repeating: "!", count: 70_000),
            "!.!",
            "\(part("[]")).!.!",
            "\(part(#"{"alg":"HS256","crit":["x"],"x":1,"typ":"at+jwt"}"#)).!.!",
            "\(part(#"{"alg":"HS256","typ":"at+jwt"}"#)).!.!",
            "\(part(bad)).\(part("[]")).\(noSignature)",
            try signed(bad, "[]"),
            try signed(bad, #"{"exp":"soon","iss":"x","sub":"x","aud":"x","unwanted":1}"#),
            try signed(good, #"{"exp":"soon","iss":"x","sub":"x","aud":"x","unwanted":1}"#),
            try signed(good, #"{"exp":1,"iss":"x","sub":"x","aud":"x","unwanted":1}"#),
            try signed(good, #"{"exp":1,"iss":"x","sub":"x","aud":"x","needed":1,"unwanted":1}"#),
            try signed(good, #"{"exp":1,"iss":"x","sub":"x","aud":"x","needed":1}"#),
            try signed(good, "{\(exp),\"iss\":\"x\",\"sub\":\"x\",\"aud\":\"x\",\"needed\":1}"),
            try signed(good, "{\(exp),\"iss\":\"i\",\"sub\":\"x\",\"aud\":\"x\",\"needed\":1}"),
            try signed(good, "{\(exp),\"iss\":\"i\",\"sub\":\"s\",\"aud\":\"x\",\"needed\":1}"),
            try signed(good, "{\(exp),\"iss\":\"i\",\"sub\":\"s\",\"aud\":\"a\",\"needed\":1}"),
        ]
    }

    @Test(
        "Rejects a token with every error for its size first, then for each next error, down to the custom checks",
        .shows("RFC 7519 §7.1, §7.2")
    )
    func order() throws {
        let refusals = try tokens().map { token in code { try verifier.verify(token) } }
        let expected: [TokenError.Code] = [
            .tooLarge, .malformedToken, .malformedToken, .criticalHeaderUnsupported, .algorithmMismatch,
            .signatureInvalid, .malformedToken, .typeMismatch, .malformedClaim, .missingClaim, .prohibitedClaim,
            .expired, .issuerMismatch, .subjectMismatch, .audienceMismatch, .checkFailed,
        ]
        #expect(refusals == expected)
        let mended = "{\"exp\":4102444800,\"iss\":\"i\",\"sub\":\"s\",\"aud\":\"a\",\"needed\":1,\"mine\":true}"
        #expect(try verifier.verify(signed(#"{"alg":"ES256","typ":"JWT"}"#, mended)).claims["mine"] == true)
    }
}

@Suite("Single changes of a token", .computing)
struct BitFlipTests {
    private static let refusals: Set<TokenError.Code> = [
        .malformedToken, .algorithmMismatch, .signatureInvalid, .criticalHeaderUnsupported,
    ]

    @Test(
        "Rejects every single-bit change of a valid token of each algorithm",
        .shows("D17", "RFC 7519 §7.1, §7.2", "RFC 8725bis §3.3 (every operation)"),
        arguments: JWSAlgorithm.implemented
    )
    func bits(algorithm: JWSAlgorithm) throws {
        let key = try Fixture.key(for: algorithm)
        let token = try key.sign(["exp": 4_000_000_000])
        let verifier = JWTVerifier(key: key.verificationKey)
        #expect(try verifier.verify(token).claims == ["exp": 4_000_000_000])
        let octets = Array(token.utf8)
        for place in octets.indices {
            for bit in 0..<8 {
                var changed = octets
                changed[place] ^= 1 << bit
                let refusal = code { try verifier.verify(String(decoding: changed, as: UTF8.self)) }
                #expect(refusal.map(Self.refusals.contains) == true, "bit \(bit) of character \(place)")
            }
        }
    }

    @Test(
        "Rejects a token with a removed end, another character or an inserted one",
        arguments: JWSAlgorithm.implemented
    )
    func lengths(algorithm: JWSAlgorithm) throws {
        let key = try Fixture.key(for: algorithm)
        let token = try Fixture.token(header: #"{"alg":"\#(algorithm)"}"#, payload: #"{"exp":4000000000}"#, key: key)
        let verifier = JWTVerifier(key: key.verificationKey)
        #expect(code { try verifier.verify(token) } == nil)
        let octets = Array(token.utf8)
        for place in octets.indices {
            let cut = String(decoding: octets[..<place], as: UTF8.self)
            #expect(code { try verifier.verify(cut) }.map(Self.refusals.contains) == true)
            var changed = octets
            changed[place] = octets[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let other = String(decoding: changed, as: UTF8.self)
            #expect(code { try verifier.verify(other) }.map(Self.refusals.contains) == true)
            for addition in [UInt8(ascii: "A"), UInt8(ascii: "."), UInt8(ascii: "="), 0] {
                let longer = String(decoding: octets[..<place] + [addition] + octets[place...], as: UTF8.self)
                #expect(code { try verifier.verify(longer) }.map(Self.refusals.contains) == true)
            }
        }
    }
}
