import Foundation
import OpenSSLCrypto
import TestSupport
import Testing
import TokenGeneration

/// Canonically equivalent texts must be different everywhere. This also avoids normalization, which
/// costs quadratic time for a run of combining characters.
@Suite("Comparison of untrusted text by bytes", .computing)
struct ExactTextTests {
    private static let composed = "\u{E9}"
    private static let decomposed = "e\u{301}"

    @Test("Canonically equivalent names are two members", .shows("K5"), arguments: [0, 14, 15, 16, 17, 40])
    func members(others: Int) throws {
        let fill = (0..<others).map { #""m\#($0)":0,"# }.joined()
        let object = try JSONObject(parsing: "{\(fill)\"\(Self.composed)\":1,\"\(Self.decomposed)\":2}")
        #expect(object.count == others + 2)
        #expect(object[Self.composed] == 1)
        #expect(object[Self.decomposed] == 2)
        #expect(try object.decode(as: Spellings.self) == Spellings(composed: 1, decomposed: 2))
        let twice = "{\(fill)\"\(Self.decomposed)\":1,\"\(Self.decomposed)\":2}"
        #expect(code { try JSONObject(parsing: twice) } == .malformedJSON)
    }

    private struct Spellings: Decodable, Equatable {
        let composed: Int
        let decomposed: Int

        init(composed: Int, decomposed: Int) {
            (self.composed, self.decomposed) = (composed, decomposed)
        }

        private struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            composed = try container.decode(Int.self, forKey: Key(stringValue: ExactTextTests.composed))
            decomposed = try container.decode(Int.self, forKey: Key(stringValue: ExactTextTests.decomposed))
        }
    }

    @Test("Values and objects with equivalent texts differ, also in sets", .shows("K5"), arguments: [0, 40])
    func values(others: Int) {
        let (first, second) = (JSONValue.string(Self.composed), JSONValue.string(Self.decomposed))
        #expect(Set([first, second, first]).count == 2)
        var objects = [JSONObject(), JSONObject()]
        for (index, name) in [Self.composed, Self.decomposed].enumerated() {
            for number in 0..<others { objects[index]["m\(number)"] = 0 }
            objects[index][name] = 1
        }
        #expect(objects[0] != objects[1])
        #expect(Set(objects).count == 2)
        var reversed = JSONObject()
        for member in objects[0].reversed() { reversed[member.name] = member.value }
        #expect(reversed == objects[0])
        #expect(reversed.hashValue == objects[0].hashValue)
    }

    @Test("Registered claims with equivalent texts differ", .shows("K5"))
    func claims() {
        for change in [\RegisteredClaims.issuer, \.subject, \.jwtID] {
            var (first, second) = (RegisteredClaims(), RegisteredClaims())
            first[keyPath: change] = Self.composed
            second[keyPath: change] = Self.decomposed
            #expect(first != second)
            #expect(Set([first, second, first]).count == 2)
        }
        #expect(RegisteredClaims(audience: [Self.composed]) != RegisteredClaims(audience: [Self.decomposed]))
    }

    @Test("Key operations are distinguished by their bytes")
    func keyOperations() throws {
        let operations: JSONValue = [.string(Self.composed), .string(Self.decomposed)]
        let key = try Fixture.jwk(["key_ops": operations], isPrivate: true)
        #expect(key.publicPart.members["key_ops"] == operations)
        let twice: JSONValue = [.string(Self.composed), .string(Self.composed)]
        #expect(code { try Fixture.jwk(["key_ops": twice]) } == .malformedKey)
    }

    @Test("Exact text hashes consistently with its equality")
    func exactString() {
        let texts = ["", "a", "ab", Self.composed, Self.decomposed, "K", "\u{212A}"]
        for text in texts {
            #expect(ByteComparedString(text) == ByteComparedString(String(decoding: Array(text.utf8), as: UTF8.self)))
            #expect(texts.filter { ByteComparedString($0) == ByteComparedString(text) }.count == 1)
        }
        #expect(Set(texts.map(ByteComparedString.init)).count == texts.count)
    }

    @Test("Parses, compares and decodes large texts of combining characters", .shows("K5"))
    func combining() throws {
        let run = String(repeating: "\u{301}\u{316}", count: 50_000)
        let object = try JSONObject(parsing: #"{"\#(run)":"\#(run)","x\#(run)":1}"#)
        #expect(object[run] == .string(run))
        #expect(Set([JSONValue.string(run), .string("a" + run)]).count == 2)
        let verifier = try Fixture.verifier()
        #expect(code { try verifier.verify(Fixture.token(header: #"{"alg":"ES256","kid":"\#(run)"}"#)) } == .tooLarge)
    }
}
