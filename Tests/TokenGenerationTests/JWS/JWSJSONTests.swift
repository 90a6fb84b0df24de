import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("JWS JSON serializations", .computing)
struct JWSJSONTests {
    private let verifier: JWSVerifier

    init() throws {
        verifier = try JSONFixture.verifier()
    }

    @Test("Flattened and general JWSs with any payload round-trip", .shows("RFC 7515 §7.2.1"))
    func roundTrip() throws {
        let service = try ES256SigningService(key: Fixture.signingKey(), keyID: "k")
        for payload in [Data(), Data([0, 255, 46, 10]), Data(repeating: 7, count: 5_000)] {
            let signer = JWSSigner(
                signingService: service,
                header: ["cty": "x/y", "x5c": ["MIIB"], "jku": "https://a.example"],
                unprotectedHeader: ["note": "free", "jwk": 5]
            )
            let generator = JWSGenerator(payload: payload, signers: [signer])
            for object in [try generator.flattenedJSON(), try generator.generalJSON()] {
                for verified in [
                    try verifier.verify(json: object.serialized(), requiring: .any),
                    try verifier.verify(json: object.serializedData(), requiring: .all),
                ] {
                    #expect(verified.payload == payload)
                    #expect(verified.payloadEncoding == .base64url)
                    #expect(
                        verified.header
                            == [
                                "alg": "ES256", "kid": "k", "cty": "x/y", "x5c": ["MIIB"], "jku": "https://a.example",
                            ]
                    )
                    #expect(verified.signatures.map(\.index) == [0])
                    #expect(verified.signatures.first?.unprotectedHeader == ["note": "free", "jwk": 5])
                    #expect(verified.refusals.isEmpty)
                }
                let view = try UnverifiedJWS(json: object.serialized())
                #expect(view.unverifiedPayload == payload)
                #expect(view.unverifiedSignatures.map(\.unverifiedProtectedHeader["kid"]) == ["k"])
                #expect(view.unverifiedSignatures.map(\.unprotectedHeader["note"]) == ["free"])
            }
        }
    }

    @Test("Ignores unknown members, in the JWS and in a signature")
    func unknownMembers() throws {
        let flattened = JSONFixture.flattened(try JSONFixture.entry()).dropLast() + #","x":[1],"Payload":"a","é":null}"#
        #expect(try verifier.verify(json: String(flattened), requiring: .all).payload == JSONFixture.payload)
        let general = JSONFixture.general([try JSONFixture.entry() + #","x":{"alg":"none"},"payload":5"#])
        #expect(try verifier.verify(json: general, requiring: .all).payload == JSONFixture.payload)
    }

    @Test(
        "Rejects the text if a member is missing, duplicate or of the wrong type",
        .shows("C12"),
        arguments: [
            (#""payload":"#, #""nothing":"#), (#""payload":""#, #""payload":null,"x":""#),
            (#""payload":""#, #""payload":["a"],"x":""#), (#""payload":""#, #""payload":5,"x":""#),
            (#""payload":""#, #""payload":"","payload":""#), (#""signature":"#, #""nothing":"#),
            (#""signature":""#, #""signature":null,"x":""#), (#""signature":""#, #""signature":{},"x":""#),
            (#""signature":""#, #""signature":"","signature":""#), (#""protected":""#, #""protected":null,"x":""#),
            (#""protected":""#, #""protected":{"alg":"ES256"},"x":""#), (#""protected":""#, #""protected":"","x":""#),
            (#""protected":""#, #""protected":"e30","protected":""#),
            (#""protected":""#, #""\u0070rotected":"e30","protected":""#),
            (#""protected":""#, #""header":null,"protected":""#), (#""protected":""#, #""header":"e30","protected":""#),
            (#""protected":""#, #""header":[],"protected":""#),
            (#""protected":""#, #""header":{},"header":{},"protected":""#),
            (#""protected":""#, #""header":{"a":1,"a":2},"protected":""#),
            (#""protected":""#, #""header":{"x":"\ud800"},"protected":""#),
            (#""protected":""#, #""header":{"kid":1},"protected":""#),
            (#""protected":""#, #""header":{"alg":"ES256"},"protected":""#),
        ]
    )
    func malformed(text: String, replacement: String) throws {
        let entry = try JSONFixture.entry()
        for json in [JSONFixture.flattened(entry), JSONFixture.general([entry])] {
            #expect(throws: Never.self) { try verifier.verify(json: json, requiring: .any) }
            let changed = json.replacing(text, with: replacement)
            #expect(changed != json)
            #expect(code { try verifier.verify(json: changed, requiring: .any) } == .malformedToken, "\(changed)")
        }
    }

    @Test("Rejects text that isn't a JSON object, or isn't a JWS")
    func otherTexts() throws {
        let entry = try JSONFixture.entry()
        let flattened = JSONFixture.flattened(entry)
        for json in [
            "", " ", "null", "[]", "\"a\"", "{", "{}", flattened + "x", "[\(flattened)]", "\u{FEFF}" + flattened,
            try Fixture.token(), #"{"payload":"","signatures":[]}"#, #"{"payload":"","signatures":null}"#,
            #"{"payload":"","signatures":{}}"#, #"{"payload":"","signatures":"a"}"#,
            #"{"payload":"","signatures":[null]}"#, #"{"payload":"","signatures":[[]]}"#,
            #"{"payload":"","signatures":[{}]}"#, #"{"payload":"","signatures":[{"header":{"alg":"ES256"}}]}"#,
        ] {
            #expect(code { try verifier.verify(json: json, requiring: .any) } == .malformedToken, "\(json)")
            #expect(code { try UnverifiedJWS(json: json) } == .malformedToken, "\(json)")
        }
        let invalidUTF8 = Data(flattened.utf8.dropLast()) + Data(#","x":""#.utf8) + Data([0xFF]) + Data("\"}".utf8)
        #expect(code { try verifier.verify(json: invalidUTF8, requiring: .any) } == .malformedToken)
        #expect(code { try verifier.verify(compact: flattened) } == .malformedToken)
        #expect(try #require(error { try verifier.verify(compact: flattened) }).message.contains("JSON"))
    }

    @Test(
        "Rejects ambiguous text: general and flattened, JWS and JWE",
        .shows("A7", "RFC 7515 §7.2.2", "RFC 8725bis §3.14")
    )
    func polyglots() throws {
        let entry = try JSONFixture.entry()
        let general = JSONFixture.general([entry]).dropLast()
        for addition in [
            #""signature":"AA""#, #""protected":"e30""#, #""header":{}"#, entry, #""ciphertext":"AA""#,
            #""recipients":[]"#,
        ] {
            let json = "\(general),\(addition)}"
            #expect(code { try verifier.verify(json: json, requiring: .any) } == .malformedToken, "\(addition)")
        }
    }

    @Test(
        "Rejects noncanonical base64url in every member",
        arguments: ["protected", "payload", "signature"],
        ["=", "==", " ", "\\n", "!", "+", "/", "é", "."]
    )
    func base64url(member: String, addition: String) throws {
        let json = JSONFixture.flattened(try JSONFixture.entry())
        let start = try #require(json.range(of: "\"\(member)\":\""))
        let end = try #require(json[start.upperBound...].firstIndex(of: "\""))
        var changed = json
        changed.insert(contentsOf: addition, at: end)
        #expect(code { try verifier.verify(json: changed, requiring: .any) } == .malformedToken)
    }

    @Test("Rejects base64url with unused bits set, even if the signature covers it", .shows("D1"))
    func unusedBits() throws {
        let header = try JSONFixture.entry(protectedText: "eyJhbGciOiJFUzI1NiJ9")
        #expect(throws: Never.self) { try verifier.verify(json: JSONFixture.flattened(header), requiring: .any) }
        // Two characters, "AB". Their last four bits must be zero.
        let payload = try JSONFixture.entry(payload: "AB")
        let json = JSONFixture.flattened(payload, payload: "AB")
        #expect(code { try verifier.verify(json: json, requiring: .any) } == .malformedToken)
        let spaced = try JSONFixture.entry(protectedText: "eyJhbGciOiJFUzI1NiIgfR")
        #expect(code { try verifier.verify(json: JSONFixture.flattened(spaced), requiring: .any) } == .malformedToken)
    }

    @Test("A depth of more than 512 becomes 512, and deeper text is rejected")
    func maximumDepth() throws {
        let json = try JSONFixture.flattened(JSONFixture.entry())
        func deep(_ levels: Int) -> String {
            let value = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
            return "\(json.dropLast()),\"x\":\(value)}"
        }
        #expect(JWSLimits.maximumDepth == 512)
        #expect(JWSLimits(depth: 512).depth == 512)
        var changed = JWSLimits(depth: 513)
        #expect(changed.depth == 512)
        changed.depth = 100_000
        #expect(changed.depth == 512)
        for limits in [JWSLimits(depth: .max), changed] {
            var verifier = verifier
            verifier.limits = limits
            // The object itself is also a level.
            #expect(throws: Never.self) { try verifier.verify(json: deep(511), requiring: .any) }
            #expect(code { try verifier.verify(json: deep(512), requiring: .any) } == .tooLarge)
            #expect(code { try UnverifiedJWS(json: deep(512), limits: limits) } == .tooLarge)
            #expect(code { try verifier.verify(json: deep(30_000), requiring: .any) } == .tooLarge)
        }
    }

    @Test("The limits on size, header, depth, members and signatures are exact")
    func limits() throws {
        let entry = try JSONFixture.entry()
        let json = JSONFixture.flattened(entry)
        var verifier = verifier
        verifier.limits.size = json.utf8.count
        #expect(throws: Never.self) { try verifier.verify(json: json, requiring: .any) }
        verifier.limits.size -= 1
        #expect(code { try verifier.verify(json: json, requiring: .any) } == .tooLarge)
        #expect(code { try UnverifiedJWS(json: json, limits: verifier.limits) } == .tooLarge)
        let huge = String(repeating: " ", count: 65_537)
        #expect(code { try self.verifier.verify(json: huge, requiring: .any) } == .tooLarge)

        func header(_ size: Int) throws -> String {
            JSONFixture.flattened(
                try JSONFixture.entry(#"{"alg":"ES256","x":""# + String(repeating: "x", count: size - 22) + "\"}")
            )
        }
        #expect(throws: Never.self) { try self.verifier.verify(json: header(8_192), requiring: .any) }
        #expect(code { try self.verifier.verify(json: header(8_193), requiring: .any) } == .tooLarge)
        verifier.limits = JWSLimits(headerSize: 15)
        #expect(throws: Never.self) { try verifier.verify(json: json, requiring: .any) }
        verifier.limits.headerSize = 14
        #expect(code { try verifier.verify(json: json, requiring: .any) } == .tooLarge)

        let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(
            code { try self.verifier.verify(json: String(json.dropLast()) + ",\"x\":\(deep)}", requiring: .any) }
                == .tooLarge
        )
        verifier.limits = JWSLimits(depth: 65)
        #expect(throws: Never.self) {
            try verifier.verify(json: String(json.dropLast()) + ",\"x\":\(deep)}", requiring: .any)
        }

        verifier.limits = JWSLimits(memberCount: 2)
        #expect(code { try verifier.verify(json: json, requiring: .any) } == .tooLarge)

        let hundred = JSONFixture.general(Array(repeating: entry, count: 100))
        #expect(throws: Never.self) { try self.verifier.verify(json: hundred, requiring: .all) }
        let more = JSONFixture.general(Array(repeating: entry, count: 101))
        #expect(code { try self.verifier.verify(json: more, requiring: .any) } == .tooLarge)
        verifier.limits = JWSLimits(signatureCount: 99)
        #expect(code { try verifier.verify(json: hundred, requiring: .any) } == .tooLarge)
        #expect(code { try UnverifiedJWS(json: Data(hundred.utf8), limits: verifier.limits) } == .tooLarge)
    }
}
