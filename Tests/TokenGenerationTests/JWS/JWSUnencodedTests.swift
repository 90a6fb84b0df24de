import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Unencoded payloads (RFC 7797)", .computing)
struct JWSUnencodedTests {
    private static let header = #"{"alg":"ES256","b64":false,"crit":["b64"]}"#
    private let service: ES256SigningService
    private let verifier: JWSVerifier

    init() throws {
        service = try ES256SigningService(key: Fixture.signingKey())
        verifier = try JSONFixture.verifier()
    }

    private func generator(_ payload: Data, header: JSONObject = [:]) -> JWSGenerator {
        JWSGenerator(payload: payload, payloadEncoding: .unencoded, header: header, signingService: service)
    }

    /// Creates a compact JWS with an unencoded payload, valid or not.
    private func compact(_ payload: [UInt8]) throws -> String {
        let input = Array(Base64URL.encode(Array(Self.header.utf8)).utf8) + [UInt8(ascii: ".")] + payload
        let signature = try Fixture.signingKey().signature(over: input)
        return String(decoding: input, as: UTF8.self) + "." + Base64URL.encode(signature)
    }

    @Test("The header states the unencoded payload and requires verifiers to understand it", .shows("RFC 7797 §3"))
    func header() throws {
        let verified = try verifier.verify(compact: generator(Data("text".utf8)).compact())
        #expect(verified.header == ["alg": "ES256", "b64": false, "crit": ["b64"]])
        #expect(verified.payloadEncoding == .unencoded)
        let more = try generator(Data("text".utf8), header: ["crit": ["ext"], "ext": 1]).compact()
        #expect(code { try verifier.verify(compact: more) } == .criticalHeaderUnsupported)
        #expect(
            try JSONFixture.verifier(understanding: ["ext"]).verify(compact: more).header["crit"] == ["ext", "b64"]
        )
    }

    @Test(
        "A compact JWS allows every printable ASCII character except the period, and nothing else",
        .shows("D13", "RFC 7797 §5.2")
    )
    func compactCharacters() throws {
        for octet in UInt8.min...UInt8.max {
            let payload = [UInt8(ascii: "a"), octet, UInt8(ascii: "b")]
            let isAllowed = (0x20...0x7E).contains(octet) && octet != UInt8(ascii: ".")
            #expect(
                code { try generator(Data(payload)).compact() } == (isAllowed ? nil : .unencodableContent),
                "\(octet)"
            )
            guard octet < 0x80 else { continue }
            let text = try compact(payload)
            if isAllowed {
                #expect(try verifier.verify(compact: text).payload == Data(payload))
                #expect(try UnverifiedJWS(compact: text).unverifiedPayload == Data(payload))
            } else {
                #expect(code { try verifier.verify(compact: text) } == .malformedToken, "\(octet)")
                #expect(code { try UnverifiedJWS(compact: text) } == .malformedToken, "\(octet)")
            }
        }
        #expect(code { try verifier.verify(compact: compact(Array("é".utf8))) } == .malformedToken)
    }

    @Test(
        "A detached payload can have any bytes",
        .shows("J8"),
        arguments: [Data(), Data([0, 46, 255]), Data("é.\n".utf8)]
    )
    func detached(payload: Data) throws {
        let generator = generator(payload)
        let compact = try generator.compact(.detached)
        #expect(try verifier.verify(compact: compact, detachedPayload: payload).payload == payload)
        #expect(code { try verifier.verify(compact: compact, detachedPayload: payload + [0]) } == .signatureInvalid)
        for json in [try generator.flattenedJSON(.detached), try generator.generalJSON(.detached)] {
            #expect(
                try verifier.verify(json: json.serialized(), detachedPayload: payload, requiring: .all).payload
                    == payload
            )
        }
    }

    @Test("In JSON, the payload is the unescaped text", .shows("RFC 7797 §5.3"))
    func escapes() throws {
        let entry = try JSONFixture.entry(Self.header, payload: "$.02 é😀\u{7F}")
        for text in ["$.02 é😀\u{7F}", #"\u0024.02\u0020\u00e9\uD83D\uDE00\u007f"#] {
            let json = JSONFixture.flattened(entry, payload: text)
            #expect(try verifier.verify(json: json, requiring: .all).payload == Data("$.02 é😀\u{7F}".utf8))
        }
        // A canonically equivalent character is a different payload.
        let decomposed = JSONFixture.flattened(entry, payload: #"$.02 e\u0301😀\u007f"#)
        #expect(code { try verifier.verify(json: decomposed, requiring: .all) } == .signatureInvalid)
    }

    @Test("A payload in JSON is text of assigned code points", .shows("RFC 7797 §5.3"))
    func jsonCharacters() throws {
        for payload in ["", "a.b", "\"\\\u{0}\u{1F}\n", "é\u{10FFFD}😀"] {
            for json in [
                try generator(Data(payload.utf8)).flattenedJSON(), try generator(Data(payload.utf8)).generalJSON(),
            ] {
                #expect(json["payload"] == .string(payload))
                #expect(try verifier.verify(json: json.serialized(), requiring: .all).payload == Data(payload.utf8))
            }
        }
        for payload in [Data([0xFF]), Data([0xC3]), Data([0xEF, 0xBF, 0xBF]), Data([0xEF, 0xB7, 0x90])] {
            #expect(code { try generator(payload).flattenedJSON() } == .unencodableContent)
            #expect(code { try generator(payload).generalJSON() } == .unencodableContent)
            #expect(throws: Never.self) { try generator(payload).flattenedJSON(.detached) }
        }
        // Unassigned in all Unicode versions so far. A newer version may assign it.
        #expect(code { try generator(Data("\u{E1000}".utf8)).flattenedJSON() } == .unencodableContent)
        let noncharacter = String(decoding: [0xEF, 0xBF, 0xBE], as: UTF8.self)
        for (payload, expected) in [("\u{E1000}", nil), (noncharacter, TokenError.Code.malformedToken)] {
            let entry = try JSONFixture.entry(Self.header, payload: payload)
            let json = JSONFixture.flattened(entry, payload: payload)
            #expect(code { try verifier.verify(json: json, requiring: .all) } == expected)
        }
    }

    @Test("The encodings of a payload aren't confused")
    func otherEncoding() throws {
        // Signed as the text "e30", not as the two bytes that it encodes in base64url, and vice
        // versa.
        let unencoded = try compact(Array("e30".utf8))
        #expect(try verifier.verify(compact: unencoded).payload == Data("e30".utf8))
        let encoded = try JWSGenerator(payload: Data("{}".utf8), signingService: service).compact()
        #expect(try verifier.verify(compact: encoded).payload == Data("{}".utf8))
        let header = try #require(unencoded.split(separator: ".").first)
        let rest = encoded.drop { $0 != "." }
        #expect(code { try verifier.verify(compact: "\(header)\(rest)") } == .signatureInvalid)
        #expect(code { try Fixture.verifier().verify(unencoded) } == .criticalHeaderUnsupported)
    }

    @Test("Signatures with different encodings make the whole text malformed", .shows("D13", "RFC 7797 §3"))
    func disagreement() throws {
        let encoded = try JSONFixture.entry(#"{"alg":"ES256"}"#, payload: "e30")
        let explicit = try JSONFixture.entry(#"{"alg":"ES256","b64":true,"crit":["b64"]}"#, payload: "e30")
        let unencoded = try JSONFixture.entry(Self.header, payload: "e30")
        let unprotected = try JSONFixture.entry(nil, unprotected: #"{"alg":"ES256"}"#, payload: "e30")
        for entries in [
            [encoded, unencoded], [unencoded, encoded], [unencoded, explicit], [unencoded, unprotected],
        ] {
            let json = JSONFixture.general(entries, payload: "e30")
            #expect(code { try verifier.verify(json: json, requiring: .any) } == .malformedToken)
            #expect(code { try UnverifiedJWS(json: json) } == .malformedToken)
        }
        for entries in [[encoded, explicit], [explicit], [unencoded, unencoded]] {
            #expect(throws: Never.self) {
                try verifier.verify(json: JSONFixture.general(entries, payload: "e30"), requiring: .all)
            }
        }
    }
}
