import Foundation
import TestVectors
import TokenGeneration

/// The initial inputs, from `Vectors/`.
enum Seeds {
    /// A valid token and its key, from RFC 7515 A.3.
    struct SignedVector {
        let token: String
        let key: JWK
    }

    static let vector: SignedVector = {
        do {
            let object = try JSONObject(parsing: Vector.data("rfc7515-a3-es256"))
            guard let token = object["compact"]?.string, let key = object["key"]?.object else {
                throw TokenError(.malformedJSON, "the vector has no “compact” or “key”")
            }
            return SignedVector(token: token, key: try JWK(key))
        } catch {
            fatalError("rfc7515-a3-es256: \(error)")  // reason: the fuzzer requires the vector.
        }
    }()

    /// A verifier for the vector's token, which expired in 2011.
    static let verifier: JWTVerifier = {
        do {
            let year2010 = Date(timeIntervalSince1970: 1_262_304_000)
            let policy = ValidationPolicy(issuer: .skipIssuerCheck, expiration: .optional, currentDate: { year2010 })
            let verifier = JWTVerifier(key: try VerificationKey(jwk: vector.key), policy: policy)
            _ = try verifier.verify(vector.token)
            return verifier
        } catch {
            fatalError("rfc7515-a3-es256: \(error)")  // reason: the target requires a working verifier.
        }
    }()

    static func write(to folder: URL) throws {
        var seeds: [FuzzTarget: [Data]] = [:]
        for name in try vectorNames() {
            let data = try Vector.data(name)
            let object = try JSONSerialization.jsonObject(with: data)
            collect(object, into: &seeds)
            if data.count <= 8192 { seeds[.json, default: []].append(data) }
        }
        seeds[.compact, default: []] += try compactSeeds()
        seeds[.jws, default: []] += try jsonSeeds()
        seeds[.jwe, default: []] += try jweSeeds()
        seeds[.sdjwt, default: []] += sdJWTSeeds()
        seeds[.dpop, default: []] += proofSeeds()
        seeds[.field, default: []] += structuredFields
        seeds.merge(answerSeeds()) { $0 + $1 }
        seeds.merge(try recordSeeds()) { $0 + $1 }
        let key = try SigningKey(jwk: vector.key)
        for pem in [try key.pem(), try key.verificationKey.pem()] {
            seeds[.pem, default: []].append(Data(pem.utf8))
            let base64 = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
            if let der = Data(base64Encoded: base64) { seeds[.der, default: []].append(der) }
        }
        seeds[.der, default: []] += try KeyFuzzing.seeds()
        for target in FuzzTarget.allCases {
            let place = folder.appending(path: target.rawValue, directoryHint: .isDirectory)
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            for (index, seed) in seeds[target, default: []].enumerated() {
                try seed.write(to: place.appending(path: "seed-\(index)"))
            }
        }
    }

    private static func vectorNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: Vector.folder.path)
            .filter { $0.hasSuffix(".json") }.map { String($0.dropLast(".json".count)) }.sorted()
    }

    /// Collects the tokens and keys anywhere in a vector.
    private static func collect(_ value: Any, into seeds: inout [FuzzTarget: [Data]]) {
        if let text = value as? String, text.split(separator: ".", omittingEmptySubsequences: false).count == 3 {
            seeds[.token, default: []].append(Data(text.utf8))
            seeds[.compact, default: []].append(Data(text.utf8))
        } else if let list = value as? [Any] {
            for element in list { collect(element, into: &seeds) }
        } else if let object = value as? [String: Any] {
            if object["kty"] != nil || object["keys"] is [Any],
                let data = try? JSONSerialization.data(withJSONObject: object, options: .sortedKeys)
            {
                seeds[.jwk, default: []].append(data)
            }
            if object["signature"] is String || object["signatures"] is [Any],
                let data = try? JSONSerialization.data(withJSONObject: object, options: .sortedKeys)
            {
                seeds[.jws, default: []].append(data)
            }
            for name in object.keys.sorted() {
                if let member = object[name] { collect(member, into: &seeds) }
            }
        }
    }
}
