import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

/// Tests of RFC 7520 §4 and the cookbook's RFC 7797 file, from the folder in `JOSE_VECTORS_DIR`.
@Suite("RFC 7520 §4", .enabled(if: ExternalVector.exists("rfc7520/jws"), "\(ExternalVector.hint)"), .computing)
struct CookbookTests {
    /// Files whose signatures are all by one key and with a protected `alg`.
    private static let single = ["4_1.", "4_2.", "4_3.", "4_4.", "4_5.", "4_6."]

    private static func path(_ prefix: String) -> String {
        ExternalVector.paths(in: "rfc7520/jws").first { $0.contains("/\(prefix)") } ?? prefix
    }

    private struct Example {
        let payload: Data
        let keys: [SigningKey]
        let compact: String?
        let json: [JSONObject]
        let isReproducible: Bool
        let signing: [JSONObject]

        init(_ path: String) throws {
            let vector = try JSONObject(parsing: ExternalVector.data(path))
            let input = try #require(vector["input"]?.object)
            payload = Data(try #require(input["payload"]?.string).utf8)
            let algorithms = try #require(input["alg"]?.array ?? input["alg"].map { [$0] })
            let jwks = try #require(input["key"]?.array ?? input["key"].map { [$0] })
            keys = try zip(jwks, algorithms).map { jwk, algorithm in
                try SigningKey(
                    jwk: JWK(#require(jwk.object)),
                    algorithm: JWSAlgorithm(rawValue: #require(algorithm.string))
                )
            }
            let output = try #require(vector["output"]?.object)
            compact = output["compact"]?.string
            json = ["json", "json_flat"].compactMap { output[$0]?.object }
            isReproducible = vector["reproducible"] == true
            signing = (vector["signing"]?.array ?? vector["signing"].map { [$0] } ?? []).compactMap(\.object)
        }

        func generator() throws -> JWSGenerator {
            let signers = zip(keys, signing).map { key, signing in
                JWSSigner(signingService: key, unprotectedHeader: signing["unprotected"]?.object ?? [:])
            }
            return JWSGenerator(payload: payload, signers: signers)
        }
    }

    @Test("Every form of an example verifies", .shows("J26", "RFC 7520 §4"), arguments: single)
    func verifies(section: String) throws {
        let example = try Example(Self.path(section))
        let verifier = JWSVerifier(keys: example.keys.map(\.verificationKey))
        if let compact = example.compact {
            let verified =
                try section == "4_5."
                ? verifier.verify(compact: compact, detachedPayload: example.payload)
                : verifier.verify(compact: compact)
            #expect(verified.payload == example.payload)
        }
        #expect(example.json.count == 2)
        for json in example.json.map({ $0.serialized() }) {
            let verified =
                try section == "4_5."
                ? verifier.verify(json: json, detachedPayload: example.payload, requiring: .all)
                : verifier.verify(json: json, requiring: .all)
            #expect(verified.payload == example.payload)
        }
    }

    @Test(
        "Signing again gives the same result, if the algorithm is deterministic",
        .shows("RFC 7520 §4"),
        arguments: single
    )
    func again(section: String) throws {
        let example = try Example(Self.path(section))
        guard example.isReproducible else { return }
        let placement: JWSPayloadPlacement = section == "4_5." ? .detached : .attached
        if let compact = example.compact { #expect(try example.generator().compact(placement) == compact) }
        #expect(try example.generator().generalJSON(placement) == example.json[0])
        #expect(try example.generator().flattenedJSON(placement) == example.json[1])
    }

    @Test("Rejects §4.7, whose algorithm is unprotected", .shows("A5"))
    func contentOnly() throws {
        let example = try Example(Self.path("4_7."))
        let verifier = JWSVerifier(keys: example.keys.map(\.verificationKey))
        #expect(example.json.count == 2)
        for json in example.json {
            #expect(code { try verifier.verify(json: json.serialized(), requiring: .any) } == .unprotectedParameter)
        }
    }

    @Test(
        "§4.8: the first and the third signature verify, the second has an unprotected algorithm",
        .shows("RFC 7520 §4")
    )
    func several() throws {
        let example = try Example(Self.path("4_8."))
        let verifier = JWSVerifier(keys: example.keys.map(\.verificationKey))
        let json = try #require(example.json.first).serialized()
        let verified = try verifier.verify(json: json, requiring: .threshold(2))
        #expect(verified.payload == example.payload)
        #expect(verified.signatures.map(\.index) == [0, 2])
        #expect(verified.signatures.map(\.key.algorithm) == [.rs256, .hs256])
        #expect(verified.refusals.map(\.index) == [1])
        #expect(verified.refusals.map(\.reason.code) == [.unprotectedParameter])
        #expect(code { try verifier.verify(json: json, requiring: .all) } == .insufficientSignatures)
        #expect(code { try verifier.verify(json: json, requiring: .threshold(3)) } == .insufficientSignatures)
    }

    @Test("Verifies the cookbook's unencoded payload in its three forms")
    func unencoded() throws {
        let vector = try JSONObject(parsing: ExternalVector.data("rfc7520/cookbook-rfc7797-b64-false-compact.json"))
        let key = try SigningKey(jwk: JWK(#require(vector["key"]?.object)), algorithm: .hs256)
        let verifier = JWSVerifier(key: key.verificationKey)
        let payload = Data(try #require(vector["payload_utf8"]?.string).utf8)
        #expect(try verifier.verify(compact: #require(vector["compact"]?.string)).payload == payload)
        for name in ["json", "json_flat"] {
            let json = try #require(vector[name]?.object)
            #expect(try verifier.verify(json: json.serialized(), requiring: .all).payload == payload)
        }
        let generator = JWSGenerator(payload: payload, payloadEncoding: .unencoded, signingService: key)
        #expect(try generator.compact() == vector["compact"]?.string)
        #expect(try generator.generalJSON() == vector["json"]?.object)
    }

    @Test("Rejects the cookbook's draft, whose “b64” isn't in “crit”", .shows("D13", "RFC 7797 §6, §7"))
    func draft() throws {
        let path = "rfc7520/_defective/4.2.hmac-sha2_b64_false.json"
        let vector = try JSONObject(parsing: ExternalVector.data(path))
        let jwk = try JWK(#require(vector["input"]?.object?["key"]?.object))
        let key = try VerificationKey(jwk: jwk, algorithm: .hs256)
        let output = try #require(vector["output"]?.object)
        for name in ["json", "json_flat"] {
            let json = try #require(output[name]?.object).serialized()
            #expect(code { try JWSVerifier(key: key).verify(json: json, requiring: .any) } == .malformedToken)
        }
    }
}
