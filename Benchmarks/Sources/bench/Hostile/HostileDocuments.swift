import Foundation
import FoundationNetworking
import Networking
import TokenGeneration

extension HostileWork {
    /// Work that certificates cause.
    static let certificates = [
        HostileWork(name: "certificate, explicit curve") {
            let certificate = HostileCertificate.explicitCurve
            return { use(try? VerificationKey(der: certificate)) }
        },
        HostileWork(name: "20 keys, x5c on explicit curves") {
            let chain: JSONValue = [.string(Data(HostileCertificate.explicitCurve).base64EncodedString())]
            let keys = try (0..<20).map { _ in
                var jwk = try SigningKey.generate(.es256).verificationKey.jwk
                jwk.members["x5c"] = chain
                return JSONValue.object(jwk.members)
            }
            let text = JSONObject(dictionaryLiteral: ("keys", .array(keys))).serialized()
            return {
                guard let set = try? JWKSet(parsing: text) else { return }
                for key in set.keys { use(try? VerificationKey(jwk: key)) }
            }
        },
        HostileWork(name: "DPoP proof, x5c on explicit curve") {
            var jwk = try SigningKey.generate(.es256).verificationKey.jwk.members
            jwk["x5c"] = [.string(Data(HostileCertificate.explicitCurve).base64EncodedString())]
            let header: JSONObject = ["typ": "dpop+jwt", "alg": "ES256", "jwk": .object(jwk)]
            let claims: JSONObject = [
                "jti": "1", "htm": "GET", "htu": "https://api.example/", "iat": JSONValue(date: Date()),
            ]
            let proof = HostileDocument.compact([header, claims])
            let verifier = DPoPVerifier(replayCache: InMemoryReplayCache())
            return {
                use(
                    try? await verifier.verify(
                        proof,
                        method: "GET",
                        url: "https://api.example/",
                        for: .tokenEndpoint,
                        nonce: .notRequired
                    )
                )
            }
        },
        HostileWork(name: "PKCS#12, 20 explicit curves") {
            let file = HostileCertificate.pkcs12(certificates: 20)
            return { use(try? ClientIdentity(pkcs12: file)) }
        },
        HostileWork(name: "PKCS#12, DSA of 32,768 bits") {
            let file = HostileCertificate.pkcs12(dsaBits: 32_768)
            return { use(try? ClientIdentity(pkcs12: file)) }
        },
    ]

    /// Work that the names in documents and messages cause.
    static let documents = [
        HostileWork(name: "JWE in JSON of 250 KB") {
            let text = HostileDocument.encrypted()
            let decrypter = JWEDecrypter(
                key: try DecryptionKey.generate(.a128KW),
                policy: DecryptionPolicy(algorithms: [.a128KW], encryptions: [.a128GCM])
            )
            return { use(try? decrypter.decrypt(json: text)) }
        },
        HostileWork(name: "JWS in JSON of 62 KB") {
            let text = HostileDocument.signed(limit: 62_000)
            let verifier = JWSVerifier(key: try SigningKey.generate(.es256).verificationKey)
            return { use(try? verifier.verify(json: text, requiring: .any)) }
        },
        HostileWork(name: "SD-JWT in JSON of 248 KB") {
            let text = HostileDocument.signed(limit: 248_000)
            let verifier = SDJWTVerifier(key: try SigningKey.generate(.es256).verificationKey)
            return { use(try? verifier.verify(json: text, keyBinding: .notRequired)) }
        },
        HostileWork(name: "token with long crit") {
            let names = HostileDocument.names(450)
            var header = JSONObject(names.map { ($0, 1) })
            header["alg"] = "ES256"
            header["crit"] = .array(names.map(JSONValue.string))
            let token = HostileDocument.compact([header, [:]])
            let verifier = JWTVerifier(
                key: try SigningKey.generate(.es256).verificationKey,
                policy: ValidationPolicy(issuer: "https://id.example")
            )
            return { use(try? verifier.verify(token)) }
        },
        HostileWork(name: "304 with 4,900 fields") {
            let client = NetworkClient(transport: ManyFieldsTransport(), interceptors: [CacheInterceptor()])
            guard let url = URL(string: "https://api.example/") else { throw UsageError(text: "bench: no URL") }
            return {
                // The second request validates what the first one stored.
                for _ in 0..<2 { use(try? await client.makeRequest(URLRequest(url: url))) }
            }
        },
    ]
}

/// Documents with many short names, in a form that Unicode normalization changes.
enum HostileDocument {
    static func names(_ count: Int, prefix: String = "") -> [String] {
        (0..<count).map { "\(prefix)\u{344}\($0)" }
    }

    /// Returns a compact token with a random signature.
    static func compact(_ parts: [JSONObject]) -> String {
        let texts = parts.map { encoded(Array($0.serialized().utf8)) }
        return (texts + [encoded([UInt8](repeating: 7, count: 64))]).joined(separator: ".")
    }

    /// Returns a JWE in JSON for 16 recipients with long headers.
    static func encrypted() -> Data {
        let header: JSONObject = ["enc": "A128GCM"]
        var protected = JSONObject(names(380, prefix: "p").map { ($0, 1) })
        for member in header { protected[member.name] = member.value }
        let recipients = (0..<16).map { index in
            var header = JSONObject(names(900, prefix: "\(index)").map { ($0, 1) })
            header["alg"] = "A128KW"
            return JSONValue.object(["header": .object(header), "encrypted_key": .string(encoded([1, 2, 3]))])
        }
        let json: JSONObject = [
            "protected": .string(encoded(Array(protected.serialized().utf8))),
            "unprotected": .object(JSONObject(names(900, prefix: "u").map { ($0, 1) })),
            "recipients": .array(recipients),
            "iv": .string(encoded([UInt8](repeating: 1, count: 12))),
            "ciphertext": .string(encoded([1])),
            "tag": .string(encoded([UInt8](repeating: 1, count: 16))),
        ]
        return json.serializedData()
    }

    /// Returns a JWS in JSON of a limited size with several signatures and long headers.
    static func signed(limit: Int) -> Data {
        var protected = JSONObject(names(380, prefix: "p").map { ($0, 1) })
        protected["alg"] = "ES256"
        let entry: JSONObject = [
            "protected": .string(encoded(Array(protected.serialized().utf8))),
            "header": .object(JSONObject(names(900, prefix: "u").map { ($0, 1) })),
            "signature": .string(encoded([UInt8](repeating: 7, count: 64))),
        ]
        let count = max(1, (limit - 100) / (entry.serialized().utf8.count + 1))
        let json: JSONObject = [
            "payload": .string(encoded(Array("{}".utf8))),
            "signatures": .array(Array(repeating: .object(entry), count: count)),
        ]
        return json.serializedData()
    }

    private static func encoded(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

/// A transport that confirms a stored response with as many header fields as a message can have.
private struct ManyFieldsTransport: HTTPTransport {
    func send(_ request: HTTPRequest, limits: HTTPTransportLimits) async throws -> HTTPTransportResponse {
        let isValidation = request.headers["If-None-Match"] != nil
        let fields = (0..<4_900).map { HTTPHeaders.Field(name: "x-\($0)", value: "1") }
        let own: HTTPHeaders = ["ETag": "\"1\"", "Cache-Control": "max-age=0"]
        return HTTPTransportResponse(
            status: isValidation ? 304 : 200,
            headers: HTTPHeaders(Array(own) + fields),
            body: Data()
        )
    }
}
