import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Claim helpers", .computing)
struct ClaimsTimesTests {
    private let date = Date(timeIntervalSince1970: 1_700_000_000.75)

    @Test("Times are whole seconds from the time of issue")
    func times() throws {
        var claims = RegisteredClaims()
        claims.setTimes(lifetime: try Duration(parsing: "15m"), issuedAt: date)
        #expect(claims.issuedAt == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(claims.expiration == Date(timeIntervalSince1970: 1_700_000_900))
        var object: JSONObject = ["sub": "a", "exp": 1]
        object.setTimes(lifetime: .seconds(900), issuedAt: date)
        #expect(object == ["sub": "a", "exp": 1_700_000_900, "iat": 1_700_000_000])
        #expect(JSONValue(date: date) == 1_700_000_000)
    }

    @Test("Random IDs have 128 bits and differ")
    func identifiers() throws {
        var seen: Set<String> = []
        for _ in 0..<100 {
            var claims = RegisteredClaims()
            try claims.setRandomJWTID()
            let identifier = try #require(claims.jwtID)
            #expect(try Base64URL.decode(identifier).count == 16)
            seen.insert(identifier)
        }
        var object = JSONObject()
        try object.setRandomJWTID()
        seen.insert(try #require(object["jti"]?.string))
        #expect(seen.count == 101)
    }

    @Test("Signs claims that are JSON text byte for byte, and rejects text that isn't strict JSON")
    func untouched() throws {
        let service = try ES256SigningService(key: Fixture.signingKey())
        let text = "{\r\n  \"sub\" : \"\\u0061\",\"exp\":1.7000001e9, \"a\":1.00 }"
        let token = try JWTGenerator(claimsJSON: Data(text.utf8), signingService: service).token()
        let verified = try Fixture.verifier().verify(token)
        #expect(verified.payload == Data(text.utf8))
        #expect(verified.claims.map(\.name) == ["sub", "exp", "a"])
        #expect(verified.claims["a"]?.number?.literal == "1.00")
        for bad in ["", "[]", "{", #"{"a":1,"a":2}"#, #"{"a":"\uD800"}"#, "{} "] {
            let generator = JWTGenerator(claimsJSON: Data(bad.utf8), signingService: service)
            #expect(code { try generator.token() } == (bad == "{} " ? nil : .unencodableContent))
        }
    }
}

@Suite("Durations in readable form", .computing)
struct DurationParsingTests {
    @Test(
        "Parses whole numbers with units, from the largest to the smallest",
        arguments: [
            ("15m", 900), ("2h30m", 9_000), ("1 day", 86_400), ("1 week 2 days", 777_600), ("90 seconds", 90),
            ("0s", 0), ("1d12h", 129_600), ("1 hour 1 min 1 sec", 3_661), ("2h 30m", 9_000), ("1w", 604_800),
            ("007s", 7), ("9223372036854775807s", Int64.max),
        ] as [(String, Int64)]
    )
    func read(text: String, seconds: Int64) throws {
        #expect(try Duration(parsing: text) == .seconds(seconds))
    }

    @Test(
        "Rejects anything else",
        arguments: [
            "", " ", "15", "m", "15 ", "15m ", " 15m", "-15m", "+15m", "1.5h", "1,5h", "15M", "15 M", "1y", "1 month",
            "1mo", "30m2h", "1h1h", "1h  1m", "1  h", "1h,1m", "1h and 1m", "15m\n", "1٣m", "15µs", "1ms",
            "9223372036854775808s", "9223372036854775807m", "9223372036854775807s1s", "15259284999w1d",
            "99999999999999999999999d", "1h1", "1 h 1", "１m", "1\u{A0}h",
        ]
    )
    func refused(text: String) {
        let expected: TokenError.Code? = text == "15259284999w1d" ? nil : .malformedDuration
        #expect(code { try Duration(parsing: text) } == expected)
    }
}
