import Foundation
import TestVectors
import TokenGeneration

extension Seeds {
    /// The key of RFC 7515 A.1 and RFC 7797, with fast signatures.
    static let jwsKey: SigningKey = {
        do {
            let object = try JSONObject(parsing: Vector.data("rfc7515-a1-hs256"))
            guard let key = object["key"]?.object else { throw TokenError(.malformedJSON, "the vector has no “key”") }
            return try SigningKey(jwk: JWK(key), algorithm: .hs256)
        } catch {
            fatalError("rfc7515-a1-hs256: \(error)")  // reason: the target requires the key.
        }
    }()

    /// A verifier for that key.
    static let jwsVerifier: JWSVerifier = {
        var verifier = JWSVerifier(key: jwsKey.verificationKey)
        verifier.understoodExtensions = ["ext"]
        return verifier
    }()

    /// All signed payloads: those of RFC 7515 A.1, RFC 7797 and the seeds.
    static let payloads: [Data] = {
        let claims = "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}"
        return [Data(claims.utf8), Data("$.02".utf8), Data("a payload".utf8), Data()]
    }()

    static func compactSeeds() throws -> [Data] {
        var seeds: [Data] = []
        for generator in generators(withUnprotectedHeader: false) {
            seeds += [try generator.compact(), try generator.compact(.detached)].map { Data($0.utf8) }
        }
        return seeds
    }

    static func jsonSeeds() throws -> [Data] {
        var seeds: [Data] = []
        for generator in generators(withUnprotectedHeader: true) {
            for placement in [JWSPayloadPlacement.attached, .detached] {
                seeds.append(try generator.flattenedJSON(placement).serializedData())
                seeds.append(Data(try generator.generalJSON(placement).prettyPrinted().utf8))
            }
        }
        let service = jwsKey
        let other = try SigningKey.generate(.es256).identified(by: "other")
        let signers = [service, other, service].map { JWSSigner(signingService: $0) }
        seeds.append(try JWSGenerator(payload: payloads[2], signers: signers).generalJSON().serializedData())
        return seeds
    }

    private static func generators(withUnprotectedHeader: Bool) -> [JWSGenerator] {
        let service = jwsKey
        let signer = JWSSigner(
            signingService: service,
            header: ["cty": "text", "crit": ["ext"], "ext": [1, nil]],
            unprotectedHeader: withUnprotectedHeader ? ["kid": "a", "x5c": []] : [:]
        )
        return [JWSPayloadEncoding.base64url, .unencoded].flatMap { encoding in
            payloads.dropFirst(2).map { JWSGenerator(payload: $0, payloadEncoding: encoding, signers: [signer]) }
        }
    }
}
