import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@Suite("JWK vectors of the RFCs", .computing)
struct JWKVectorTests {
    @Test("rfc7517-a-jwk-sets: each key states its purpose", .shows("RFC 7517 A, B"))
    func sets() throws {
        let vector = try Vector.object("rfc7517-a-jwk-sets")
        for (name, isPrivate) in [("public_set", false), ("private_set", true)] {
            let set = try JWKSet(parsing: JSONSerialization.data(withJSONObject: #require(vector[name])))
            #expect(set.rejections.isEmpty)
            #expect(set.keys.map(\.keyType) == ["EC", "RSA"])
            #expect(set.keys.map(\.isPrivate) == [isPrivate, isPrivate])
            let published = try JWKSet(parsing: set.serializedData())
            #expect(published.keys.map(\.isPrivate) == [false, false])
            let encryption = try #require(set.keys(withID: "1").first)
            #expect(encryption.use == "enc")
            #expect(code { try VerificationKey(jwk: encryption) } == .keyMismatch)
            let signature = try #require(set.keys(withID: "2011-04-29").first)
            #expect(try VerificationKey(jwk: signature).algorithm == .rs256)
            if isPrivate {
                let key = try SigningKey(jwk: signature)
                #expect(try key.privateJWK() == signature)
                let token = try Fixture.token(header: #"{"alg":"RS256"}"#, payload: #"{"exp":4000000000}"#, key: key)
                #expect(code { try JWTVerifier(key: key.verificationKey).verify(token) } == nil)
            }
        }
        let symmetric = try JWKSet(parsing: JSONSerialization.data(withJSONObject: #require(vector["symmetric_set"])))
        #expect(symmetric.keys.count == 2)
        #expect(symmetric.keys.allSatisfy { $0.keyType == "oct" && $0.isPrivate })
        #expect(symmetric.serialized() == #"{"keys":[]}"#)
        #expect(code { try SigningKey(jwk: symmetric.keys[0]) } == .unsupportedAlgorithm)
        #expect(try SigningKey(jwk: symmetric.keys[1], algorithm: .hs256).algorithm == .hs256)
    }

    @Test("rfc7517-b-x5c: the certificate is for the key", .shows("RFC 7517 §4.7–4.9"))
    func certificate() throws {
        let jwk = try Fixture.jwk(vector: "rfc7517-b-x5c", member: "jwk")
        let key = try VerificationKey(jwk: jwk, algorithm: .rs256)
        let leaf = try #require(jwk.certificateChain?.first)
        #expect(try VerificationKey(der: leaf, algorithm: .rs256).thumbprint == key.thumbprint)
        #expect(code { try VerificationKey(jwk: jwk) } == .algorithmRequired)
        let roots = try CertificateRoots(der: [leaf])
        let (then, later) = (Date(timeIntervalSince1970: 1_400_000_000), Date(timeIntervalSince1970: 1_600_000_000))
        #expect(throws: Never.self) { try jwk.verifyCertificates(roots: roots, at: then) }
        #expect(code { try jwk.verifyCertificates(roots: roots, at: later) } == .certificateRejected)
    }

    @Test(
        "rfc7638-3.1-thumbprint and rfc9278-thumbprint-uri: with SHA-256, and with longer hash functions",
        .shows("J13", "RFC 7638, RFC 9278")
    )
    func thumbprints() throws {
        let jwk = try Fixture.jwk(vector: "rfc7638-3.1-thumbprint", member: "jwk")
        let vector = try Vector.object("rfc9278-thumbprint-uri")
        #expect(try jwk.thumbprint == vector["thumbprint_b64u"] as? String)
        #expect(try jwk.thumbprintURI() == vector["uri"] as? String)
        #expect(try VerificationKey(jwk: jwk).jwk.thumbprintURI() == vector["uri"] as? String)
        // Computed from the canonical JSON in the RFC, with another implementation of the hash
        // functions.
        let sha384 = "R9_OfJjSjaw8Fuum86UzK5ixTdN9bo9BaqPSiseq89DWfmqCdpSgUHus-cxDUNc8"
        #expect(try jwk.thumbprint(.sha384) == sha384)
        #expect(
            try jwk.thumbprintURI(.sha512)
                == "urn:ietf:params:oauth:jwk-thumbprint:sha-512:"
                + "DpvEwocfn3FjeWWQjcJHzWrpKTIymKwgoL1xVgQcud48-qZDSRCr1zfWZQdHAJn_ciqXqPTSARyg-L-NyNGpVA"
        )
    }

    @Test("rfc8037-a: the key pair, its thumbprint and its signature", .shows("RFC 8037 §2, §3, A"))
    func edwards() throws {
        let vector = try Vector.object("rfc8037-a")
        let pair = try #require(vector["a1_ed25519_private"] as? [String: Any])
        let jwk = try JWK(parsing: JSONSerialization.data(withJSONObject: #require(pair["jwk"])))
        let key = try SigningKey(jwk: jwk, algorithm: .edDSA)
        let thumbprint = try #require(vector["a3_thumbprint"] as? [String: Any])
        #expect(key.verificationKey.thumbprint == thumbprint["thumbprint_b64u"] as? String)
        let signed = try #require(vector["a4_sign"] as? [String: Any])
        let input = Array(try #require(signed["signing_input"] as? String).utf8)
        let signature = try key.signature(for: input)
        #expect(Base64URL.encode(signature) == signed["signature_b64u"] as? String)
        #expect(key.verificationKey.isValid(signature, for: input))
        let publicJWK = try #require(vector["a2_ed25519_public"] as? [String: Any])
        let publicKey = try VerificationKey(
            jwk: JWK(parsing: JSONSerialization.data(withJSONObject: #require(publicJWK["jwk"])))
        )
        #expect(publicKey.isValid(signature, for: input))
    }
}
