import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("JSON serializations of JWE", .computing)
struct JWEJSONTests {
    private let keys: [DecryptionKey]

    init() throws {
        keys = [
            try DecryptionKey.generate(.ecdhESA256KW, on: .x25519).identified(by: "alice"),
            try DecryptionKey.generate(.a256GCMKW).identified(by: "bob"), try DecryptionKey.generate(.a128KW),
        ]
    }

    private func generator(
        _ count: Int,
        header: JSONObject = [:],
        unprotectedHeader: JSONObject = [:],
        additionalData: Data? = nil
    ) -> JWEGenerator {
        JWEGenerator(
            plaintext: JWEFixture.plaintext,
            encryption: .a128CBCHS256,
            header: header,
            unprotectedHeader: unprotectedHeader,
            additionalData: additionalData,
            recipients: keys.prefix(count).map { JWERecipient(key: $0.encryptionKey) }
        )
    }

    private func decrypter(_ index: Int) -> JWEDecrypter {
        JWEDecrypter(key: keys[index], policy: JWEFixture.anyPolicy)
    }

    @Test("Each recipient decrypts and learns its index", .shows("J10", "RFC 7516 §7.2")) func severalRecipients()
        throws
    {
        let json = try generator(3, header: ["typ": "x"], unprotectedHeader: ["jku": "https://x"]).generalJSON()
        for index in keys.indices {
            for jwe in try [
                decrypter(index).decrypt(json: json), decrypter(index).decrypt(json: json.serialized()),
                decrypter(index).decrypt(json: json.serializedData()),
            ] {
                #expect(jwe.plaintext == JWEFixture.plaintext)
                #expect(jwe.recipientIndex == index)
                #expect(jwe.algorithm == keys[index].algorithm)
                #expect(jwe.header == ["enc": "A128CBC-HS256", "typ": "x"])
                #expect(jwe.unprotectedHeader["jku"]?.string == "https://x")
                #expect(jwe.unprotectedHeader["kid"]?.string == keys[index].keyID)
            }
        }
    }

    @Test("Additional data is authenticated", .shows("RFC 7516 §7.2"))
    func additionalData() throws {
        let data = Data("additional".utf8)
        for json in try [
            generator(1, additionalData: data).flattenedJSON(), generator(1, additionalData: data).generalJSON(),
        ] {
            let jwe = try decrypter(0).decrypt(json: json)
            #expect(jwe.additionalData == data)
            var changed = json
            changed["aad"] = nil
            #expect(code { try decrypter(0).decrypt(json: changed) } == .decryptionFailed)
            changed["aad"] = "AAAA"
            #expect(code { try decrypter(0).decrypt(json: changed) } == .decryptionFailed)
        }
        let plain = try generator(1).flattenedJSON()
        #expect(try decrypter(0).decrypt(json: plain).additionalData == nil)
    }

    @Test("Empty additional data is absent", .shows("RFC 7516 §7.2")) func emptyAdditionalData() throws {
        let empty = generator(1, additionalData: Data())
        for json in try [empty.flattenedJSON(), empty.generalJSON()] {
            #expect(json["aad"] == nil)
            #expect(try decrypter(0).decrypt(json: json).plaintext == JWEFixture.plaintext)
        }
        #expect(try decrypter(0).decrypt(compact: empty.compact()).plaintext == JWEFixture.plaintext)
    }

    @Test("One recipient's parameters are all protected") func everythingProtected() throws {
        let flattened = try generator(1).flattenedJSON()
        #expect(flattened["header"] == nil)
        #expect(flattened["unprotected"] == nil)
        #expect(flattened["encrypted_key"]?.string != nil)
        let jwe = try decrypter(0).decrypt(json: flattened)
        #expect(jwe.unprotectedHeader.isEmpty)
        for name in ["alg", "enc", "kid", "epk"] { #expect(jwe.header[name] != nil) }
        let general = try generator(1).generalJSON()
        #expect(general["recipients"]?.array?.count == 1)
        #expect(try decrypter(0).decrypt(json: general).plaintext == JWEFixture.plaintext)
    }

    @Test("Key IDs can be in the recipient's header") func unprotectedKeyID() throws {
        let recipient = JWERecipient(key: keys[0].encryptionKey, header: ["kid": "alice"])
        let json = try JWEGenerator(plaintext: Data(), recipients: [recipient]).flattenedJSON()
        let jwe = try decrypter(0).decrypt(json: json)
        #expect(jwe.header["kid"] == nil)
        #expect(jwe.unprotectedHeader["kid"]?.string == "alice")
        let other = JWERecipient(key: keys[0].encryptionKey, header: ["kid": "bob"])
        #expect(code { try JWEGenerator(plaintext: Data(), recipients: [other]).flattenedJSON() } == .algorithmMismatch)
    }

    @Test("dir and ECDH-ES have one recipient", .shows("E10"), arguments: [JWEAlgorithm.dir, .ecdhES])
    func onlyRecipient(algorithm: JWEAlgorithm) throws {
        let key = try DecryptionKey.generate(algorithm)
        let recipients = [JWERecipient(key: keys[2].encryptionKey), JWERecipient(key: key.encryptionKey)]
        #expect(
            code { try JWEGenerator(plaintext: Data(), recipients: recipients).generalJSON() } == .unencodableContent
        )
        let json = try JWEGenerator(plaintext: Data(), recipients: [JWERecipient(key: key.encryptionKey)]).generalJSON()
        #expect(json["recipients"]?.array?.first?.object?["encrypted_key"] == nil)
        #expect(try JWEDecrypter(key: key, policy: JWEFixture.anyPolicy).decrypt(json: json).plaintext.isEmpty)
        var several = try generator(2).generalJSON()
        several["recipients"] = .array([
            .object(["header": ["alg": .string(algorithm.rawValue)]]), several["recipients"]?.array?.first ?? [:],
        ])
        #expect(code { try decrypter(0).decrypt(json: several) } == .malformedToken)
    }

    @Test("Forms and headers that don't fit are refused", .shows("E14")) func refusals() throws {
        #expect(code { try generator(2).compact() } == .unencodableContent)
        #expect(code { try generator(2).flattenedJSON() } == .unencodableContent)
        #expect(code { try generator(0).generalJSON() } == .unencodableContent)
        #expect(code { try generator(1, additionalData: Data("a".utf8)).compact() } == .unencodableContent)
        #expect(code { try generator(1, unprotectedHeader: ["a": 1]).compact() } == .unencodableContent)
        for name in ["epk", "iv", "tag", "p2s", "p2c", "b64"] {
            #expect(code { try generator(1, header: [name: "x"]).compact() } == .unencodableContent)
            #expect(code { try generator(1, unprotectedHeader: [name: "x"]).generalJSON() } == .unencodableContent)
        }
        for name in ["alg", "enc", "crit", "apu", "apv"] {
            #expect(code { try generator(1, unprotectedHeader: [name: "x"]).generalJSON() } == .unprotectedParameter)
        }
        #expect(code { try generator(1, header: ["alg": "A128KW"]).compact() } == .algorithmMismatch)
        #expect(code { try generator(1, header: ["enc": "A128GCM"]).compact() } == .algorithmMismatch)
        #expect(code { try generator(1, header: ["kid": "other"]).compact() } == .algorithmMismatch)
        #expect(code { try generator(1, header: ["kid": 1]).compact() } == .unencodableContent)
        #expect(code { try generator(1, header: ["crit": ["x"]]).compact() } == .unencodableContent)
        #expect(
            code { try generator(1, header: ["a": 1], unprotectedHeader: ["a": 1]).generalJSON() }
                == .unencodableContent
        )
        #expect(code { try generator(2, header: ["alg": "A128KW"]).generalJSON() } == .unencodableContent)
    }

    @Test(
        "Malformed JSON is rejected",
        .shows("RFC 7516 §7.2"),
        arguments: [
            ("payload", "AA"), ("signatures", []), ("signature", "AA"), ("protected", ""), ("protected", 1),
            ("protected", nil), ("unprotected", "x"), ("unprotected", ["enc2": 1, "epk": [:]]), ("recipients", [:]),
            ("recipients", []), ("recipients", [1]), ("header", [:]), ("encrypted_key", "AAAA"), ("iv", nil),
            ("iv", "A="), ("ciphertext", nil), ("ciphertext", 5), ("tag", nil), ("tag", ""), ("aad", 1),
            ("aad", "A"), ("unprotected", ["enc": "A128GCM"]),
        ] as [(String, JSONValue?)]
    )
    func malformed(name: String, value: JSONValue?) throws {
        var json = try generator(2).generalJSON()
        json[name] = value
        let found = try #require(code { try decrypter(0).decrypt(json: json) })
        #expect([.malformedToken, .unprotectedParameter].contains(found), "\(name): \(found)")
    }

    @Test("Algorithms and their parameters in a shared unprotected header are rejected", .shows("E11"))
    func sharedHeader() throws {
        let json = try generator(1).flattenedJSON()
        for name in ["alg", "enc", "epk", "iv", "tag", "p2s", "p2c", "apu", "apv", "crit", "zip", "b64"] {
            var changed = json
            changed["unprotected"] = .object([name: "x"])
            let expected: TokenError.Code =
                ["alg", "enc", "epk"].contains(name) ? .malformedToken : .unprotectedParameter
            #expect(code { try decrypter(0).decrypt(json: changed) } == expected, "\(name)")
        }
        // In no protected header.
        var changed = json
        changed["protected"] = nil
        changed["header"] = ["alg": "ECDH-ES+A256KW", "enc": "A128CBC-HS256"]
        #expect(code { try decrypter(0).decrypt(json: changed) } == .unprotectedParameter)
        changed["header"] = [:]
        changed["unprotected"] = ["alg": "ECDH-ES+A256KW", "enc": "A128CBC-HS256"]
        #expect(code { try decrypter(0).decrypt(json: changed) } == .unprotectedParameter)
    }

    @Test("Recipients are limited", .shows("E15")) func limits() throws {
        var json = try generator(2).generalJSON()
        let recipient = try #require(json["recipients"]?.array?.last)
        json["recipients"] = .array(Array(repeating: recipient, count: 17))
        #expect(code { try decrypter(0).decrypt(json: json) } == .tooLarge)
        json["recipients"] = .array(Array(repeating: recipient, count: 16))
        #expect(code { try decrypter(0).decrypt(json: json) } == .algorithmMismatch)
        #expect(code { try decrypter(1).decrypt(json: json) } == .ambiguousKey)
    }

    @Test("Several keys: the key ID decides, and nothing is tried", .shows("E17", "RFC 7516 §4.1.4–4.1.10"))
    func keySelection() throws {
        let first = try DecryptionKey.generate(.a256KW).identified(by: "1")
        let second = try DecryptionKey.generate(.a256KW).identified(by: "2")
        let unnamed = try DecryptionKey.generate(.a256KW)
        func decrypt(_ token: String, _ keys: [DecryptionKey]) throws -> String? {
            try JWEDecrypter(keys: keys, policy: JWEFixture.anyPolicy).decrypt(compact: token).keyID
        }
        let named = try second.encryptionKey.encrypt(Data())
        #expect(try decrypt(named, [first, second, unnamed]) == "2")
        #expect(code { try decrypt(named, [first, first.identified(by: "3")]) } == .unknownKey)
        #expect(code { try decrypt(named, [first, second, unnamed.identified(by: "2")]) } == .ambiguousKey)
        #expect(code { try decrypt(named, []) } == .algorithmMismatch)
        #expect(code { try decrypt(named, [.generate(.a128KW), .generate(.dir)]) } == .algorithmMismatch)
        // A single key is tried regardless of its ID.
        #expect(try decrypt(named, [second.identified(by: "other")]) == "other")
        #expect(code { try decrypt(named, [first]) } == .decryptionFailed)
        let anonymous = try unnamed.encryptionKey.encrypt(Data())
        #expect(code { try decrypt(anonymous, [first, unnamed]) } == .ambiguousKey)
        // Curves and content encryptions decide, too.
        let curves = try [DecryptionKey.generate(.ecdhES), .generate(.ecdhES, on: .x25519)]
        let direct = try [DecryptionKey.generate(.dir), .generate(.dir, encryption: .a128GCM)]
        for keys in [curves, direct] {
            for key in keys { _ = try decrypt(key.encryptionKey.encrypt(Data()), keys) }
        }
    }

    @Test("Headers can be inspected without a key") func inspection() throws {
        let json = try generator(2).generalJSON()
        let unverified = try UnverifiedJWE(json: json.serialized())
        #expect(unverified.unverifiedProtectedHeader["enc"]?.string == "A128CBC-HS256")
        #expect(unverified.recipientHeaders.map { $0["kid"]?.string } == ["alice", "bob"])
        #expect(code { try UnverifiedJWE(compact: "a.b") } == .malformedToken)
    }
}
