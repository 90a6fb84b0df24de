import Foundation
import Testing
import TokenGeneration

@Suite("ValidationPolicy")
struct ValidationPolicyTests {
    private func result(_ payload: String, _ policy: ValidationPolicy) throws -> TokenError.Code? {
        let token = try Fixture.token(payload: payload)
        let verifier = try Fixture.verifier(policy)
        return code { try verifier.verify(token) }
    }

    @Test(
        "A token is good before exp and no longer on it, with the leeway in its favor",
        arguments: [
            (0, "1700000001", nil), (0, "1700000000", .expired), (0, "1700000000.5", nil), (0, "1699999999", .expired),
            (60, "1699999941", nil), (60, "1699999940.5", nil), (60, "1699999940", .expired),
            (60, "1699999939", .expired),
            (-60, "1700000001", nil), (-60, "1700000000", .expired),
        ] as [(Int, String, TokenError.Code?)]
    )
    func expiration(leeway: Int, exp: String, expected: TokenError.Code?) throws {
        #expect(try result(#"{"exp":\#(exp)}"#, ValidationPolicy(leeway: .seconds(leeway))) == expected)
    }

    @Test(
        "A token is good from nbf on, with the leeway in its favor",
        arguments: [
            (0, "1700000000", nil), (0, "1700000000.5", .notYetValid), (0, "1700000001", .notYetValid),
            (60, "1700000060", nil),
            (60, "1700000061", .notYetValid), (60, "1699999999", nil),
        ] as [(Int, String, TokenError.Code?)]
    )
    func notBefore(leeway: Int, nbf: String, expected: TokenError.Code?) throws {
        #expect(
            try result(#"{"exp":1800000000,"nbf":\#(nbf)}"#, ValidationPolicy(leeway: .seconds(leeway))) == expected
        )
    }

    @Test(
        "iat may be in the future by the leeway, and in the past by the maximum age and the leeway",
        arguments: [
            ("1700000000", nil, nil), ("1700000060", nil, nil), ("1700000061", nil, .issuedInFuture), ("1", nil, nil),
            ("1699999640", 300, nil), ("1699999639", 300, .tooOld), ("1699999639.5", 300, .tooOld),
            ("1700000061", 300, .issuedInFuture),
        ] as [(String, Int?, TokenError.Code?)]
    )
    func issuedAt(iat: String, maximumAge: Int?, expected: TokenError.Code?) throws {
        let policy = ValidationPolicy(maximumAge: maximumAge.map { .seconds($0) })
        #expect(try result(#"{"exp":1800000000,"iat":\#(iat)}"#, policy) == expected)
    }

    @Test("What is missing is refused, what is not asked for is not needed")
    func missing() throws {
        let exp = #"{"exp":1800000000}"#
        #expect(try result("{}", ValidationPolicy()) == .missingClaim)
        #expect(try result("{}", ValidationPolicy(expiration: .optional)) == nil)
        #expect(try result(#"{"exp":1}"#, ValidationPolicy(expiration: .optional)) == .expired)
        #expect(try result(exp, ValidationPolicy()) == nil)
        #expect(try result(exp, ValidationPolicy(issuer: "i")) == .missingClaim)
        #expect(try result(exp, ValidationPolicy(audience: "a")) == .missingClaim)
        #expect(try result(exp, ValidationPolicy(subject: "s")) == .missingClaim)
        #expect(try result(exp, ValidationPolicy(maximumAge: .seconds(1))) == .missingClaim)
        #expect(try result(exp, ValidationPolicy(requiredClaims: ["exp"])) == nil)
        #expect(try result(exp, ValidationPolicy(requiredClaims: ["exp", "role"])) == .missingClaim)
        #expect(
            try result(#"{"exp":1800000000,"role":null}"#, ValidationPolicy(requiredClaims: ["role"])) == .missingClaim
        )
        #expect(try result(#"{"exp":1800000000,"role":false}"#, ValidationPolicy(requiredClaims: ["role"])) == nil)
        let named = try #require(
            error {
                try Fixture.verifier(ValidationPolicy(requiredClaims: ["role"])).verify(Fixture.token(payload: exp))
            }
        )
        #expect(named.message.contains("“role”"))
    }

    @Test(
        "Issuer and subject are compared code point by code point",
        arguments: [
            ("https://a", "https://a", true), ("https://a", "https://a/", false), ("https://a/", "https://a", false),
            ("https://A", "https://a", false), ("", "https://a", false), ("https://a.evil", "https://a", false),
            ("K", "\u{212A}", false), ("\u{E9}", "e\u{301}", false), ("\u{E9}", "\u{E9}", true), (" a", "a", false),
        ]
    )
    func exactStrings(found: String, expected: String, isAccepted: Bool) throws {
        let claims: JSONObject = [
            "exp": 1_800_000_000, "iss": .string(found), "sub": .string(found),
        ]
        let payload = claims.serialized()
        let addressed = #"{"exp":1800000000,"aud":"\#(found)"}"#
        #expect(try result(payload, ValidationPolicy(issuer: expected)) == (isAccepted ? nil : .issuerMismatch))
        #expect(try result(payload, ValidationPolicy(subject: expected)) == (isAccepted ? nil : .subjectMismatch))
        #expect(try result(addressed, ValidationPolicy(audience: expected)) == (isAccepted ? nil : .audienceMismatch))
    }

    @Test(
        "The audience is the string or one of the array",
        arguments: [
            (#""a""#, nil), (#"["a"]"#, nil), (#"["b","a"]"#, nil), (#""b""#, .audienceMismatch),
            (#"["b","c"]"#, .audienceMismatch),
            (#""a b""#, .audienceMismatch), (#""A""#, .audienceMismatch), (#"["aa",""]"#, .audienceMismatch),
        ] as [(String, TokenError.Code?)]
    )
    func audience(aud: String, expected: TokenError.Code?) throws {
        #expect(try result(#"{"exp":1800000000,"aud":\#(aud)}"#, ValidationPolicy(audience: "a")) == expected)
        // Whoever is in no audience must refuse a token that has one: RFC 7519 §4.1.3.
        #expect(try result(#"{"exp":1800000000,"aud":\#(aud)}"#, ValidationPolicy()) == .audienceMismatch)
        var unchecked = ValidationPolicy()
        unchecked.audience = .skipAudienceCheck
        #expect(try result(#"{"exp":1800000000,"aud":\#(aud)}"#, unchecked) == nil)
    }

    @Test("Extreme policies don't trap")
    func extremes() throws {
        for duration in [Duration.seconds(Int64.max), .seconds(Int64.min), .zero, .nanoseconds(1)] {
            _ = try result(
                #"{"exp":1800000000,"iat":0,"nbf":0}"#,
                ValidationPolicy(leeway: duration, maximumAge: duration)
            )
        }
        #expect(try result("{}", ValidationPolicy(maximumTokenSize: -1)) == .tooLarge)
    }

    @Test("Without a clock of the caller's, the time is now")
    func defaultClock() throws {
        let service = try ES256SigningService.generate()
        let verifier = JWTVerifier(key: service.verificationKey)
        for (offset, expected) in [(30.0, nil), (-30.0, nil), (-120.0, .expired)] as [(Double, TokenError.Code?)] {
            let claims = RegisteredClaims(expiration: Date(timeIntervalSinceNow: offset))
            let token = try JWTGenerator(claims: claims, signingService: service).token
            #expect(code { try verifier.verify(token) } == expected)
        }
    }
}
