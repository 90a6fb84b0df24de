import Foundation
import OpenSSLCrypto
import TestVectors
import TokenGeneration

extension Seeds {
    /// The rule for fuzzed key bindings.
    static let keyBindingRule = KeyBindingRule.required(nonce: "n", audience: "a")

    /// A verifier for the key that signs the fuzzed tokens.
    static let sdJWTVerifier: SDJWTVerifier = {
        do {
            return SDJWTVerifier(key: try VerificationKey(jwk: vector.key), policy: sdJWTPolicy)
        } catch {
            fatalError("rfc7515-a3-es256: \(error)")  // reason: the target requires a working verifier.
        }
    }()

    /// A verifier for the examples of RFC 9901.
    static let exampleVerifier: SDJWTVerifier = {
        do {
            let vector = try JSONObject(parsing: Vector.data("rfc9901-sd-jwt"))
            let members = vector["keys"]?.object?["issuer"]?.object ?? [:]
            return SDJWTVerifier(key: try VerificationKey(jwk: JWK(members)), policy: sdJWTPolicy)
        } catch {
            fatalError("rfc9901-sd-jwt: \(error)")  // reason: the target requires the vector.
        }
    }()

    private static var sdJWTPolicy: ValidationPolicy {
        let date = proofDate
        return ValidationPolicy(
            issuer: .skipIssuerCheck,
            leeway: .seconds(1_000_000_000),
            expiration: .optional,
            currentDate: { date }
        )
    }

    /// The issuer-signed JWTs of RFC 9901 in compact form.
    static let exampleJWTs: Set<String> = {
        let vector = try? JSONObject(parsing: Vector.data("rfc9901-sd-jwt"))
        let compact = (vector?["compact"]?.array ?? []).compactMap { $0.object?["sd_jwt"]?.string }
        let json = (vector?["json_serialization"]?.array ?? []).compactMap {
            $0.object?["sd_jwt_json"]?.object?["payload"]?.string
        }
        return Set(compact.compactMap { $0.split(separator: "~").first.map(String.init) } + json)
    }()

    /// Returns the SHA-256 hash of a text in base64url.
    static func digest(_ text: String) -> String {
        let hash = try? Array(text.utf8).withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }
        return Base64URL.encode(hash ?? [])
    }

    static func sdJWTSeeds() -> [Data] {
        let key = vector.key.publicPart.members.serialized()
        let binding = #"{"iat":1562262616,"nonce":"n","aud":"a","sd_hash":"%0"}"#
        var texts = [
            [
                "", #"{"_sd":["%0","%1","decoy"],"a":[{"...":"%2"},{"...":"x"},1],"_sd_alg":"sha-256"}"#,
                #"["s","name",{"_sd":["%3"]}]"#, #"["t","b",[{"...":"%4"}]]"#, #"["u",null]"#, #"["v","c",1.5]"#,
                #"["w",{"d":"é"}]"#,
            ],
            [binding, #"{"_sd":["%0"],"cnf":{"jwk":\#(key)}}"#, #"["s","name","Alice"]"#],
            [binding, #"{"_sd":["%0"]}"#, #"["s","cnf",{"jwk":\#(key)}]"#],
            ["", #"{"_sd":[],"a":{"_sd":["%0"]},"exp":1e300}"#, #"["s","iss","x"]"#],
        ].map { $0.joined(separator: "\n") }
        let vector = try? JSONObject(parsing: Vector.data("rfc9901-sd-jwt"))
        texts += (vector?["compact"]?.array ?? []).compactMap { $0.object?["sd_jwt"]?.string }
        texts += (vector?["json_serialization"]?.array ?? []).compactMap {
            $0.object?["sd_jwt_json"]?.object?.serialized()
        }
        return texts.map { Data($0.utf8) }
    }
}
