import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@Suite("Status list tokens", .computing)
struct StatusListTokenTests {
    private static let uri = "https://id.example/statuslists/1"
    private static let issuer = "https://id.example"

    private static func reference(_ index: Int = 0, _ uri: String = uri) throws -> StatusListReference {
        try StatusListReference(index: index, uri: uri)
    }

    /// Claims of a token with the statuses 0xB9 and 0xA3, valid at the fixture's time.
    private static func claims(_ changes: [String: JSONValue?] = [:]) -> JSONObject {
        var claims: JSONObject = [
            "sub": .string(uri), "iat": .number(JSONNumber(Fixture.now - 100)),
            "exp": .number(JSONNumber(Fixture.now + 100)), "ttl": 300,
            "status_list": ["bits": 1, "lst": "eNrbuRgAAhcBXQ"],
        ]
        for (name, value) in changes { claims[name] = value }
        return claims
    }

    private static func verified(
        _ claims: JSONObject,
        type: String? = "statuslist+jwt",
        maximumListSize: Int = 4_194_304
    ) throws -> StatusListToken {
        var header: JSONObject = ["alg": "ES256"]
        header["typ"] = type.map(JSONValue.string)
        let text = try Fixture.token(header: header.serialized(), payload: claims.serialized())
        let verifier = try Fixture.verifier(.statusList(uri: uri, issuer: issuer))
        return try StatusListToken(verifier.verify(text), maximumListSize: maximumListSize)
    }

    @Test("A signed list verifies, with all of its claims", .shows("J27", "Status List §5.1"))
    func roundTrip() throws {
        var list = try StatusList(count: 1_000, bits: .two)
        try list.set(.suspended, at: 999)
        let now = Date(timeIntervalSince1970: Double(Fixture.now))
        let token = StatusListToken(
            list,
            uri: Self.uri,
            issuer: Self.issuer,
            issuedAt: now.addingTimeInterval(0.5),
            expiration: now.addingTimeInterval(100),
            timeToLive: .milliseconds(1_500)
        )
        let text = try token.signed(by: ES256SigningService(key: Fixture.signingKey(), keyID: "12"))
        let verifier = try Fixture.verifier(.statusList(uri: Self.uri, issuer: Self.issuer))
        let jwt = try verifier.verify(text)
        #expect(jwt.header.serialized() == #"{"alg":"ES256","kid":"12","typ":"statuslist+jwt"}"#)
        let read = try StatusListToken(jwt)
        #expect(read.list == list)
        #expect(read.uri == Self.uri)
        #expect(read.issuer == Self.issuer)
        #expect(read.issuedAt == now)
        #expect(read.expiration == now.addingTimeInterval(100))
        #expect(read.timeToLive == .milliseconds(1_500))
        #expect(try read.status(of: Self.reference(999)) == .suspended)
        #expect(try read.status(of: Self.reference(998)) == .valid)
    }

    @Test("Reads the draft's sample token", .shows("Status List §5.1"))
    func sample() throws {
        let vector = try Vector.object("token-status-list")["token_8_2"] as? [String: Any]
        let text = try #require(vector?["compact"] as? String)
        // Its key isn't published, so another one signs the same claims.
        let claims = try UnverifiedToken(text).unverifiedClaims
        let verifier = try Fixture.verifier(
            .statusList(uri: "https://example.com/statuslists/1", issuer: "https://example.com")
        )
        let header = #"{"alg":"ES256","kid":"12","typ":"statuslist+jwt"}"#
        let token = try StatusListToken(verifier.verify(Fixture.token(header: header, payload: claims.serialized())))
        #expect(token.timeToLive == .seconds(43_200))
        let statuses = (0..<17).map { token.list[$0]?.rawValue }
        #expect(statuses == [1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1, nil])
    }

    @Test("Optional claims may be missing")
    func optional() throws {
        let token = try Self.verified(Self.claims(["exp": .none, "ttl": .none]))
        #expect(token.expiration == nil)
        #expect(token.timeToLive == nil)
        #expect(token.issuer == nil)
    }

    @Test(
        "Rejects every other type",
        .shows("U6", "Status List §8.3 (validation)", "RFC 8725bis §3.11 (types)", "RFC 8725bis §3.12"),
        arguments: ["JWT", "at+jwt", "statuslist+cwt", "", nil]
    )
    func types(type: String?) {
        #expect(code { try Self.verified(Self.claims(), type: type) } == .typeMismatch)
    }

    @Test("Rejects a token that was verified with a policy for another type", .shows("U6"))
    func otherPolicy() throws {
        let verifier = try Fixture.verifier(ValidationPolicy())
        let jwt = try verifier.verify(Fixture.token(payload: Self.claims().serialized()))
        #expect(code { try StatusListToken(jwt) } == .typeMismatch)
        let header = #"{"alg":"ES256","typ":"statuslist+jwt"}"#
        for name in ["sub", "iat", "status_list"] {
            let payload = Self.claims([name: .none]).serialized()
            let incomplete = try verifier.verify(Fixture.token(header: header, payload: payload))
            #expect(code { try StatusListToken(incomplete) } == .missingClaim)
        }
    }

    @Test(
        "Rejects other lists and audiences, wrong times, and missing or malformed claims",
        .shows("U2", "U5", "U7", "U8", "Status List §5.1", "Status List §8.3 (validation)"),
        arguments: [
            ("sub", "https://id.example/statuslists/2", .subjectMismatch),
            ("sub", "https://ID.example/statuslists/1", .subjectMismatch),
            ("iss", "https://other.example", .issuerMismatch), ("iss", .string(issuer), nil),
            ("aud", "somebody", .audienceMismatch), ("exp", 1_699_999_939, .expired), ("exp", 1_699_999_941, nil),
            ("iat", 1_700_000_061, .issuedInFuture), ("nbf", 1_700_000_061, .notYetValid), ("sub", nil, .missingClaim),
            ("iat", nil, .missingClaim), ("status_list", nil, .missingClaim), ("iat", "now", .malformedClaim),
            ("ttl", 0, .malformedClaim), ("ttl", -1, .malformedClaim), ("ttl", "300", .malformedClaim),
            ("ttl", JSONValue.null, .malformedClaim), ("ttl", true, .malformedClaim), ("ttl", [], .malformedClaim),
            ("ttl", 1e300, nil), ("status_list", 1, .malformedClaim), ("status_list", "x", .malformedClaim),
            ("status_list", [], .malformedClaim), ("status_list", ["bits": 1], .malformedClaim),
            ("status_list", ["bits": 3, "lst": "eNrbuRgAAhcBXQ"], .malformedClaim),
        ] as [(String, JSONValue?, TokenError.Code?)]
    )
    func claims(name: String, value: JSONValue?, expected: TokenError.Code?) {
        #expect(code { try Self.verified(Self.claims([name: value])) } == expected)
    }

    @Test("Rejects a wrong signature", .shows("U8"))
    func signature() throws {
        let header = #"{"alg":"ES256","typ":"statuslist+jwt"}"#
        let text = try Fixture.token(header: header, payload: Self.claims().serialized(), key: .generate(.es256))
        let verifier = try Fixture.verifier(.statusList(uri: Self.uri, issuer: Self.issuer))
        #expect(code { try verifier.verify(text) } == .signatureInvalid)
    }

    @Test("Bounds the token and the list", .shows("U3"))
    func sizes() throws {
        #expect(code { try Self.verified(Self.claims(), maximumListSize: 1) } == .tooLarge)
        let text = try Fixture.token(
            header: #"{"alg":"ES256","typ":"statuslist+jwt"}"#,
            payload: Self.claims(["padding": .string(String(repeating: "x", count: 800_000))]).serialized()
        )
        let verifier = try Fixture.verifier(.statusList(uri: Self.uri, issuer: Self.issuer))
        #expect(code { try verifier.verify(text) } == .tooLarge)
        let patient = try Fixture.verifier(
            .statusList(uri: Self.uri, issuer: Self.issuer, maximumTokenSize: 2_000_000)
        )
        #expect(code { try patient.verify(text) } == nil)
    }

    @Test(
        "An index outside of the list, or another list, gives no status",
        .shows("U1", "U5", "Status List §8.3 (validation)")
    )
    func references() throws {
        let token = try Self.verified(Self.claims())
        #expect(try token.status(of: Self.reference(15)) == .invalid)
        for index in [16, .max] {
            let reference = try Self.reference(index)
            #expect(code { try token.status(of: reference) } == .statusRejected)
        }
        let other = try Self.reference(0, "https://id.example/statuslists/01")
        #expect(code { try token.status(of: other) } == .subjectMismatch)
    }

    @Test("Doesn't sign a token that nobody accepts")
    func unsignable() throws {
        let service = try ES256SigningService(key: Fixture.signingKey())
        let list = try StatusList(count: 8)
        let tokens = [
            StatusListToken(list, uri: ""),
            StatusListToken(list, uri: Self.uri, timeToLive: .zero),
            StatusListToken(list, uri: Self.uri, timeToLive: .seconds(-1)),
            StatusListToken(list, uri: Self.uri, issuedAt: .distantFuture.addingTimeInterval(1e12)),
            StatusListToken(list, uri: Self.uri, expiration: Date(timeIntervalSince1970: .nan)),
        ]
        for token in tokens { #expect(code { try token.signed(by: service) } == .unencodableContent) }
    }
}

@Suite("References to status lists", .computing)
struct StatusListReferenceTests {
    private static let uri = "https://id.example/statuslists/1"

    @Test("The claim names the list and the index", .shows("Status List §6.2"))
    func claim() throws {
        let reference = try StatusListReference(index: 7, uri: Self.uri)
        let claims: JSONObject = ["status": reference.claim]
        #expect(claims.serialized() == #"{"status":{"status_list":{"idx":7,"uri":"\#(Self.uri)"}}}"#)
        let read = try claims.statusListReference()
        #expect(read == reference)
        let none = try JSONObject().statusListReference()
        #expect(none == nil)
    }

    @Test("Rejects a claim that isn't a reference", .shows("U1", "Status List §6.2"))
    func malformed() throws {
        let statuses: [JSONValue] = [
            .null, "x", 1, [], [:], ["other": [:]], ["status_list": .null], ["status_list": []],
            ["status_list": ["idx": 1]], ["status_list": ["uri": .string(Self.uri)]],
            ["status_list": ["idx": -1, "uri": .string(Self.uri)]],
            ["status_list": ["idx": "1", "uri": .string(Self.uri)]],
            ["status_list": ["idx": 1.5, "uri": .string(Self.uri)]],
            ["status_list": ["idx": .null, "uri": .string(Self.uri)]],
            ["status_list": ["idx": true, "uri": .string(Self.uri)]], ["status_list": ["idx": 1, "uri": 1]],
            ["status_list": ["idx": 1, "uri": ""]], ["status_list": ["idx": 1, "uri": "statuslists/1"]],
        ]
        for status in statuses {
            let claims: JSONObject = ["status": status]
            #expect(code { try claims.statusListReference() } == .malformedClaim, "\(claims)")
        }
        let tooLarge = try JSONObject(parsing: #"{"status":{"status_list":{"idx":1e30,"uri":"\#(Self.uri)"}}}"#)
        #expect(code { try tooLarge.statusListReference() } == .malformedClaim)
        #expect(code { try StatusListReference(index: -1, uri: Self.uri) } == .malformedClaim)
        #expect(code { try StatusListReference(index: 0, uri: "") } == .malformedClaim)
    }
}
