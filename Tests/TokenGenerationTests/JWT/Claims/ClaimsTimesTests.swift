import Foundation
import Testing
import TokenGeneration

@Suite("Claim helpers", .serialized)
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
        #expect(JSONValue(date: date) == 1_700_000_000.75)
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
