import Foundation
import OpenSSLCrypto
import TestSupport
import TestVectors
import Testing
import TokenGeneration

private struct RFC9964: Decodable {
    struct Case: Decodable {
        let alg: String
        let key: [String: String]
        let compact: String
        let thumbprint: String
        let spki: String
        let pkcs8: String

        enum CodingKeys: String, CodingKey {
            case alg, key, compact
            case thumbprint = "thumbprint_b64u"
            case spki = "derived_spki_pem"
            case pkcs8 = "derived_pkcs8_seed_pem"
        }

        func jwk(_ changes: [String: String?] = [:]) throws -> JWK {
            var members = JSONObject()
            for (name, value) in key { members[name] = .string(value) }
            for (name, value) in changes { members[name] = value.map { .string($0) } }
            return try JWK(members)
        }
    }

    struct Negative: Decodable {
        let id: String
        let compact: String?
        let key: [String: String]
    }

    let cases: [Case]
    let negative: [Negative]

    static func example(_ algorithm: String) throws -> Case {
        let document = try Vector.decode("rfc9964-ml-dsa", as: RFC9964.self)
        return try #require(document.cases.first { $0.alg == algorithm })
    }
}

@Suite("ML-DSA keys (RFC 9964)", .computing)
struct MLDSAKeyTests {
    private static let isAvailable = MLDSAParameters.mldsa65.isAvailable
    private static let names = ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"]

    @Test("The thumbprint covers alg, kty and pub", arguments: Self.names)
    func thumbprint(name: String) throws {
        let example = try RFC9964.example(name)
        #expect(try example.jwk().thumbprint == example.thumbprint)
    }

    @Test(
        "A malformed or contradictory JWK is refused before OpenSSL is asked",
        .shows("RFC 9964"),
        arguments: Self.names
    )
    func malformed(name: String) throws {
        let example = try RFC9964.example(name)
        let pub = try #require(example.key["pub"])
        let cases: [([String: String?], TokenError.Code)] = [
            (["alg": nil], .malformedKey),
            (["alg": "ES256"], .keyMismatch),
            (["alg": "SLH-DSA-SHA2-128s"], .unsupportedAlgorithm),
            (["pub": nil], .malformedKey),
            (["pub": String(pub.dropLast(4))], .malformedKey),
            (["pub": pub + "AAAA"], .malformedKey),
            (["kty": "OKP"], .malformedKey),
            (["kty": "EC", "crv": "P-256"], .keyMismatch),
            (["use": "enc"], .keyMismatch),
        ]
        for (changes, expected) in cases {
            let jwk = try example.jwk(changes)
            #expect(code { try VerificationKey(jwk: jwk) } == expected, "\(changes.keys)")
            #expect(code { try SigningKey(jwk: jwk) } == expected, "\(changes.keys)")
        }
        for priv in ["AAAA", String(repeating: "A", count: 86)] {
            let jwk = try example.jwk(["priv": priv])
            #expect(code { try SigningKey(jwk: jwk) } == .malformedKey)
        }
        let publicKey = try example.jwk(["priv": nil])
        #expect(code { try SigningKey(jwk: publicKey) } == .privateKeyRequired)
        let other: JWSAlgorithm = name == "ML-DSA-44" ? .mldsa65 : .mldsa44
        #expect(code { try VerificationKey(jwk: publicKey, algorithm: other) } == .algorithmMismatch)
    }

    @Test(
        "Before OpenSSL 3.5, every use is refused and the message names the version",
        .enabled(if: !Self.isAvailable, "OpenSSL 3.5 or later offers ML-DSA"),
        .shows("J5", "Q1"),
        arguments: Self.names
    )
    func unavailable(name: String) throws {
        let example = try RFC9964.example(name)
        let jwk = try example.jwk()
        let algorithm = try #require(JWSAlgorithm(rawValue: name))
        let uses: [() throws -> Void] = [
            { _ = try SigningKey.generate(algorithm) }, { _ = try SigningKey(jwk: jwk) },
            { _ = try VerificationKey(jwk: jwk) }, { _ = try SigningKey(pem: example.pkcs8) },
            { _ = try VerificationKey(pem: example.spki) },
        ]
        for use in uses {
            let error = #expect(throws: TokenError.self) { try use() }
            #expect(error?.code == .unsupportedAlgorithm)
            #expect(error?.message.contains("OpenSSL 3.5") == true)
        }
    }

    @Test("A key set skips an AKP key that it can't use", arguments: ["ML-DSA-65", "SLH-DSA-SHA2-128s"])
    func keySet(name: String) throws {
        let signer = try SigningKey.generate(.es256)
        let jwk = try RFC9964.example("ML-DSA-65").jwk(["alg": name, "priv": nil])
        let set = JWKSet(keys: [jwk, signer.verificationKey.jwk])
        let token = try Fixture.token(header: #"{"alg":"ES256"}"#, payload: #"{"exp":4000000000}"#, key: signer)
        _ = try JWTVerifier(keys: set).verify(token)
        let isUsable = name == "ML-DSA-65" && Self.isAvailable
        let reasons: [TokenError.Code] = set.unusableKeys().map { $0.reason.code }
        let expected: [TokenError.Code] = isUsable ? [] : [.unsupportedAlgorithm]
        #expect(reasons == expected)
    }

    @Test(
        "The RFC's keys and signatures, PEM, and round trips",
        .enabled(if: Self.isAvailable, "OpenSSL 3.5 or later is needed for ML-DSA"),
        .shows("J5", "RFC 9964"),
        arguments: Self.names
    )
    func example(name: String) throws {
        let example = try RFC9964.example(name)
        let key = try SigningKey(jwk: example.jwk())
        #expect(key.algorithm.rawValue == name)
        _ = try JWSVerifier(key: key.verificationKey).verify(compact: example.compact)
        #expect(try key.pem() == example.pkcs8)
        #expect(try key.verificationKey.pem() == example.spki)
        let imported = try SigningKey(pem: example.pkcs8)
        #expect(try imported.privateJWK().members["priv"] == .string(try #require(example.key["priv"])))
        #expect(imported.verificationKey.thumbprint == example.thumbprint)
        let encrypted = try imported.pem(.encryptedPKCS8(password: "password"))
        #expect(try SigningKey(pem: encrypted, password: "password").verificationKey.thumbprint == example.thumbprint)
        let generated = try SigningKey.generate(key.algorithm)
        let token = try Fixture.token(
            header: #"{"alg":"\#(name)"}"#,
            payload: #"{"exp":4000000000}"#,
            key: generated
        )
        _ = try JWTVerifier(key: generated.verificationKey).verify(token)
        #expect(code { try JWTVerifier(key: key.verificationKey).verify(token) } == .signatureInvalid)
        let mismatched = try example.jwk(["priv": String(repeating: "A", count: 42) + "E"])
        #expect(code { try SigningKey(jwk: mismatched) } == .keyMismatch)
    }

    @Test(
        "Keys and signatures that aren't for JOSE are refused",
        arguments: [
            ("context-not-empty", .signatureInvalid), ("signature-truncated", .signatureInvalid),
            ("signature-extended", .signatureInvalid), ("signature-flipped", .signatureInvalid),
            ("pub-short", .malformedKey), ("pub-long", .malformedKey), ("alg-missing", .malformedKey),
            ("alg-other-size", .malformedKey), ("alg-unknown", .unsupportedAlgorithm), ("pub-missing", .malformedKey),
            ("priv-short", .malformedKey), ("priv-expanded", .malformedKey), ("priv-pub-mismatch", .keyMismatch),
            ("okp-kty", .keyMismatch),
        ] as [(String, TokenError.Code)]
    )
    func negative(id: String, expected: TokenError.Code) throws {
        let all = try Vector.decode("rfc9964-ml-dsa", as: RFC9964.self).negative
        #expect(all.count == 14)
        let example = try #require(all.first { $0.id == id })
        let jwk = try JWK(JSONObject(example.key.map { ($0.key, JSONValue.string($0.value)) }))
        let needsOpenSSL = example.compact != nil || expected == .keyMismatch && id != "okp-kty"
        let refusal = code {
            if let compact = example.compact {
                _ = try JWSVerifier(key: VerificationKey(jwk: jwk)).verify(compact: compact)
            } else if jwk.isPrivate {
                _ = try SigningKey(jwk: jwk)
            } else {
                _ = try VerificationKey(jwk: jwk)
            }
        }
        #expect(refusal == (needsOpenSSL && !Self.isAvailable ? .unsupportedAlgorithm : expected))
    }

    @Test(
        "DPoP proofs of the larger parameter sets need a higher limit",
        .enabled(if: Self.isAvailable, "requires OpenSSL 3.5"),
        arguments: Self.names
    )
    func proofs(name: String) async throws {
        let algorithm = try #require(JWSAlgorithm(rawValue: name))
        let generator = try DPoPProofGenerator(key: .generate(algorithm))
        let nonce = String(repeating: "n", count: 64)
        let proof = try generator.proof(method: "POST", url: "https://as.example/token", nonce: nonce)
        var verifier = DPoPVerifier(replayCache: InMemoryReplayCache())
        let url = "https://as.example/token"
        func verify(by verifier: DPoPVerifier) async -> TokenError.Code? {
            await asyncCode {
                try await verifier.verify(
                    proof,
                    method: "POST",
                    url: url,
                    for: .tokenEndpoint,
                    nonce: .oneOf([nonce])
                )
            }
        }
        let expected: TokenError.Code? = name == "ML-DSA-44" ? nil : .tooLarge
        #expect(await verify(by: verifier) == expected)
        guard expected != nil else { return }
        verifier.limits.size = 12_288
        #expect(await verify(by: verifier) == nil)
    }
}
