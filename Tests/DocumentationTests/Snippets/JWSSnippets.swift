import Foundation
import Testing
import TokenGeneration

/// A hardware module that signs asynchronously.
private struct HardwareModule: RemoteSigningService {
    let key: ES256SigningService
    let algorithm = JWSAlgorithm.es256

    func sign(_ message: Data) async throws -> RemoteSignature {
        await Task.yield()
        return .raw(try key.sign(data: message))
    }
}

/// The samples of “Signing any payload”.
@Suite("JWS samples")
struct JWSSnippets {
    private let service: ES256SigningService
    private let document = Data("a document".utf8)

    private var key: VerificationKey { service.verificationKey }

    init() throws {
        service = try ES256SigningService.generate(keyID: "1")
    }

    @Test("Signs and verifies the compact serialization")
    func compact() throws {
        let generator = JWSGenerator(
            payload: document,
            header: ["cty": "text/plain"],
            signingService: service
        )
        let text = try generator.compact()
        let verified = try JWSVerifier(key: key).verify(compact: text)
        print(verified.payload, verified.header["cty"] ?? "no content type")
        #expect(verified.payload == document)
    }

    @Test("Creates and verifies several signatures")
    func severalSignatures() throws {
        let notary = service
        let author = try ES256SigningService.generate(keyID: "2")
        let (notaryKey, authorKey) = (notary.verificationKey, author.verificationKey)
        let signers = [
            JWSSigner(signingService: notary, header: ["cty": "application/pdf"]),
            JWSSigner(
                signingService: author,
                unprotectedHeader: ["comment": "second edition"]
            ),
        ]
        let json = try JWSGenerator(payload: document, signers: signers)
            .generalJSON()
            .serializedData()
        let verifier = JWSVerifier(keys: [notaryKey, authorKey])
        let verified = try verifier.verify(json: json, requiring: .everyKey)
        for signature in verified.signatures {
            print(signature.index, signature.key.thumbprint)
        }
        for refusal in verified.refusals { print(refusal.index, refusal.reason.code) }
        #expect(verified.signatures.count == 2)
    }

    @Test("Combines remote and local signers")
    func remoteSigners() async throws {
        let (cloudKey, author) = (HardwareModule(key: service), try ES256SigningService.generate(keyID: "2"))
        let signers = [
            RemoteJWSSigner(remoteSigningService: cloudKey),
            RemoteJWSSigner(JWSSigner(signingService: author)),
        ]
        let json = try await JWSGenerator.makeGeneralJSON(
            payload: document,
            signers: signers
        )
        let verifier = JWSVerifier(keys: [key, author.verificationKey])
        #expect(try verifier.verify(json: json.serialized(), requiring: .everyKey).payload == document)
    }

    @Test("Signs a detached payload")
    func detached() throws {
        let body = document
        let signature = try JWSGenerator(payload: body, signingService: service)
            .compact(.detached)
        let verified = try JWSVerifier(key: key).verify(
            compact: signature,
            detachedPayload: body
        )
        #expect(verified.payload == body)
    }

    @Test("Signs an unencoded payload")
    func unencoded() throws {
        let body = document
        let generator = JWSGenerator(
            payload: body,
            payloadEncoding: .unencoded,
            signingService: service
        )
        let signature = try generator.compact(.detached)
        #expect(try JWSVerifier(key: key).verify(compact: signature, detachedPayload: body).payload == body)
    }

    @Test("Requires a critical extension")
    func extensions() throws {
        let generator = JWSGenerator(
            payload: document,
            header: [
                "crit": ["https://id.example/seal"],
                "https://id.example/seal": 7,
            ],
            signingService: service
        )
        var verifier = JWSVerifier(key: key)
        verifier.understoodExtensions = ["https://id.example/seal"]
        let verified = try verifier.verify(compact: generator.compact())
        guard verified.header["https://id.example/seal"] == 7 else { return }
        #expect(verified.payload == document)
    }
}
