import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Registered claims", .computing)
struct RegisteredClaimsTests {
    @Test("All claims round-trip with any date strategy of the coder", .shows("RFC 7519 §4.1.1–4.1.7"))
    func roundTrip() throws {
        let claims = RegisteredClaims(
            issuer: "i",
            subject: "s",
            audience: ["a", "b"],
            expiration: Date(timeIntervalSince1970: 1_700_000_000),
            notBefore: Date(timeIntervalSince1970: 1_600_000_000),
            issuedAt: Date(timeIntervalSince1970: 0),
            jwtID: "j"
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        encoder.dateEncodingStrategy = .iso8601
        let data = try encoder.encode(claims)
        #expect(
            String(decoding: data, as: UTF8.self)
                == #"{"aud":["a","b"],"exp":1700000000,"iat":0,"iss":"i","jti":"j","nbf":1600000000,"sub":"s"}"#
        )
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        #expect(try decoder.decode(RegisteredClaims.self, from: data) == claims)
    }

    @Test(
        "Rejects dates outside the years 1 to 9999 when encoding and decoding",
        .shows("K9"),
        arguments: [
            -62_135_596_801.0, 253_402_300_800, 1e18, -1e300,
        ]
    )
    func years(seconds: Double) throws {
        struct Own: Codable { var at: Date }
        let date = Date(timeIntervalSince1970: seconds)
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(RegisteredClaims(expiration: date)) }
        #expect(code { try JSONObject(encoding: RegisteredClaims(notBefore: date)) } == .unencodableContent)
        #expect(code { try JSONObject(encoding: Own(at: date)) } == .unencodableContent)
        let number = try #require(JSONNumber(seconds))
        #expect(code { try (["at": .number(number)] as JSONObject).decode(as: Own.self) } == .malformedClaim)
        for name in ["exp", "nbf", "iat"] {
            let claims: JSONObject = [name: .number(number)]
            #expect(code { try claims.decode(as: RegisteredClaims.self) } == .malformedClaim)
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(RegisteredClaims.self, from: claims.serializedData())
            }
        }
    }

    @Test(
        "Dates in the first and the last second of these years round-trip",
        arguments: [-62_135_596_800.0, 253_402_300_799]
    )
    func boundaryYears(seconds: Double) throws {
        let claims = RegisteredClaims(expiration: Date(timeIntervalSince1970: seconds))
        #expect(try JSONObject(encoding: claims).decode(as: RegisteredClaims.self) == claims)
        #expect(try JSONDecoder().decode(RegisteredClaims.self, from: JSONEncoder().encode(claims)) == claims)
    }

    @Test("Absent claims are optional and omitted, and one audience is a string")
    func optional() throws {
        #expect(String(decoding: try JSONEncoder().encode(RegisteredClaims()), as: UTF8.self) == "{}")
        let one = try JSONEncoder().encode(RegisteredClaims(audience: ["a"]))
        #expect(String(decoding: one, as: UTF8.self) == #"{"aud":"a"}"#)
        #expect(try JSONDecoder().decode(RegisteredClaims.self, from: one).audience == ["a"])
        #expect(try JSONDecoder().decode(RegisteredClaims.self, from: Data("{}".utf8)) == RegisteredClaims())
    }

    @Test(
        "Rejects a claim of the wrong type, including null",
        .shows("D6"),
        arguments: [
            #"{"exp":"1"}"#, #"{"exp":null}"#, #"{"exp":true}"#, #"{"exp":1e999}"#, #"{"nbf":[]}"#, #"{"iat":{}}"#,
            #"{"iss":1}"#,
            #"{"sub":null}"#, #"{"aud":[]}"#, #"{"aud":[1]}"#, #"{"aud":null}"#, #"{"aud":{"a":1}}"#, #"{"jti":false}"#,
        ]
    )
    func refused(json: String) throws {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(RegisteredClaims.self, from: Data(json.utf8)) }
        let token = try Fixture.token(payload: json)
        let verifier = try Fixture.verifier(ValidationPolicy(expiration: .optional))
        #expect(code { try verifier.verify(token) } == .malformedClaim)
    }

    @Test("A verified token has typed registered claims")
    func verified() throws {
        let payload =
            #"{"iss":"i","sub":"s","aud":"a","exp":1700000100.5,"nbf":1600000000,"iat":1.6e9,"jti":"j","x":1}"#
        let token = try Fixture.verifier(ValidationPolicy(issuer: "i", audience: "a")).verify(
            Fixture.token(payload: payload)
        )
        #expect(
            token.registered
                == RegisteredClaims(
                    issuer: "i",
                    subject: "s",
                    audience: ["a"],
                    expiration: Date(timeIntervalSince1970: 1_700_000_100.5),
                    notBefore: Date(timeIntervalSince1970: 1_600_000_000),
                    issuedAt: Date(timeIntervalSince1970: 1_600_000_000),
                    jwtID: "j"
                )
        )
    }
}
