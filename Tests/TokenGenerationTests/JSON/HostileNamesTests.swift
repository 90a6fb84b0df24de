import Foundation
import TestSupport
import Testing

@testable import TokenGeneration

/// Names that Swift's `==` normalizes before it compares them, and would take for equal.
@Suite("Names in Unicode forms that aren't normalized", .computing)
struct HostileNamesTests {
    /// Distinct short names in pairs that are canonically equivalent.
    private static func names(_ count: Int) -> [String] {
        (0..<count).map { "\($0 / 2)\($0.isMultiple(of: 2) ? "\u{0344}" : "\u{0308}\u{0301}")" }
    }

    private static func object(_ count: Int, prefix: String = "") -> JSONObject {
        JSONObject(names(count).enumerated().map { (prefix + $1, .number(JSONNumber($0))) })
    }

    @Test("Objects of any size tell their members apart", arguments: [1, 15, 16, 17, 18, 40, 1_000])
    func members(count: Int) throws {
        var object = Self.object(count)
        #expect(object.count == count)
        #expect(try JSONObject(parsing: object.serialized()) == object)
        for (index, name) in Self.names(count).enumerated() {
            #expect(object[name] == .number(JSONNumber(index)))
            #expect(object.index(of: name) == index)
        }
        #expect(object["0"] == nil)
        let first = Self.names(1)[0]
        object[first] = "changed"
        #expect(object[0].value == "changed")
        object[first] = nil
        #expect(object[first] == nil)
        #expect(object.count == count - 1)
        for (index, name) in Self.names(count).enumerated().dropFirst() { #expect(object.index(of: name) == index - 1) }
        object[first] = true
        #expect(object.index(of: first) == count - 1)
        #expect(object.count == count)
    }

    @Test("The parser rejects a repeated name at any position", arguments: [1, 15, 16, 17, 18, 40])
    func repetition(count: Int) {
        for name in Self.names(count) {
            let text = Self.object(count).serialized().dropLast() + ",\"\(name)\":1}"
            #expect(code { try JSONObject(parsing: String(text)) } == .malformedJSON)
        }
    }

    @Test("Registered claims and media types aren't recognized by equivalent names")
    func registered() throws {
        // U+212A KELVIN SIGN is canonically equivalent to K.
        #expect(!"K".isExactly("\u{212A}"))
        #expect(!"\u{0344}".isExactly("\u{0308}\u{0301}"))
        #expect("\u{0344}".isExactly("\u{0344}"))
        #expect("".isExactly(""))
    }

    @Test("Each recipient's header is compared with the headers that all share")
    func recipients() throws {
        let key = try DecryptionKey.generate(.a128KW)
        let text = try JWEGenerator(
            plaintext: JWEFixture.plaintext,
            encryption: .a128GCM,
            header: Self.object(50, prefix: "p"),
            unprotectedHeader: Self.object(100, prefix: "u"),
            recipients: [JWERecipient(key: key.encryptionKey)]
        ).generalJSON()
        let recipient = try #require(text["recipients"]?.array?.first?.object)
        var other = recipient
        other["header"] = .object(Self.object(100, prefix: "r"))
        func json(_ others: JSONObject...) -> JSONObject {
            var json = text
            json["recipients"] = .array(([recipient] + others).map(JSONValue.object))
            return json
        }
        let decrypter = JWEDecrypter(key: key, policy: JWEFixture.anyPolicy)
        #expect(try decrypter.decrypt(json: json()).plaintext == JWEFixture.plaintext)
        #expect(try decrypter.decrypt(json: json()).unprotectedHeader.count == 100)
        // Two recipients match the key.
        let many = Array(repeating: other, count: 15)
        #expect(code { try decrypter.decrypt(json: json(other)) } == .ambiguousKey)
        var all = text
        all["recipients"] = .array(([recipient] + many).map(JSONValue.object))
        #expect(code { try decrypter.decrypt(json: all) } == .ambiguousKey)
        for prefix in ["p", "u"] {
            var repeated = recipient
            repeated["header"] = .object([prefix + Self.names(10)[7]: 1])
            #expect(code { try decrypter.decrypt(json: json(repeated)) } == .malformedToken)
        }
    }

    @Test("A JWE with a name in the protected and in the shared header is malformed")
    func sharedHeaders() throws {
        let key = try DecryptionKey.generate(.a128KW)
        var json = try JWEGenerator(
            plaintext: JWEFixture.plaintext,
            encryption: .a128GCM,
            header: Self.object(50),
            recipients: [JWERecipient(key: key.encryptionKey)]
        ).flattenedJSON()
        json["unprotected"] = .object([Self.names(50)[49]: 1])
        #expect(
            code { try JWEDecrypter(key: key, policy: JWEFixture.anyPolicy).decrypt(json: json) } == .malformedToken
        )
    }

    @Test("The names in “crit” are told apart, and only an exact repetition is malformed")
    func criticalNames() throws {
        let names = Self.names(200)
        var header = Self.object(200)
        header["alg"] = "ES256"
        header["crit"] = .array(names.map(JSONValue.string))
        let verifier = try JWSVerifier(key: Fixture.signingKey().verificationKey)
        func verify(_ header: JSONObject) throws {
            _ = try verifier.verify(compact: Fixture.token(header: header.serialized()))
        }
        #expect(code { try verify(header) } == .criticalHeaderUnsupported)
        header["crit"] = .array((names + [names[199]]).map(JSONValue.string))
        #expect(code { try verify(header) } == .malformedToken)
        header["crit"] = ["\u{0344}"]
        #expect(code { try verify(header) } == .malformedToken)
    }

    @Test("The message about unsupported extensions names at most ten")
    func criticalMessage() throws {
        var header = Self.object(20, prefix: "x")
        header["alg"] = "ES256"
        header["crit"] = .array(Self.names(20).map { .string("x" + $0) })
        let token = try Fixture.token(header: header.serialized())
        let error = #expect(throws: TokenError.self) {
            try JWSVerifier(key: Fixture.signingKey().verificationKey).verify(compact: token)
        }
        #expect(error?.message.components(separatedBy: "“x").count == 11)
        #expect(error?.message.hasSuffix(", …") == true)
    }

    @Test("A JWS in JSON with a name in both headers is malformed, but not with an equivalent one")
    func signatures() throws {
        var protected = Self.object(40)
        protected["alg"] = "ES256"
        let parts = try Fixture.token(header: protected.serialized()).split(separator: ".").map {
            JSONValue.string(String($0))
        }
        let verifier = try JWSVerifier(key: Fixture.signingKey().verificationKey)
        func verify(_ name: String) throws {
            let json: JSONObject = [
                "protected": parts[0], "payload": parts[1], "signature": parts[2], "header": .object([name: 1]),
            ]
            _ = try verifier.verify(json: json.serialized(), requiring: .all)
        }
        #expect(code { try verify(Self.names(40)[39]) } == .malformedToken)
        #expect(code { try verify(Self.names(42)[41]) } == nil)
    }
}
