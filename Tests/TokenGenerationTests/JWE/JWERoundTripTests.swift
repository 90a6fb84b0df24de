import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("JWE round trips", .computing)
struct JWERoundTripTests {
    @Test(
        "Every algorithm works with every content encryption",
        .shows("J10", "RFC 7516 §3.1, §7.1", "RFC 7518 §4.7"),
        arguments: JWEAlgorithm.implemented
    )
    func everyPair(algorithm: JWEAlgorithm) throws {
        for encryption in JWEEncryption.implemented {
            let key = try JWEFixture.key(algorithm, encryption: encryption).identified(by: "k1")
            let encryptionKey = try JWEFixture.encryptionKey(key).identified(by: "k1")
            for size in [0, 1, 16, 1000] {
                let content = Data(repeating: 0x61, count: size)
                let token = try encryptionKey.encrypt(content, encryption: encryption)
                let policy = DecryptionPolicy(
                    algorithms: [algorithm],
                    encryptions: [encryption],
                    maximumPasswordIterations: 1_000
                )
                let jwe = try JWEDecrypter(key: key, policy: policy).decrypt(compact: token)
                #expect(jwe.plaintext == content)
                #expect(jwe.algorithm == algorithm)
                #expect(jwe.encryption == encryption)
                #expect(jwe.recipientIndex == 0)
                #expect(jwe.keyID == "k1")
                #expect(jwe.header["alg"]?.string == algorithm.rawValue)
                #expect(jwe.header["enc"]?.string == encryption.rawValue)
                #expect(jwe.header["kid"]?.string == "k1")
                #expect(jwe.unprotectedHeader.isEmpty)
            }
        }
    }

    @Test(
        "Every curve works",
        .shows("RFC 7518 §4.6"),
        arguments: [KeyAgreementCurve.p256, .p384, .p521, .x25519, .x448],
        [JWEAlgorithm.ecdhES, .ecdhESA128KW, .ecdhESA192KW, .ecdhESA256KW]
    )
    func curves(curve: KeyAgreementCurve, algorithm: JWEAlgorithm) throws {
        let key = try DecryptionKey.generate(algorithm, on: curve)
        let token = try key.encryptionKey.encrypt(JWEFixture.plaintext, encryption: .a192CBCHS384)
        #expect(try JWEFixture.open(token, key) == JWEFixture.plaintext)
        let header = try UnverifiedJWE(compact: token).unverifiedProtectedHeader
        #expect(header["epk"]?.object?["crv"]?.string == curve.rawValue)
        #expect(header["epk"]?.object?["d"] == nil)
    }

    @Test(
        "Two encryptions share nothing that's random",
        .shows("E14", "RFC 7516 §5.1, §5.2"),
        arguments: JWEAlgorithm.implemented
    )
    func freshness(algorithm: JWEAlgorithm) throws {
        let key = try JWEFixture.encryptionKey(JWEFixture.key(algorithm))
        let first = try JWEFixture.segments(key.encrypt(JWEFixture.plaintext))
        let second = try JWEFixture.segments(key.encrypt(JWEFixture.plaintext))
        for index in 2...4 { #expect(first[index] != second[index]) }
        if !first[1].isEmpty { #expect(first[1] != second[1]) }
        let headers = try [first, second].map { try JSONObject(parsing: Data(Base64URL.decode($0[0]))) }
        for name in ["epk", "iv", "tag", "p2s"] where headers[0][name] != nil {
            #expect(headers[0][name] != headers[1][name])
        }
    }

    @Test("Claims become a JWT whose times are numbers") func claims() throws {
        let key = try DecryptionKey.generate(.a256KW)
        let claims = RegisteredClaims(issuer: "me", expiration: Date(timeIntervalSince1970: 1_700_000_100))
        let jwe = try JWEDecrypter(key: key, policy: JWEFixture.anyPolicy)
            .decrypt(compact: key.encryptionKey.encrypt(claims))
        #expect(String(decoding: jwe.plaintext, as: UTF8.self) == #"{"exp":1700000100,"iss":"me"}"#)
        #expect(jwe.header["typ"]?.string == "JWT")
        #expect(jwe.header["cty"] == nil)
    }

    @Test("A size over the limit is rejected before anything else") func sizeLimit() throws {
        let key = try DecryptionKey.generate(.dir)
        let token = try key.encryptionKey.encrypt(Data(repeating: 0, count: 200_000))
        #expect(code { try JWEFixture.open(token, key) } == .tooLarge)
        var policy = JWEFixture.anyPolicy
        policy.limits.size = 300_000
        #expect(try JWEDecrypter(key: key, policy: policy).decrypt(compact: token).plaintext.count == 200_000)
    }

    @Test("Content encryption defaults to A256GCM, or to that of the key for dir") func defaults() throws {
        func encryption(_ key: DecryptionKey) throws -> String? {
            try UnverifiedJWE(compact: key.encryptionKey.encrypt(Data())).unverifiedProtectedHeader["enc"]?.string
        }
        #expect(try encryption(.generate(.ecdhESA256KW)) == "A256GCM")
        #expect(try encryption(.generate(.dir, encryption: .a128CBCHS256)) == "A128CBC-HS256")
        let key = try DecryptionKey.generate(.dir, encryption: .a128CBCHS256).encryptionKey
        #expect(code { try key.encrypt(Data(), encryption: .a256GCM) } == .algorithmMismatch)
    }
}
