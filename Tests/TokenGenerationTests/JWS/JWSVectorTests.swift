import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

/// The examples of the RFCs, by the names of their files in `Vectors/`.
@Suite("JWSs of RFC 7515 and RFC 7797", .computing)
struct JWSVectorTests {
    @Test(
        "A compact JWS and its JSON form verify; any other payload doesn't",
        .shows("J6", "RFC 7515 §3.1, §7.1", "RFC 7515 §5.1, §5.2", "RFC 7515 A.1–A.7", "RFC 7519 §3.1"),
        arguments: [
            "rfc7515-a1-hs256", "rfc7515-a2-rs256", "rfc7515-a3-es256", "rfc7515-a4-es512", "rfc7797-4.1-b64-control",
        ]
    )
    func compact(id: String) throws {
        let vector = try JSONObject(parsing: Vector.data(id))
        let text = try #require(vector["compact"]?.string)
        let payload = try payload(vector)
        let verifier = try verifier(vector)
        #expect(try verifier.verify(compact: text).payload == payload)
        #expect(try verifier.verify(compact: text).header == vector["header"]?.object)

        // RFC 7515 Appendix F: the payload is removed and passed separately.
        let parts = text.split(separator: ".").map(String.init)
        let detached = "\(parts[0])..\(parts[2])"
        #expect(try verifier.verify(compact: detached, detachedPayload: payload).payload == payload)
        #expect(code { try verifier.verify(compact: detached, detachedPayload: payload + [0]) } == .signatureInvalid)

        let json: JSONObject = [
            "payload": .string(parts[1]), "protected": .string(parts[0]), "signature": .string(parts[2]),
        ]
        #expect(try verifier.verify(json: json.serialized(), requiring: .all).payload == payload)
        var withoutPayload = json
        withoutPayload["payload"] = nil
        let withPayload = try verifier.verify(json: withoutPayload, detachedPayload: payload, requiring: .all)
        #expect(withPayload.payload == payload)

        // Only these algorithms are deterministic.
        if ["rfc7515-a2-rs256", "rfc7797-4.1-b64-control"].contains(id) {
            #expect(try JWSGenerator(payload: payload, signingService: service(vector)).compact() == text)
        }
    }

    @Test("No key verifies RFC 7515 A.5, which has no signature, in any form", .shows("RFC 7515 A.1–A.7"))
    func unsecured() throws {
        let vector = try JSONObject(parsing: Vector.data("rfc7515-a5-none"))
        let text = try #require(vector["compact"]?.string)
        let verifier = try JSONFixture.verifier()
        #expect(code { try verifier.verify(compact: text) } == .algorithmMismatch)
        let parts = text.split(separator: ".").map(String.init)
        let json = #"{"payload":"\#(parts[1])","protected":"\#(parts[0])","signature":""}"#
        #expect(code { try verifier.verify(json: json, requiring: .any) } == .algorithmMismatch)
    }

    @Test("RFC 7515 A.6: both signatures verify, each with its key", .shows("J7", "RFC 7515 §7.2.1"))
    func general() throws {
        let vector = try JSONObject(parsing: Vector.data("rfc7515-a6-general-json"))
        let json = try #require(vector["json"]?.object).serialized()
        let jwks = try #require(vector["keys"]?.array).map { try JWK($0.object ?? [:]) }
        let rsa = try VerificationKey(jwk: jwks[0], algorithm: .rs256)
        let ec = try VerificationKey(jwk: jwks[1])
        let verified = try JWSVerifier(keys: [rsa, ec]).verify(json: json, requiring: .everyKey)
        #expect(verified.payload == (try octets(base64URL: vector["payload_b64u"]?.string)))
        for (signature, joined) in zip(verified.signatures, try #require(vector["joined_headers"]?.array)) {
            var members = signature.protectedHeader
            for member in signature.unprotectedHeader { members[member.name] = member.value }
            #expect(members == joined.object)
        }
        #expect(verified.signatures.count == 2)
        let one = try JWSVerifier(key: ec).verify(json: json, requiring: .any)
        #expect(one.refusals.map(\.reason.code) == [.algorithmMismatch])
        #expect(code { try JWSVerifier(key: ec).verify(json: json, requiring: .all) } == .insufficientSignatures)
    }

    @Test("RFC 7515 A.7: the flattened form verifies", .shows("J7", "RFC 7515 §7.2.2"))
    func flattened() throws {
        let vector = try JSONObject(parsing: Vector.data("rfc7515-a7-flattened-json"))
        let json = try #require(vector["json"]?.object)
        let verified = try verifier(vector).verify(json: json.serialized(), requiring: .all)
        #expect(verified.payload == (try octets(base64URL: json["payload"]?.string)))
        #expect(verified.signatures.first?.unprotectedHeader == json["header"]?.object)
    }

    @Test("Rejects RFC 7515 Appendix E in every form", .shows("RFC 7515 E"))
    func critical() throws {
        let vector = try JSONObject(parsing: Vector.data("rfc7515-e-crit-negative"))
        let text = try #require(vector["compact"]?.string)
        let verifier = try JSONFixture.verifier()
        #expect(code { try verifier.verify(compact: text) } == .criticalHeaderUnsupported)
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let json = #"{"payload":"\#(parts[1])","protected":"\#(parts[0])","signature":"\#(parts[2])"}"#
        #expect(code { try verifier.verify(json: json, requiring: .any) } == .criticalHeaderUnsupported)
    }

    @Test(
        "RFC 7797 §4.2: the unencoded payload verifies and is reproduced, detached and in JSON",
        .shows("RFC 7797 §4.2")
    )
    func unencoded() throws {
        let vector = try JSONObject(parsing: Vector.data("rfc7797-4.2-b64-false"))
        let compact = try #require(vector["compact_detached"]?.string)
        let json = try #require(vector["json"]?.object)
        let payload = Data("$.02".utf8)
        let verifier = try verifier(vector)
        #expect(try verifier.verify(compact: compact, detachedPayload: payload).header == vector["header"]?.object)
        #expect(try verifier.verify(json: json.serialized(), requiring: .all).payload == payload)
        let generator = JWSGenerator(payload: payload, payloadEncoding: .unencoded, signingService: try service(vector))
        #expect(try generator.compact(.detached) == compact)
        #expect(try generator.flattenedJSON() == json)
        #expect(code { try generator.compact() } == .unencodableContent)
        // The period would start a fourth segment.
        let attached = compact.replacing("..", with: ".$.02.")
        #expect(code { try verifier.verify(compact: attached) } == .malformedToken)
    }

    private func key(_ vector: JSONObject) throws -> SigningKey {
        try SigningKey(
            jwk: JWK(#require(vector["key"]?.object)),
            algorithm: vector["alg"]?.string.flatMap { JWSAlgorithm(rawValue: $0) }
        )
    }

    private func verifier(_ vector: JSONObject) throws -> JWSVerifier {
        JWSVerifier(key: try key(vector).verificationKey)
    }

    private func service(_ vector: JSONObject) throws -> SigningKey {
        try key(vector)
    }

    private func octets(base64URL text: String?) throws -> Data {
        Data(try Base64URL.decode(#require(text)))
    }

    private func payload(_ vector: JSONObject) throws -> Data {
        if let text = vector["payload_utf8"]?.string { return Data(text.utf8) }
        return try octets(base64URL: vector["payload_b64u"]?.string)
    }
}
