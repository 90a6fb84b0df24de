import Foundation
import Networking
import OpenSSLCrypto
import TestVectors
import Testing
import TokenGeneration

@testable import HTTPSignatures

@Suite(.serialized)
struct SignatureVectorTests {
    private func isValid(_ signature: Data, _ base: String, _ key: VerificationKey) -> Bool {
        Array(signature).withBytes { signature in
            Array(base.utf8).withBytes { key.isValidSignature(signature, for: $0) }
        }
    }

    @Test("verifies the published signatures with the published keys", arguments: SignatureVector.all)
    func signatures(_ vector: SignatureVector) throws {
        let key = try TestKey.verification(vector.keyid)
        let base = try SignatureBase(of: vector.httpMessage(), parameters: vector.signatureParameters())
        let signature = try #require(Data(base64Encoded: vector.signature))
        #expect(isValid(signature, base.text, key) == vector.isValid)
        #expect(key.httpSignatureName == vector.alg)
    }

    @Test("accepts and rejects the published messages", arguments: SignatureVector.all.filter { $0.id != "b21" })
    func messages(_ vector: SignatureVector) async throws {
        let parameters = try vector.signatureParameters()
        var profile = SignatureProfile(components: parameters.components.map { .required($0) })
        profile.nonce = .none
        profile.tag = parameters.tag
        let key = try TestKey.verification(vector.keyid)
        // Other signatures of the message are ignored.
        let keys = SignatureKeys { query in query.keyID == vector.keyid ? key : nil }
        var verifier = try MessageVerifier(profile: profile, keys: keys, replayCache: nil)
        let created = try #require(parameters.created)
        verifier.currentDate = { created }
        do {
            let verified = try await verifier.verify(try vector.httpMessage(), body: vector.message.body)
            #expect(vector.isValid)
            #expect(verified.keyID == vector.keyid)
            #expect(verified.signature.parameters.created == created)
            #expect(verified.signature.parameters.components == parameters.components)
        } catch {
            #expect(error as? HTTPSignatureError == HTTPSignatureError(.signatureInvalid, ""))
            #expect(!vector.isValid)
        }
    }

    @Test("the proxy's signature has expired after its minute")
    func expiration() async throws {
        let vector = try SignatureVector.named("4.3-proxy")
        var profile = SignatureProfile(components: [.required(.method), .required("forwarded")])
        profile.nonce = .none
        profile.clockSkew = .zero
        var verifier = try MessageVerifier(profile: profile, keys: TestKey.all(), replayCache: nil)
        var message = try vector.httpMessage()
        for name in ["Signature-Input", "Signature"] {
            let value = try #require(message.headers[name])
            let start = try #require(value.firstRange(of: "proxy_sig=")).lowerBound
            message.headers[name] = String(value[start...])
        }
        for (second, expected) in [(1_618_884_540, nil), (1_618_884_541, .expired)] as [(Int, HTTPSignatureError.Code?)]
        {
            verifier.currentDate = { Date(timeIntervalSince1970: TimeInterval(second)) }
            var code: HTTPSignatureError.Code?
            do { _ = try await verifier.verify(message, body: vector.message.body) } catch {
                code = error.code
            }
            #expect(code == expected)
        }
    }

    @Test("reproduces the deterministic signatures", arguments: ["b25", "b26", "4.3-proxy"])
    func reproduction(_ id: String) async throws {
        let vector = try SignatureVector.named(id)
        let base = try SignatureBase(of: vector.httpMessage(), parameters: vector.signatureParameters())
        let signature = try await AnySigningService.local(TestKey.signing(vector.keyid)).signature(for: base)
        #expect(signature.base64EncodedString() == vector.signature)
    }

    @Test(
        "a flipped bit in any byte of the base invalidates the signature",
        arguments: ["b22", "b25", "b26", "4.3-proxy"]
    )
    func flippedBase(_ id: String) throws {
        let vector = try SignatureVector.named(id)
        let key = try TestKey.verification(vector.keyid)
        let signature = Array(try #require(Data(base64Encoded: vector.signature)))
        var base = Array(vector.base.utf8)
        for index in base.indices {
            base[index] ^= 1 << UInt8(index % 8)
            let isValid = signature.withBytes { signature in
                base.withBytes { key.isValidSignature(signature, for: $0) }
            }
            #expect(!isValid, "byte \(index)")
            base[index] ^= 1 << UInt8(index % 8)
        }
    }

    @Test("loads an RSA key whose primes have different sizes")
    func pem() throws {
        let rsa = try SigningKey(pem: TestKey.pem("test-key-rsa", "RSA PRIVATE KEY"), algorithm: .rs256)
        #expect(rsa.verificationKey.thumbprint == (try TestKey.verification("test-key-rsa").thumbprint))
    }
}
