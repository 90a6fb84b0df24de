import Foundation
import TestVectors
import TokenGeneration

extension Seeds {
    /// All encrypted contents.
    static let contents = [Data("a content".utf8), Data()]

    /// The keys, which are the same in every run, so that inputs of earlier runs stay valid.
    static let jweKeys: [DecryptionKey] = {
        do {
            let object = try JSONObject(parsing: Vector.data("rfc7518-c-ecdh-es"))
            guard let bob = object["bob"]?.object else { throw TokenError(.malformedJSON, "the vector has no “bob”") }
            let secret = [UInt8](repeating: 7, count: 16)
            return [
                try DecryptionKey(jwk: JWK(bob), algorithm: .ecdhES).identified(by: "a"),
                try DecryptionKey(secret: secret, algorithm: .a128KW).identified(by: "b"),
                try DecryptionKey(secret: secret, algorithm: .a128GCMKW).identified(by: "c"),
                try DecryptionKey(secret: secret, algorithm: .dir).identified(by: "d"),
            ]
        } catch {
            fatalError("JWE keys: \(error)")  // reason: the target requires the keys.
        }
    }()

    /// A decrypter for those keys.
    static let jweDecrypter: JWEDecrypter = {
        var policy = DecryptionPolicy(
            algorithms: [.ecdhES, .a128KW, .a128GCMKW, .dir],
            encryptions: [.a128GCM, .a128CBCHS256]
        )
        policy.understoodExtensions = ["ext"]
        return JWEDecrypter(keys: jweKeys, policy: policy)
    }()

    /// A compact token for each key, made once per process.
    private static let jweTokens: [String] = {
        do {
            return try jweKeys.enumerated().map { try jweGenerator($0, $1).compact() }
        } catch {
            fatalError("JWE seeds: \(error)")  // reason: the target requires the tokens.
        }
    }()

    /// The segments after the header of those tokens.
    static let jweRests = jweTokens.map { String($0[($0.firstIndex(of: ".") ?? $0.endIndex)...]) }

    private static func jweGenerator(_ index: Int, _ key: DecryptionKey) -> JWEGenerator {
        JWEGenerator(
            plaintext: contents[index % 2],
            encryption: .a128GCM,
            header: index == 1 ? ["crit": ["ext"], "ext": 1] : ["apu": "QWxpY2U"],
            recipients: [JWERecipient(key: key.encryptionKey)]
        )
    }

    static func jweSeeds() throws -> [Data] {
        var seeds: [Data] = []
        for (index, key) in jweKeys.enumerated() {
            let generator = jweGenerator(index, key)
            let token = try generator.compact()
            let header = try UnverifiedJWE(compact: token).unverifiedProtectedHeader.serialized()
            seeds += [Data(token.utf8), try generator.flattenedJSON().serializedData()]
            seeds.append(Data("#\(index)\(header)".utf8))
        }
        let several = JWEGenerator(
            plaintext: contents[0],
            encryption: .a128CBCHS256,
            unprotectedHeader: ["jku": "https://x.example"],
            additionalData: Data("additional".utf8),
            recipients: jweKeys[1...2].map { JWERecipient(key: $0.encryptionKey, header: ["x": 1]) }
        )
        seeds.append(Data(try several.generalJSON().prettyPrinted().utf8))
        return seeds
    }
}
