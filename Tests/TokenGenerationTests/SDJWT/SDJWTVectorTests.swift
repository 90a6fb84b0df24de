import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@Suite("Examples of RFC 9901", .computing)
struct SDJWTVectorTests {
    private static func cases(_ group: String) throws -> [JSONObject] {
        let vector = try JSONObject(parsing: Vector.data("rfc9901-sd-jwt"))
        return try #require(vector[group]?.array).compactMap(\.object)
    }

    /// Key bindings of the RFC were made at 1748536865.
    private static func verifier() throws -> SDJWTVerifier {
        try SDJWTFixture.verifier { $0.currentDate = { Date(timeIntervalSince1970: 1_748_536_900) } }
    }

    private static let required = KeyBindingRule.required(
        nonce: "1234567890",
        audience: "https://verifier.example.org"
    )

    @Test(
        "Verifies the SD-JWTs of sections 5 and A",
        .shows("J24", "RFC 9901 §4, §4.1", "RFC 9901 §7.1", "RFC 9901 §5, §6, A.1–A.4"),
        arguments: 0..<8
    ) func compact(index: Int) throws {
        let vector = try Self.cases("compact")[index]
        let token = try #require(vector["sd_jwt"]?.string)
        let isBound = vector["key_binding"] != nil
        let found = try Self.verifier().verify(token, keyBinding: isBound ? Self.required : .notRequired)
        #expect(JSONValue.object(found.claims) == vector["processed_payload"])
        #expect(JSONValue.object(found.header) == vector["issuer_header"])
        #expect(found.disclosedPaths.count == vector["disclosures"]?.array?.count)
        #expect((found.keyBinding != nil) == isBound)
        if isBound {
            let expected = vector["key_binding"]?.object?["payload"]
            #expect((found.keyBinding?.claims).map(JSONValue.object) == expected)
            let other = KeyBindingRule.required(nonce: "1234567891", audience: "https://verifier.example.org")
            #expect(code { try Self.verifier().verify(token, keyBinding: other) } == .nonceMismatch)
        } else {
            let error = code { try Self.verifier().verify(token, keyBinding: Self.required) }
            #expect(error == .keyBindingMismatch)
        }
    }

    @Test("Presents the issued SD-JWTs again, byte for byte", .shows("RFC 9901 §7.2"), arguments: [0, 4, 6])
    func presented(index: Int) throws {
        let issued = try #require(Self.cases("compact")[index]["sd_jwt"]?.string)
        let printed = try #require(Self.cases("compact")[index + 1]["sd_jwt"]?.string)
        let holder = try SDJWTHolder(issued, verifiedBy: Self.verifier())
        #expect(try holder.presentation(disclosing: holder.disclosablePaths).compact == issued)
        let paths = try Self.verifier().verify(printed, keyBinding: Self.required)
        let presentation = try holder.presentation(
            disclosing: paths.disclosedPaths.map { path in try Self.path(path, of: paths.claims, in: holder.claims) }
        )
        let disclosures = printed.split(separator: "~").dropFirst().dropLast().map(String.init)
        let ours = presentation.compact.split(separator: "~").dropFirst().map(String.init)
        #expect(Set(ours) == Set(disclosures))
    }

    /// Returns the path in the holder's claims.
    ///
    /// Indices differ, because hidden elements don't count.
    private static func path(
        _ path: ClaimPath,
        of presented: JSONObject,
        in claims: JSONObject
    ) throws -> ClaimPath {
        guard path.elements.count == 2, path.elements[0] == "nationalities" else { return path }
        let shown = try #require(presented["nationalities"]?.array)
        let all = try #require(claims["nationalities"]?.array)
        let index = try #require(all.indices.first { path.elements[1] == .index(0) && all[$0] == shown[0] })
        return ["nationalities", .index(index)]
    }

    @Test(
        "Processes the nested examples of section 6",
        .shows("RFC 9901 §4.2", "RFC 9901 §5, §6, A.1–A.4"),
        arguments: 0..<3
    ) func nested(index: Int) throws {
        let vector = try Self.cases("nested")[index]
        let payload = try #require(vector["issuer_payload"]?.object)
        let disclosures = try #require(vector["disclosures"]?.array).compactMap { $0.object?["encoded"]?.string }
        let found = try SDJWTFixture.verify(SDJWTFixture.token(payload.serialized(), disclosures))
        #expect(JSONValue.object(found.claims) == vector["processed_all_disclosed"])
    }

    @Test(
        "Verifies the JSON serializations of section 8",
        .shows("J24", "RFC 9901 §8", "RFC 9901 §5, §6, A.1–A.4"),
        arguments: 0..<3
    ) func json(index: Int) throws {
        let vector = try Self.cases("json_serialization")[index]
        let text = try #require(vector["sd_jwt_json"]?.object).serializedData()
        let isBound = vector["key_binding"] != nil
        let found = try Self.verifier().verify(json: text, keyBinding: isBound ? Self.required : .notRequired)
        #expect(JSONValue.object(found.claims) == vector["processed_payload"])
        #expect((found.keyBinding != nil) == isBound)
        if !isBound {
            let error = code { try Self.verifier().verify(json: text, keyBinding: Self.required) }
            #expect(error == .keyBindingMismatch)
            let holder = try SDJWTHolder(json: text, verifiedBy: Self.verifier())
            #expect(
                try holder.presentation(disclosing: holder.disclosablePaths).flattenedJSON().serializedData() == text
            )
        }
    }

    @Test("Accepts every encoding of a disclosure in section 4.2", .shows("RFC 9901 §4.2"), arguments: 0..<5)
    func disclosures(index: Int) throws {
        let vector = try Self.cases("disclosures")[index]
        let text = try #require(vector["encoded"]?.string)
        let digest = try #require(vector["digest"]?.string)
        let array = try #require(vector["array"]?.array)
        if array.count == 3 {
            let found = try SDJWTFixture.verify(SDJWTFixture.token(#"{"_sd":["\#(digest)"]}"#, [text]))
            #expect(found.claims["family_name"] == array[2])
        } else {
            let found = try SDJWTFixture.verify(SDJWTFixture.token(#"{"a":[{"...":"\#(digest)"}]}"#, [text]))
            #expect(found.claims["a"] == [array[1]])
        }
    }
}
