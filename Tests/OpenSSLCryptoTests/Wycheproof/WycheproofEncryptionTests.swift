import Foundation
import TestSupport
import TestVectors
import Testing

@testable import OpenSSLCrypto

/// C2SP/wycheproof's files about encryption, key wrapping, key agreement and key derivation.
///
/// The module is stricter than the verdicts in these cases: initialization vectors and tags of
/// other sizes than JWE's, wrapped keys under 16 bytes, labels of OAEP, MGF1 with another hash
/// function, and RSA keys under 2048 bits.
@Suite(
    "Wycheproof encryption",
    .enabled(if: ExternalVector.exists("wycheproof"), Comment(rawValue: ExternalVector.hint)),
    .computing
)
struct WycheproofEncryptionTests {
    /// Returns the paths of the files whose names start with a prefix.
    private static func paths(_ prefixes: String...) -> [String] {
        ExternalVector.paths(in: "wycheproof").filter { path in
            prefixes.contains { path.hasPrefix("wycheproof/" + $0) }
        }
    }

    /// A test case, with the members of its group.
    private struct Case {
        let members: [String: Any]

        var number: Int { members["tcId"] as? Int ?? -1 }
        var isValid: Bool { members["result"] as? String == "valid" }
        var isInvalid: Bool { members["result"] as? String == "invalid" }
        func text(_ name: String) -> String { members[name] as? String ?? "" }
        func octets(_ name: String) -> [UInt8] { [UInt8](hex: text(name)) }
        func number(_ name: String) -> Int { members[name] as? Int ?? Int(text(name)) ?? -1 }
        func flags(_ name: String) -> Bool { (members["flags"] as? [String])?.contains(name) ?? false }
        func jwk(_ name: String) -> [String: String] { members[name] as? [String: String] ?? [:] }
    }

    private func cases(_ path: String) throws -> [Case] {
        let file = try JSONSerialization.jsonObject(with: ExternalVector.data(path)) as? [String: Any]
        let groups = try #require(file?["testGroups"] as? [[String: Any]])
        let cases = groups.flatMap { group in
            (group["tests"] as? [[String: Any]] ?? []).map { test in
                Case(members: group.merging(test) { _, new in new })
            }
        }
        #expect(cases.count == file?["numberOfTests"] as? Int)
        return cases
    }

    private func open(_ cipher: AuthenticatedCipher, _ test: Case) throws -> [UInt8]? {
        let sealed = AuthenticatedCipher.Sealed(
            vector: test.octets("iv"),
            ciphertext: test.octets("ct"),
            tag: test.octets("tag")
        )
        let key = test.octets("key").secret
        return try test.octets("aad").withBytes { try cipher.open(sealed, authenticating: $0, key: key) }
    }

    @Test("AES-CBC with HMAC", .shows("RFC 7518 §5"), arguments: paths("a128cbc_", "a192cbc_", "a256cbc_"))
    func cbc(path: String) throws {
        let cipher: AuthenticatedCipher =
            path.contains("a128")
            ? .aes128CBCHMACSHA256 : path.contains("a192") ? .aes192CBCHMACSHA384 : .aes256CBCHMACSHA512
        for test in try cases(path) {
            guard test.octets("key").count == cipher.keySize else {
                #expect(!test.isValid)
                continue
            }
            #expect(try open(cipher, test) == (test.isValid ? test.octets("msg") : nil), "case \(test.number)")
        }
    }

    @Test("AES-GCM with vectors of 96 bits", .shows("RFC 7518 §5"), arguments: paths("aes_gcm_"))
    func gcm(path: String) throws {
        let ciphers: [Int: AuthenticatedCipher] = [128: .aes128GCM, 192: .aes192GCM, 256: .aes256GCM]
        for test in try cases(path) {
            let cipher = try #require(ciphers[test.number("keySize")])
            let isValid = test.isValid && test.number("ivSize") == 96
            #expect(try open(cipher, test) == (isValid ? test.octets("msg") : nil), "case \(test.number)")
        }
    }

    @Test("AES key wrap", .shows("RFC 7518 §4.4, §4.5"), arguments: paths("aes_wrap_", "aes_kwp_"))
    func wrap(path: String) throws {
        for test in try cases(path) {
            let wrapper = try AESKeyWrap(key: test.octets("key").secret)
            // Some cases of the padded wrap are keys that were wrapped without padding.
            let isValid = path.contains("aes_wrap") ? test.isValid : test.text("comment") == "RFC 3349 padding"
            let key = try wrapper.unwrap(test.octets("ct"))?.exposed
            #expect(key == (isValid ? test.octets("msg") : nil), "case \(test.number)")
            if isValid { #expect(try wrapper.wrap(test.octets("msg").secret) == test.octets("ct")) }
        }
    }

    @Test("ECDH with encoded points", arguments: paths("ecdh_").filter { $0.contains("ecpoint") })
    func points(path: String) throws {
        let curve: EllipticCurve = path.contains("256r1") ? .p256 : path.contains("384") ? .p384 : .p521
        for test in try cases(path) {
            let point = test.octets("public")
            let size = curve.coordinateSize
            // Only the uncompressed form has coordinates of the full size.
            let secret: [UInt8]? =
                if point.count == 1 + 2 * size, point[0] == 4 {
                    agree(curve, test.octets("private"), Array(point[1...size]), Array(point[(size + 1)...]))
                } else { nil }
            #expect(secret == (test.isValid ? test.octets("shared") : nil), "case \(test.number)")
        }
    }

    @Test("ECDH with JWKs", arguments: paths("ecdh_").filter { $0.contains("r1_webcrypto") })
    func coordinates(path: String) throws {
        for test in try cases(path) {
            let (key, peer) = (test.jwk("private"), test.jwk("public"))
            let curve = key["crv"] == peer["crv"] ? key["crv"].flatMap(EllipticCurve.init(name:)) : nil
            let secret = curve.flatMap { curve in
                agree(
                    curve,
                    [UInt8](base64URL: key["d"] ?? ""),
                    [UInt8](base64URL: peer["x"] ?? ""),
                    [UInt8](base64URL: peer["y"] ?? "")
                )
            }
            #expect(secret == (test.isValid ? test.octets("shared") : nil), "case \(test.number)")
        }
    }

    private func agree(_ curve: EllipticCurve, _ scalar: [UInt8], _ x: [UInt8], _ y: [UInt8]) -> [UInt8]? {
        let size = curve.coordinateSize
        let padded = [UInt8](repeating: 0, count: max(0, size - scalar.count)) + scalar.suffix(size)
        guard let key = try? ECPrivateKey(curve, scalar: padded.secret, expecting: nil),
            let peer = try? ECPublicKey(curve: curve, x: x, y: y)
        else { return nil }
        return try? PrivateKey.ellipticCurve(key).sharedSecret(with: .ellipticCurve(peer))?.exposed
    }

    @Test("X25519 and X448", .shows("RFC 7748 §5, §6"), arguments: ["x25519", "x448"])
    func montgomery(name: String) throws {
        let curve: MontgomeryCurve = name == "x25519" ? .x25519 : .x448
        for test in try cases("wycheproof/\(name)_test.json") {
            let seed = test.octets("private").secret
            let secret: [UInt8]? =
                if let peer = try? MontgomeryPublicKey(curve: curve, octets: test.octets("public")) {
                    try PrivateKey.montgomery(MontgomeryPrivateKey(curve: curve, seed: seed))
                        .sharedSecret(with: .montgomery(peer))?.exposed
                } else { nil }
            let isValid = !test.isInvalid && !test.flags("ZeroSharedSecret")
            #expect(secret == (isValid ? test.octets("shared") : nil), "case \(test.number)")
        }
    }

    @Test("PBKDF2", arguments: paths("pbkdf2_hmacsha"))
    func pbkdf2(path: String) throws {
        let hash: HashFunction = path.contains("256") ? .sha256 : path.contains("384") ? .sha384 : .sha512
        for test in try cases(path) {
            let key = try? PBKDF2.key(
                from: test.octets("password").secret,
                salt: test.octets("salt"),
                iterations: test.number("iterationCount"),
                hash: hash,
                count: test.number("dkLen")
            )
            let isValid = test.isValid && !test.text("password").isEmpty
            #expect(key?.exposed == (isValid ? test.octets("dk") : nil), "case \(test.number)")
        }
    }

    @Test("RSA OAEP", .shows("RFC 7518 §4.3"), arguments: paths("rsa_oaep_"))
    func oaep(path: String) throws {
        let hashes: [String: HashFunction] = [
            "SHA-1": .sha1, "SHA-256": .sha256, "SHA-384": .sha384, "SHA-512": .sha512,
        ]
        var decrypters: [String: RSADecrypter] = [:]
        for test in try cases(path) {
            guard test.number("keySize") >= 2048, let hash = hashes[test.text("sha")] else { continue }
            let der = test.text("privateKeyPkcs8")
            if decrypters[der + test.text("sha")] == nil {
                guard case .rsa(let key) = try PrivateKey(der: [UInt8](hex: der)) else { continue }
                decrypters[der + test.text("sha")] = try key.decrypter(hash: hash)
            }
            let decrypter = try #require(decrypters[der + test.text("sha")])
            let isValid = !test.isInvalid && test.text("label").isEmpty && test.text("mgfSha") == test.text("sha")
            let message = decrypter.decrypt(test.octets("ct"))?.exposed
            #expect(message == (isValid ? test.octets("msg") : nil), "case \(test.number)")
        }
    }
}
