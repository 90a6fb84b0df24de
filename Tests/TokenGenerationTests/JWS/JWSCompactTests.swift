import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Compact JWSs with any payload", .computing)
struct JWSCompactTests {
    private let service: ES256SigningService
    private let verifier: JWSVerifier

    init() throws {
        service = try ES256SigningService(key: Fixture.signingKey(), keyID: "k")
        verifier = try JSONFixture.verifier()
    }

    @Test("Any payload and header round-trip", .shows("RFC 7515 §3.1, §7.1"), arguments: [0, 1, 2, 3, 4, 100, 40_000])
    func roundTrip(size: Int) throws {
        let payload = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 37) })
        let header: JSONObject = [
            "typ": "JOSE", "cty": "application/octet-stream", "jku": "https://a.example/keys",
            "x5u": "file:///etc/passwd",
            "x5c": ["MIIB"], "jwk": ["kty": "EC"], "x5t#S256": "AA", "unknown": [1, nil, true],
        ]
        let text = try JWSGenerator(payload: payload, header: header, signingService: service).compact()
        let verified = try verifier.verify(compact: text)
        #expect(verified.payload == payload)
        #expect(verified.header.filter { !["alg", "kid"].contains($0.name) }.count == header.count)
        #expect(verified.header["alg"] == "ES256")
        #expect(verified.header["kid"] == "k")
        #expect(header.allSatisfy { verified.header[$0.name] == $0.value })
        #expect(verified.signatures.map(\.key.thumbprint) == [service.verificationKey.thumbprint])
        #expect(verified.signatures.first?.unprotectedHeader.isEmpty == true)
        let view = try UnverifiedJWS(compact: text)
        #expect(view.unverifiedPayload == (size == 0 ? nil : payload))
        #expect(view.unverifiedSignatures.map(\.unverifiedProtectedHeader) == [verified.header])
    }

    @Test("Doesn't add typ, because a JWS isn't a JWT")
    func noType() throws {
        let text = try JWSGenerator(payload: Data("{}".utf8), signingService: service).compact()
        #expect(try verifier.verify(compact: text).header == ["alg": "ES256", "kid": "k"])
    }

    @Test("Rejects a header that contradicts the service or that no verifier could read")
    func refusedHeaders() throws {
        let cases: [(JSONObject, TokenError.Code)] = [
            (["alg": "none"], .algorithmMismatch), (["alg": 5], .algorithmMismatch),
            (["kid": "other"], .algorithmMismatch),
            (["typ": 5], .unencodableContent), (["cty": nil], .unencodableContent), (["crit": []], .unencodableContent),
            (["crit": ["x"]], .unencodableContent), (["crit": "x", "x": 1], .unencodableContent),
            (["crit": ["x", "x"], "x": 1], .unencodableContent), (["crit": ["alg"]], .unencodableContent),
            (["b64": true], .unencodableContent), (["crit": ["b64"], "b64": false], .unencodableContent),
            (["crit": ["b64"]], .unencodableContent),
        ]
        for (header, expected) in cases {
            let generator = JWSGenerator(payload: Data(), header: header, signingService: service)
            #expect(code { try generator.compact() } == expected, "\(header)")
            #expect(code { try generator.flattenedJSON() } == expected, "\(header)")
            #expect(code { try generator.generalJSON() } == expected, "\(header)")
        }
        #expect(
            throws: Never.self
        ) {
            try JWSGenerator(payload: Data(), header: ["alg": "ES256", "kid": "k"], signingService: service).compact()
        }
    }

    @Test("Rejects a form that can't represent the signers")
    func forms() throws {
        let signer = JWSSigner(signingService: service)
        let unprotected = JWSSigner(signingService: service, unprotectedHeader: ["x": 1])
        for signers in [[], [signer, signer], [unprotected]] {
            let generator = JWSGenerator(payload: Data(), signers: signers)
            #expect(code { try generator.compact() } == .unencodableContent)
            #expect(code { try generator.flattenedJSON() } == (signers.count == 1 ? nil : .unencodableContent))
            #expect(code { try generator.generalJSON() } == (signers.isEmpty ? .unencodableContent : nil))
        }
    }

    @Test(
        "Rejects parameters in the unprotected header that must be protected or are in both headers",
        arguments: [
            (["alg": "ES256"], .unprotectedParameter), (["crit": ["x"]], .unprotectedParameter),
            (["b64": true], .unprotectedParameter), (["cty": "b"], .unencodableContent),
            (["kid": "z"], .algorithmMismatch),
        ] as [(JSONObject, TokenError.Code)]
    )
    func unprotectedHeaders(header: JSONObject, expected: TokenError.Code) {
        let signer = JWSSigner(signingService: service, header: ["cty": "a"], unprotectedHeader: header)
        #expect(code { try JWSGenerator(payload: Data(), signers: [signer]).flattenedJSON() } == expected)
    }

    @Test("Passes on a custom service's error, and rejects its malformed results")
    func services() {
        struct Broken: LocalSigningService {
            let algorithm = JWSAlgorithm.es256
            let result: Result<Data, CocoaError>
            func sign(data: Data) throws -> Data { try result.get() }
        }
        func generator(_ result: Result<Data, CocoaError>) -> JWSGenerator {
            JWSGenerator(payload: Data(), signingService: Broken(result: result))
        }
        #expect(code { try generator(.success(Data())).compact() } == .signingFailed)
        #expect(code { try generator(.success(Data(count: 63))).generalJSON() } == .signingFailed)
        #expect(throws: CocoaError.self) { try generator(.failure(CocoaError(.fileLocking))).flattenedJSON() }
    }

    @Test("A detached payload is passed to the verifier and isn't in the JWS", .shows("J8", "RFC 7515 F"))
    func detached() throws {
        let payload = Data([1, 2, 46, 255])
        let generator = JWSGenerator(payload: payload, signingService: service)
        let compact = try generator.compact(.detached)
        #expect(compact.contains(".."))
        #expect(try verifier.verify(compact: compact, detachedPayload: payload).payload == payload)
        #expect(try UnverifiedJWS(compact: compact).unverifiedPayload == nil)
        #expect(code { try verifier.verify(compact: compact) } == .signatureInvalid)
        for other in [Data(), Data([1, 2, 46]), payload + [0], Data("AQIu_w".utf8)] {
            #expect(code { try verifier.verify(compact: compact, detachedPayload: other) } == .signatureInvalid)
        }
        let attached = try generator.compact()
        #expect(code { try verifier.verify(compact: attached, detachedPayload: payload) } == .malformedToken)

        for object in [try generator.flattenedJSON(.detached), try generator.generalJSON(.detached)] {
            let json = object.serialized()
            #expect(object["payload"] == nil)
            #expect(try verifier.verify(json: json, detachedPayload: payload, requiring: .all).payload == payload)
            #expect(
                try verifier.verify(json: Data(json.utf8), detachedPayload: payload, requiring: .all).payload == payload
            )
            #expect(try UnverifiedJWS(json: json).unverifiedPayload == nil)
            #expect(code { try verifier.verify(json: json, requiring: .any) } == .malformedToken)
            #expect(
                code { try verifier.verify(json: json, detachedPayload: Data(), requiring: .any) } == .signatureInvalid
            )
        }
        let json = try generator.flattenedJSON().serialized()
        #expect(
            code { try verifier.verify(json: json, detachedPayload: payload, requiring: .any) } == .malformedToken
        )
    }

    @Test("An empty payload is valid, attached or detached")
    func emptyPayload() throws {
        let generator = JWSGenerator(payload: Data(), signingService: service)
        for text in [try generator.compact(), try generator.compact(.detached)] {
            #expect(try verifier.verify(compact: text).payload.isEmpty)
            #expect(try verifier.verify(compact: text, detachedPayload: Data()).payload.isEmpty)
        }
        let json = try generator.flattenedJSON().serialized()
        #expect(try verifier.verify(json: json, requiring: .any).payload.isEmpty)
    }

    @Test("Hundreds of thousands of dots take linear time", .shows("D7", "D15", "Z1"))
    func dots() {
        let dots = String(repeating: ".", count: 65_536)
        #expect(code { try verifier.verify(compact: dots) } == .malformedToken)
        #expect(code { try verifier.verify(compact: dots, detachedPayload: Data()) } == .malformedToken)
        #expect(code { try UnverifiedJWS(compact: dots) } == .malformedToken)
        #expect(code { try verifier.verify(compact: dots + ".") } == .tooLarge)
        #expect(code { try verifier.verify(compact: String(repeating: ".", count: 5_000_000)) } == .tooLarge)
    }

    @Test("Uses the verifier's limits", .shows("D7"))
    func limits() throws {
        let text = try JWSGenerator(payload: Data(count: 100), signingService: service).compact()
        var verifier = verifier
        verifier.limits = JWSLimits(size: text.utf8.count, headerSize: 25)
        #expect(throws: Never.self) { try verifier.verify(compact: text) }
        verifier.limits.headerSize = 24
        #expect(code { try verifier.verify(compact: text) } == .tooLarge)
        verifier.limits = JWSLimits(size: text.utf8.count - 1)
        #expect(code { try verifier.verify(compact: text) } == .tooLarge)
        verifier.limits = JWSLimits(size: .max, headerSize: .max, signatureCount: .max, depth: .max, memberCount: .max)
        #expect(throws: Never.self) { try verifier.verify(compact: text) }
        verifier.limits = JWSLimits(size: -1, headerSize: .min, signatureCount: -1, depth: 0, memberCount: 0)
        #expect(code { try verifier.verify(compact: text) } == .tooLarge)
    }
}
