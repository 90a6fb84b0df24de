import Foundation
import TokenGeneration

extension Seeds {
    /// Accepts what the vector's key has signed.
    static let jwsVerifier: JWSVerifier = {
        do {
            return JWSVerifier(key: try VerificationKey(jwk: vector.key), understoodExtensions: ["ext"])
        } catch {
            fatalError("rfc7515-a3-es256: \(error)")  // reason: without its key the target would be blind.
        }
    }()

    /// All payloads that the vector's key has signed: that of RFC 7515 A.3, A.6 and A.7, and those of the seeds.
    static let payloads: [Data] = {
        let claims = "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}"
        return [Data(claims.utf8), Data("a payload".utf8), Data()]
    }()

    static func compactSeeds() throws -> [Data] {
        var seeds: [Data] = []
        for generator in try generators(withUnprotectedHeader: false) {
            seeds += [try generator.compact(), try generator.compact(.detached)].map { Data($0.utf8) }
        }
        return seeds
    }

    static func jsonSeeds() throws -> [Data] {
        var seeds: [Data] = []
        for generator in try generators(withUnprotectedHeader: true) {
            for placement in [JWSPayloadPlacement.attached, .detached] {
                seeds.append(try generator.flattenedJSON(placement).serializedData())
                seeds.append(Data(try generator.generalJSON(placement).prettyPrinted().utf8))
            }
        }
        let service = try ES256SigningService(key: SigningKey(jwk: vector.key))
        let signers = try [service, .generate(keyID: "other"), service].map { JWSSigner(signingService: $0) }
        seeds.append(try JWSGenerator(payload: payloads[1], signers: signers).generalJSON().serializedData())
        return seeds
    }

    private static func generators(withUnprotectedHeader: Bool) throws -> [JWSGenerator] {
        let service = try ES256SigningService(key: SigningKey(jwk: vector.key))
        let signer = JWSSigner(
            signingService: service,
            header: ["cty": "text", "crit": ["ext"], "ext": [1, nil]],
            unprotectedHeader: withUnprotectedHeader ? ["kid": "a", "x5c": []] : [:]
        )
        return [JWSPayloadEncoding.base64url, .unencoded].flatMap { encoding in
            payloads.dropFirst().map { JWSGenerator(payload: $0, payloadEncoding: encoding, signers: [signer]) }
        }
    }
}
