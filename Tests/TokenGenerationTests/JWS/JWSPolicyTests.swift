import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Several signatures", .computing)
struct JWSPolicyTests {
    private let keys: [SigningKey]
    private let signers: [JWSSigner]

    init() throws {
        keys = try (0..<3).map { _ in try SigningKey.generate(.es256) }
        signers = try keys.enumerated().map { index, key in
            JWSSigner(signingService: try ES256SigningService(key: key, keyID: "key-\(index)"))
        }
    }

    private func json(_ signers: [JWSSigner]) throws -> String {
        try JWSGenerator(payload: JSONFixture.payload, signers: signers).generalJSON().serialized()
    }

    /// Returns a verifier for some of the keys, by their indices.
    private func verifier(_ places: [Int], withIDs: Bool = true) throws -> JWSVerifier {
        let keys = try places.map { place in
            var jwk = self.keys[place].verificationKey.jwk
            jwk.keyID = withIDs ? "key-\(place)" : nil
            return try VerificationKey(jwk: jwk)
        }
        return JWSVerifier(keys: keys)
    }

    @Test(
        "Each policy applies its rule to the caller's keys",
        .shows("C12", "RFC 7515 §7.2.1", "RFC 8725bis §3.3 (every operation)")
    )
    func policies() throws {
        let json = try json(signers)
        typealias Case = (keys: [Int], policy: JWSSignaturePolicy, isAccepted: Bool)
        let cases: [Case] = [
            ([0], .any, true), ([0], .all, false), ([0], .everyKey, true), ([0], .threshold(1), true),
            ([0], .threshold(2), false), ([2, 1], .any, true), ([2, 1], .all, false), ([2, 1], .everyKey, true),
            ([2, 1], .threshold(2), true), ([2, 1], .threshold(3), false), ([0, 1, 2], .all, true),
            ([0, 1, 2], .threshold(3), true), ([0, 1, 2], .threshold(4), false), ([0, 1, 2], .threshold(.max), false),
            ([0, 1, 2], .threshold(0), true), ([0, 1, 2], .threshold(.min), true), ([], .any, false), ([], .all, false),
            ([], .everyKey, false), ([], .threshold(0), false),
        ]
        for (places, policy, isAccepted) in cases {
            for withIDs in [true, false] {
                let verifier = try verifier(places, withIDs: withIDs)
                let result = Result { () throws(TokenError) in try verifier.verify(json: json, requiring: policy) }
                switch result {
                case .success(let verified):
                    #expect(isAccepted, "\(places) \(policy)")
                    #expect(verified.signatures.map(\.index) == places.sorted())
                    #expect(verified.refusals.map(\.index) == [0, 1, 2].filter { !places.contains($0) })
                    #expect(
                        verified.signatures.map(\.key.thumbprint)
                            == places.sorted().map { keys[$0].verificationKey.thumbprint }
                    )
                case .failure(let error):
                    #expect(!isAccepted, "\(places) \(policy)")
                    #expect(error.code == .insufficientSignatures)
                    let cause = try #require(error.cause as? JWSVerificationFailure)
                    #expect(cause.verifiedIndices == places.sorted())
                    #expect(cause.refusals.count + cause.verifiedIndices.count == 3)
                }
            }
        }
    }

    @Test("The error has the index and the reason of each invalid signature")
    func reasons() throws {
        let key = try Fixture.signingKey()
        let entries = [
            try JSONFixture.entry(key: keys[0]), try JSONFixture.entry(#"{"alg":"none"}"#, key: key),
            try JSONFixture.entry(nil, unprotected: #"{"alg":"ES256"}"#, key: key),
            try JSONFixture.entry(#"{"alg":"ES256","crit":["x"],"x":1}"#, key: key),
            try JSONFixture.entry(#"{"alg":"ES384"}"#, key: key), try JSONFixture.entry(key: key),
            try JSONFixture.entry(unprotected: #"{"crit":["x"],"x":1}"#, key: key),
        ]
        let verifier = try JSONFixture.verifier()
        let verified = try verifier.verify(json: JSONFixture.general(entries), requiring: .any)
        #expect(verified.signatures.map(\.index) == [5])
        #expect(verified.refusals.map(\.index) == [0, 1, 2, 3, 4, 6])
        #expect(
            verified.refusals.map(\.reason.code) == [
                .signatureInvalid, .algorithmMismatch, .unprotectedParameter, .criticalHeaderUnsupported,
                .algorithmMismatch, .unprotectedParameter,
            ]
        )
        let refusal = try #require(
            error { try verifier.verify(json: JSONFixture.general(Array(entries[..<2])), requiring: .any) }
        )
        #expect(refusal.code == .insufficientSignatures)
        #expect(refusal.message.contains("0: signatureInvalid, 1: algorithmMismatch"))
    }

    @Test("The error for a single signature is its own reason", arguments: [JWSSignaturePolicy.any, .all, .everyKey])
    func single(policy: JWSSignaturePolicy) throws {
        let verifier = try JSONFixture.verifier()
        let other = try JSONFixture.entry(key: keys[0])
        for json in [JSONFixture.flattened(other), JSONFixture.general([other])] {
            #expect(code { try verifier.verify(json: json, requiring: policy) } == .signatureInvalid)
        }
        let unknown = try json([signers[0]])
        #expect(code { try self.verifier([1, 2]).verify(json: unknown, requiring: policy) } == .unknownKey)
    }

    @Test("Two signatures by one key count once, regardless of duplicates in the list", .shows("C12"))
    func twice() throws {
        let json = try json([signers[0], signers[0], signers[1]])
        #expect(throws: Never.self) { try verifier([0, 1]).verify(json: json, requiring: .threshold(2)) }
        #expect(code { try verifier([0, 2]).verify(json: json, requiring: .threshold(2)) } == .insufficientSignatures)
        #expect(code { try verifier([0, 0]).verify(json: json, requiring: .threshold(2)) } == .insufficientSignatures)
    }

    @Test("Adding or removing a signature doesn't change the required signers", .shows("C12"))
    func addedAndRemoved() throws {
        let stranger = JWSSigner(signingService: try ES256SigningService.generate(keyID: "stranger"))
        let verifier = try verifier([0, 1])
        let added = try json([stranger, signers[0], signers[1]])
        #expect(try verifier.verify(json: added, requiring: .everyKey).refusals.map(\.reason.code) == [.unknownKey])
        #expect(code { try verifier.verify(json: added, requiring: .all) } == .insufficientSignatures)
        let removed = try json([signers[0]])
        #expect(throws: Never.self) { try verifier.verify(json: removed, requiring: .all) }
        #expect(code { try verifier.verify(json: removed, requiring: .everyKey) } == .insufficientSignatures)
        #expect(code { try verifier.verify(json: removed, requiring: .threshold(2)) } == .insufficientSignatures)
    }

    @Test("One malformed signature makes the whole text malformed under any policy")
    func malformed() throws {
        let good = try JSONFixture.entry()
        for bad in [
            #""signature":"A""#, #""protected":"e30","signature":"AA","header":5"#,
            #""protected":"e30","signature":"AA""#, try JSONFixture.entry(#"{"alg":"ES256","crit":[]}"#),
            try JSONFixture.entry(#"{"alg":"ES256","b64":false}"#),
            try JSONFixture.entry(#"{"alg":"ES256","alg":"none"}"#), try JSONFixture.entry(#"{"alg":5}"#),
            try JSONFixture.entry(#"["ES256"]"#), try JSONFixture.entry("{}", unprotected: "{}"),
        ] {
            let json = JSONFixture.general([good, bad])
            let refusal = error { try JSONFixture.verifier().verify(json: json, requiring: .any) }
            #expect(refusal?.code == .malformedToken, "\(bad)")
            if bad == #""signature":"A""# { #expect(refusal?.message.contains("signature 1") == true) }
        }
    }

    @Test("A key set selects the key of each signature by the kid in either header", .shows("K15"))
    func keySet() throws {
        let set = JWKSet(
            keys: keys.enumerated().map { index, key in
                var jwk = key.verificationKey.jwk
                jwk.keyID = "key-\(index)"
                return jwk
            }
        )
        let verifier = JWSVerifier(keys: set)
        let unprotected = JWSSigner(
            signingService: try ES256SigningService(key: keys[1], keyID: "key-1"),
            unprotectedHeader: ["kid": "key-1"]
        )
        let verified = try verifier.verify(json: json([signers[0], unprotected, signers[2]]), requiring: .everyKey)
        #expect(verified.signatures.count == 3)
        #expect(verified.signatures[1].protectedHeader == ["alg": "ES256"])
        #expect(
            code { try verifier.verify(json: json([signers[0], signers[2]]), requiring: .everyKey) }
                == .insufficientSignatures
        )
        // An entry that can't verify may be a key that must sign.
        let other: JSONObject = ["kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": "damaged", "alg": "ES256"]
        var encryption = set.keys[0].members
        (encryption["use"], encryption["kid"]) = ("enc", "enc")
        for members in [other, ["kty": "X", "kid": "1"], ["kty": "oct", "k": "AAAA", "kid": "1"], encryption] {
            let more = JWSVerifier(keys: JWKSet(keys: set.keys + [try JWK(members)]))
            #expect(code { try more.verify(json: json(signers), requiring: .everyKey) } == .insufficientSignatures)
            #expect(code { try more.verify(json: json(signers), requiring: .threshold(3)) } == nil)
        }
        let published = set.serialized().replacing("[{", with: "[7,{")
        let rejecting = JWSVerifier(keys: try JWKSet(parsing: published))
        #expect(code { try rejecting.verify(json: json(signers), requiring: .everyKey) } == .insufficientSignatures)
        let stranger = JWSSigner(signingService: try ES256SigningService.generate(keyID: "stranger"))
        #expect(code { try verifier.verify(json: json([stranger]), requiring: .any) } == .unknownKey)
        let nameless = JWSSigner(signingService: try ES256SigningService(key: keys[0]))
        #expect(code { try verifier.verify(json: json([nameless]), requiring: .any) } == .ambiguousKey)
    }
}
