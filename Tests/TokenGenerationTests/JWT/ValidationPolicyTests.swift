import Foundation
import Synchronization
import TestSupport
import Testing
import TokenGeneration

@Suite("ValidationPolicy", .computing)
struct ValidationPolicyTests {
    private func result(_ payload: String, _ policy: ValidationPolicy) throws -> TokenError.Code? {
        let token = try Fixture.token(payload: payload)
        let verifier = try Fixture.verifier(policy)
        return code { try verifier.verify(token) }
    }

    @Test(
        "A token is valid before exp but not at exp, with the leeway in its favor",
        .shows("J19", "RFC 7519 §4.1.1–4.1.7"),
        arguments: [
            (0, "1700000001", nil), (0, "1700000000", .expired), (0, "1700000000.5", nil), (0, "1699999999", .expired),
            (60, "1699999941", nil), (60, "1699999940.5", nil), (60, "1699999940", .expired),
            (60, "1699999939", .expired), (-60, "1700000001", nil), (-60, "1700000000", .expired),
        ] as [(Int, String, TokenError.Code?)]
    )
    func expiration(leeway: Int, exp: String, expected: TokenError.Code?) throws {
        #expect(try result(#"{"exp":\#(exp)}"#, ValidationPolicy(leeway: .seconds(leeway))) == expected)
    }

    @Test(
        "A token is valid from nbf on, with the leeway in its favor",
        .shows("J19", "RFC 7519 §4.1.1–4.1.7"),
        arguments: [
            (0, "1700000000", nil), (0, "1700000000.5", .notYetValid), (0, "1700000001", .notYetValid),
            (60, "1700000060", nil), (60, "1700000061", .notYetValid), (60, "1699999999", nil),
        ] as [(Int, String, TokenError.Code?)]
    )
    func notBefore(leeway: Int, nbf: String, expected: TokenError.Code?) throws {
        let policy = ValidationPolicy(leeway: .seconds(leeway))
        #expect(try result(#"{"exp":1800000000,"nbf":\#(nbf)}"#, policy) == expected)
    }

    @Test(
        "iat may be in the future by the leeway, and in the past by the maximum age plus the leeway",
        .shows("J20"),
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

    @Test(
        "Says by how much a token misses its times",
        arguments: [
            (#"{"exp":1700000000}"#, "the token expired less than 1 s ago"),
            (#"{"exp":1699999881}"#, "the token expired 119 s ago"),
            (#"{"exp":1699999880}"#, "the token expired 2 min ago"),
            (#"{"exp":1699992800}"#, "the token expired 2 h ago"),
            (#"{"exp":1699827200}"#, "the token expired 2 days ago"),
            (#"{"exp":-62135596800}"#, "the token expired 738837 days ago"),
            (#"{"exp":1800000000,"nbf":1700000012.5}"#, "the claim “nbf” is 12 s in the future"),
            (
                #"{"exp":253402300799,"iat":253402300798}"#,
                "the claim “iat” is 2913221 days in the future; check the clocks"
            ),
            (#"{"exp":1700000010,"iat":1699999000}"#, "the token is 16 min old, but the policy accepts 5 min"),
            (#"{"exp":1700007200,"iat":1700000000}"#, "the token's lifetime is 2 h, but the policy accepts 60 min"),
        ]
    )
    func times(payload: String, message: String) throws {
        var policy = ValidationPolicy(leeway: .zero)
        if payload.contains("iat") {
            policy.maximumAge = .seconds(300)
            policy.maximumLifetime = .seconds(3600)
        }
        let verifier = try Fixture.verifier(policy)
        let token = try Fixture.token(payload: payload)
        let error = #expect(throws: TokenError.self) { try verifier.verify(token) }
        #expect(error?.message == message)
    }

    @Test("Rejects missing claims that are required, and only those")
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
        let role = ValidationPolicy(requiredClaims: ["role"])
        #expect(try result(#"{"exp":1800000000,"role":null}"#, role) == .missingClaim)
        #expect(try result(#"{"exp":1800000000,"role":false}"#, role) == nil)
        let named = try #require(error { try Fixture.verifier(role).verify(Fixture.token(payload: exp)) })
        #expect(named.message.contains("“role”"))
    }

    @Test(
        "Compares issuer and subject code point by code point",
        .shows("D10", "RFC 7519 §7.3", "RFC 8725bis §3.8 (subject)"),
        arguments: [
            ("https://a", "https://a", true), ("https://a", "https://a/", false), ("https://a/", "https://a", false),
            ("https://A", "https://a", false), ("", "https://a", false), ("https://a.evil", "https://a", false),
            ("K", "\u{212A}", false), ("\u{E9}", "e\u{301}", false), ("\u{E9}", "\u{E9}", true), (" a", "a", false),
        ]
    )
    func exactStrings(found: String, expected: String, isAccepted: Bool) throws {
        func refusal(_ name: String, _ policy: ValidationPolicy) throws -> TokenError.Code? {
            let claims: JSONObject = ["exp": 1_800_000_000, name: .string(found)]
            return try result(claims.serialized(), policy)
        }
        let subjectCode: TokenError.Code = found.isEmpty ? .malformedClaim : .subjectMismatch
        let issuer = try refusal("iss", ValidationPolicy(issuer: .exactly(expected)))
        #expect(issuer == (isAccepted ? nil : .issuerMismatch))
        let subject = try refusal("sub", ValidationPolicy(subject: .exactly(expected)))
        #expect(subject == (isAccepted ? nil : subjectCode))
        let audience = try refusal("aud", ValidationPolicy(audience: .contains(expected)))
        #expect(audience == (isAccepted ? nil : .audienceMismatch))
    }

    @Test(
        "A policy without an issuer rejects a token with one, unless it skips the check",
        .shows("K12", "RFC 8725bis §3.8 (issuer)")
    )
    func noIssuer() throws {
        let (with, without) = (#"{"exp":1800000000,"iss":"https://a"}"#, #"{"exp":1800000000}"#)
        #expect(try result(with, ValidationPolicy()) == .issuerMismatch)
        #expect(try result(with, ValidationPolicy(issuer: .absent)) == .issuerMismatch)
        #expect(try result(without, ValidationPolicy()) == nil)
        for payload in [with, without] {
            #expect(try result(payload, ValidationPolicy(issuer: .skipIssuerCheck)) == nil)
        }
        #expect(try result(without, ValidationPolicy(issuer: "https://a")) == .missingClaim)
    }

    @Test(
        "Rules without names or with an empty name reject everything, and any rule an empty subject",
        .shows("K12", "K16", "RFC 8725bis §3.8 (subject)")
    )
    func emptyRules() throws {
        for iss in ["https://a", ""] {
            let payload = #"{"exp":1800000000,"iss":"\#(iss)"}"#
            for rule in [IssuerRule.oneOf([]), .oneOf([""]), .exactly(""), ""] {
                #expect(try result(payload, ValidationPolicy(issuer: rule)) == .issuerMismatch)
            }
        }
        for aud in ["a", ""] {
            let payload = #"{"exp":1800000000,"aud":"\#(aud)"}"#
            for rule in [AudienceRule.containsAny(of: []), .containsAll(of: []), .contains(""), .absentOrContains("")] {
                #expect(try result(payload, ValidationPolicy(audience: rule)) == .audienceMismatch)
            }
        }
        let subject = #"{"exp":1800000000,"sub":"a"}"#
        #expect(try result(subject, ValidationPolicy(subject: .exactly(""))) == .subjectMismatch)
        for rule in [SubjectRule.any, "", "a"] {
            let policy = ValidationPolicy(subject: rule)
            #expect(try result(#"{"exp":1800000000,"sub":""}"#, policy) == .malformedClaim)
        }
    }

    @Test("An audience may be absent if the rule allows it, but must match if it's present")
    func absentOrContains() throws {
        let policy = ValidationPolicy(audience: .absentOrContains("a"))
        for (aud, expected) in [
            ("", nil), (#","aud":"a""#, nil), (#","aud":["b","a"]"#, nil), (#","aud":"b""#, .audienceMismatch),
            (#","aud":[""]"#, .audienceMismatch),
        ] as [(String, TokenError.Code?)] {
            #expect(try result(#"{"exp":1800000000\#(aud)}"#, policy) == expected)
        }
    }

    @Test("All checks of a token use one reading of the clock")
    func oneReading() throws {
        let readings = Mutex(0)
        var policy = ValidationPolicy(
            maximumAge: .seconds(60),
            currentDate: {
                Date(
                    timeIntervalSince1970: Double(Fixture.now)
                        + readings.withLock { count in
                            count += 1
                            return Double(count) * 1_000_000
                        }
                )
            }
        )
        let dates = Mutex<[Date]>([])
        policy.checks = [
            ClaimsCheck("date") { subject in
                dates.withLock { $0.append(subject.date) }
                return true
            }
        ]
        let time = Fixture.now + 1_000_000
        let payload = #"{"exp":\#(time + 1),"nbf":\#(time),"iat":\#(time)}"#
        let key = try Fixture.signingKey().verificationKey
        _ = try JWTVerifier(key: key, policy: policy).verify(Fixture.token(payload: payload))
        #expect(readings.withLock { $0 } == 1)
        #expect(dates.withLock { $0 } == [Date(timeIntervalSince1970: Double(time))])
    }

    @Test(
        "The audience is the string or an element of the array",
        .shows("RFC 7519 §4.1.1–4.1.7", "RFC 8725bis §3.9"),
        arguments: [
            (#""a""#, nil), (#"["a"]"#, nil), (#"["b","a"]"#, nil), (#""b""#, .audienceMismatch),
            (#"["b","c"]"#, .audienceMismatch),
            (#""a b""#, .audienceMismatch), (#""A""#, .audienceMismatch), (#"["aa",""]"#, .audienceMismatch),
        ] as [(String, TokenError.Code?)]
    )
    func audience(aud: String, expected: TokenError.Code?) throws {
        #expect(try result(#"{"exp":1800000000,"aud":\#(aud)}"#, ValidationPolicy(audience: "a")) == expected)
        // A receiver that isn't in the audience must reject the token: RFC 7519 §4.1.3.
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

    @Test("The default clock is the system clock")
    func defaultClock() throws {
        let service = try ES256SigningService.generate()
        let verifier = JWTVerifier(key: service.verificationKey)
        for (offset, expected) in [(30.0, nil), (-30.0, nil), (-120.0, .expired)] as [(Double, TokenError.Code?)] {
            let claims = RegisteredClaims(expiration: Date(timeIntervalSinceNow: offset))
            let token = try JWTGenerator(claims: claims, signingService: service).token()
            #expect(code { try verifier.verify(token) } == expected)
        }
    }
}

@Suite("ValidationPolicy's rules", .computing)
struct ValidationPolicyRuleTests {
    private func result(
        _ payload: String,
        header: String = #"{"alg":"ES256"}"#,
        _ change: (inout ValidationPolicy) -> Void
    ) throws -> TokenError.Code? {
        let token = try Fixture.token(header: header, payload: payload)
        var policy = ValidationPolicy()
        change(&policy)
        let verifier = try Fixture.verifier(policy)
        return code { try verifier.verify(token) }
    }

    @Test(
        "The audience can be any or all of several, or absent",
        .shows("D9", "RFC 8725bis §3.9"),
        arguments: [
            (.containsAny(of: ["a", "b"]), #""b""#, nil), (.containsAny(of: ["a", "b"]), #"["c"]"#, .audienceMismatch),
            (.containsAny(of: []), #""a""#, .audienceMismatch), (.containsAll(of: ["a", "b"]), #"["b","c","a"]"#, nil),
            (.containsAll(of: ["a", "b"]), #""a""#, .audienceMismatch),
            (.containsAll(of: []), #""a""#, .audienceMismatch),
            (.contains("a"), #"["a","b"]"#, nil), ("a", #""a""#, nil), (.absent, #""a""#, .audienceMismatch),
            (.absent, #""""#, .audienceMismatch), (.skipAudienceCheck, #""a""#, nil),
            (.skipAudienceCheck, "[]", .malformedClaim), (.absent, nil, nil), (.skipAudienceCheck, nil, nil),
            (.containsAny(of: ["a"]), nil, .missingClaim), (.containsAll(of: ["a"]), nil, .missingClaim),
        ] as [(AudienceRule, String?, TokenError.Code?)]
    )
    func audience(rule: AudienceRule, aud: String?, expected: TokenError.Code?) throws {
        let member = aud.map { #","aud":\#($0)"# } ?? ""
        #expect(try result(#"{"exp":1800000000\#(member)}"#) { $0.audience = rule } == expected)
    }

    @Test(
        "The issuer is exactly one of several",
        .shows("D10"),
        arguments: [
            (#""https://a""#, nil), (#""https://b""#, nil), (#""https://a,https://b""#, .issuerMismatch),
            (#""https://""#, .issuerMismatch), (#"["https://a"]"#, .malformedClaim),
            (#"{"0":"https://a"}"#, .malformedClaim),
            ("null", .malformedClaim), (#""""#, .issuerMismatch),
        ] as [(String, TokenError.Code?)]
    )
    func issuers(iss: String, expected: TokenError.Code?) throws {
        let payload = #"{"exp":1800000000,"iss":\#(iss)}"#
        #expect(try result(payload) { $0.issuer = .oneOf(["https://a", "https://b"]) } == expected)
    }

    @Test(
        "Compares typ as a media type",
        .shows("D11", "J21", "RFC 7515 §4.1.9"),
        arguments: [
            (#""at+jwt""#, nil), (#""AT+JWT""#, nil), (#""application/at+jwt""#, nil), (#""Application/At+Jwt""#, nil),
            (#""JWT""#, .typeMismatch), (#""at+jwt ""#, .typeMismatch), (#""application/x/at+jwt""#, .typeMismatch),
            (#""text/at+jwt""#, .typeMismatch), (#""/at+jwt""#, .typeMismatch), (#""""#, .typeMismatch),
            ("1", .malformedToken), ("null", .malformedToken), (#"["at+jwt"]"#, .malformedToken),
        ] as [(String, TokenError.Code?)]
    )
    func type(typ: String, expected: TokenError.Code?) throws {
        let header = #"{"alg":"ES256","typ":\#(typ)}"#
        for rule: TypeRule in ["at+jwt", "application/at+jwt", .oneOf(["x", "AT+jwt"]), .absentOrOneOf(["at+jwt"])] {
            #expect(try result(#"{"exp":1800000000}"#, header: header) { $0.type = rule } == expected)
        }
    }

    @Test("Without typ, only rules that allow its absence accept the token", .shows("RFC 7519 §5.1, §5.2"))
    func noType() throws {
        let payload = #"{"exp":1800000000}"#
        for (rule, expected) in [
            (.any, nil), (.absentOrJWT, nil), (.exactly("JWT"), .typeMismatch), (.oneOf([]), .typeMismatch),
            (.absentOrOneOf([]), nil),
        ] as [(TypeRule, TokenError.Code?)] {
            #expect(try result(payload) { $0.type = rule } == expected)
        }
    }

    @Test("Rejects prohibited claims and lifetimes that are too long", .shows("J20"))
    func prohibitedAndLifetime() throws {
        let payload = #"{"exp":1700000100,"iat":1700000000,"x":null}"#
        #expect(try result(payload) { $0.prohibitedClaims = ["x"] } == .prohibitedClaim)
        #expect(try result(payload) { $0.prohibitedClaims = ["y"] } == nil)
        #expect(try result(payload) { $0.maximumLifetime = .seconds(100) } == nil)
        #expect(try result(payload) { $0.maximumLifetime = .seconds(40) } == nil)
        #expect(try result(payload) { $0.maximumLifetime = .seconds(39) } == .lifetimeTooLong)
        let endless: (inout ValidationPolicy) -> Void = {
            $0.expiration = .optional
            $0.maximumLifetime = .seconds(39)
        }
        #expect(try result("{}", endless) == .missingClaim)
    }

    @Test("Custom checks get typed claims, and errors have the name of the check")
    func checks() throws {
        struct Broken: Error {}
        let payload = #"{"exp":1800000000,"tenant":"acme","sub":"u"}"#
        let tenant = ClaimsCheck("tenant") { $0.claims["tenant"] == "acme" && $0.registered.subject == "u" }
        #expect(try result(payload) { $0.checks = [tenant] } == nil)
        let token = try Fixture.token(payload: #"{"exp":1800000000,"tenant":"s3cr3t"}"#)
        let refused = try Fixture.verifier(ValidationPolicy(checks: [tenant]))
        let refusal = try #require(error { try refused.verify(token) })
        #expect(refusal.code == .checkFailed)
        #expect(refusal.message.contains("“tenant”") && !refusal.message.contains("s3cr3t"))
        let throwing = try Fixture.verifier(ValidationPolicy(checks: [ClaimsCheck("broken") { _ in throw Broken() }]))
        #expect(error { try throwing.verify(token) }?.code == .checkFailed)
        #expect(error { try throwing.verify(token) }?.cause is Broken)
        let own = ClaimsCheck("own") { _ in throw TokenError(.subjectMismatch, "not you") }
        #expect(try result(payload) { $0.checks = [tenant, own] } == .subjectMismatch)
        // Other checks run first.
        #expect(try result(#"{"exp":1}"#) { $0.checks = [own] } == .expired)
    }

    @Test("Uses the caller's limits on depth and members")
    func limits() throws {
        let deep = #"{"exp":1800000000,"a":[[[1]]]}"#
        #expect(try result(deep) { $0.limits.depth = 4 } == nil)
        #expect(try result(deep) { $0.limits.depth = 3 } == .tooLarge)
        let wide = #"{"exp":1800000000,"a":1,"b":2}"#
        #expect(try result(wide) { $0.limits.memberCount = 3 } == nil)
        #expect(try result(wide) { $0.limits.memberCount = 2 } == .tooLarge)
        let nested = "{\"exp\":1800000000,\"a\":" + String(repeating: "[", count: 20_000) + "}"
        #expect(try result(nested) { _ in } == .tooLarge)
    }
}

extension ValidationPolicy {
    fileprivate init(checks: [ClaimsCheck]) {
        self.init()
        self.checks = checks
    }
}
