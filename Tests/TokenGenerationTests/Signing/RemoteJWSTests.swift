import Foundation
import OpenSSLCrypto
import Synchronization
import TestSupport
import Testing
import TokenGeneration

@Suite("JWSs with remote signing services", .computing, .tags(.concurrency))
struct RemoteJWSTests {
    private static let payload = Data("any text".utf8)

    /// A service that counts its calls.
    private final class CountingService: SigningService {
        private let service: FakeRemoteService
        private let calls = Mutex(0)

        init(_ service: FakeRemoteService) { self.service = service }

        var count: Int { calls.withLock { $0 } }
        var algorithm: JWSAlgorithm { service.algorithm }
        var keyID: String? { service.keyID }

        func sign(data: Data) async throws -> Data {
            calls.withLock { $0 += 1 }
            return try await service.sign(data: data)
        }
    }

    @Test("Each algorithm signs compact, flattened and general JWSs", arguments: JWSAlgorithm.implemented)
    func everyAlgorithm(algorithm: JWSAlgorithm) async throws {
        let key = try Fixture.key(for: algorithm)
        let service = FakeRemoteService(key: key, publicKey: key.verificationKey)
        let verifier = JWSVerifier(key: key.verificationKey)
        let type: JSONObject = ["cty": "text/plain"]
        let header: JSONObject = ["alg": .string(algorithm.rawValue), "cty": "text/plain", "kid": "kms/1"]
        let compact = try await JWSGenerator.makeCompact(
            payload: Self.payload,
            header: type,
            signingService: service
        )
        let flattened = try await JWSGenerator.makeFlattenedJSON(
            payload: Self.payload,
            header: type,
            signingService: service
        )
        let general = try await JWSGenerator.makeGeneralJSON(
            payload: Self.payload,
            signers: [RemoteJWSSigner(signingService: service, header: type)]
        )
        for verified in [
            try verifier.verify(compact: compact),
            try verifier.verify(json: flattened.serialized(), requiring: .all),
            try verifier.verify(json: general.serialized(), requiring: .all),
        ] {
            #expect(verified.payload == Self.payload)
            #expect(verified.header == header)
        }
    }

    @Test(
        "A remote service signs the same input as a local one",
        arguments: [JWSPayloadEncoding.base64url, .unencoded]
    )
    func sameText(encoding: JWSPayloadEncoding) async throws {
        let key = try Fixture.key(for: .ed25519)
        let local = key.identified(by: "kms/1")
        let remote = FakeRemoteService(key: key)
        let generator = JWSGenerator(payload: Self.payload, payloadEncoding: encoding, signingService: local)
        for placement in [JWSPayloadPlacement.attached, .detached] {
            let compact = try await JWSGenerator.makeCompact(
                payload: Self.payload,
                payloadEncoding: encoding,
                placement: placement,
                signingService: remote
            )
            #expect(try compact == generator.compact(placement))
            let flattened = try await JWSGenerator.makeFlattenedJSON(
                payload: Self.payload,
                payloadEncoding: encoding,
                placement: placement,
                signingService: remote
            )
            #expect(try flattened == generator.flattenedJSON(placement))
            let general = try await JWSGenerator.makeGeneralJSON(
                payload: Self.payload,
                payloadEncoding: encoding,
                placement: placement,
                signers: [RemoteJWSSigner(signingService: remote)]
            )
            #expect(try general == generator.generalJSON(placement))
        }
    }

    @Test("Remote and local signers sign one JWS, each with separate headers, in order", .shows("J22"))
    func several() async throws {
        let keys = try [JWSAlgorithm.es256, .rs256, .ed25519].map(Fixture.key)
        let remote = FakeRemoteService(
            key: keys[0],
            publicKey: keys[0].verificationKey
        )
        let signers = [
            RemoteJWSSigner(signingService: remote, header: ["cty": "a"], unprotectedHeader: ["kid": "kms/1"]),
            RemoteJWSSigner(signingService: keys[1], unprotectedHeader: ["note": 1]),
            RemoteJWSSigner(signingService: FakeRemoteService(key: keys[2], keyID: nil)),
        ]
        for payloadEncoding in [JWSPayloadEncoding.base64url, .unencoded] {
            for placement in [JWSPayloadPlacement.attached, .detached] {
                let json = try await JWSGenerator.makeGeneralJSON(
                    payload: Self.payload,
                    payloadEncoding: payloadEncoding,
                    placement: placement,
                    signers: signers
                ).serialized()
                let verifier = JWSVerifier(keys: keys.map(\.verificationKey))
                let verified =
                    if placement == .attached {
                        try verifier.verify(json: json, requiring: .everyKey)
                    } else {
                        try verifier.verify(json: json, detachedPayload: Self.payload, requiring: .everyKey)
                    }
                #expect(verified.payloadEncoding == payloadEncoding)
                #expect(verified.signatures.map(\.index) == [0, 1, 2])
                #expect(verified.signatures.map(\.key.thumbprint) == keys.map(\.verificationKey.thumbprint))
                #expect(verified.signatures.map { $0.protectedHeader["cty"] } == ["a", nil, nil])
                #expect(verified.signatures.map { $0.protectedHeader["kid"] } == [nil, nil, nil])
                #expect(verified.signatures.map(\.unprotectedHeader) == [["kid": "kms/1"], ["note": 1], [:]])
            }
        }
    }

    @Test("No signer is called if a header or the payload can't be written")
    func checkedBefore() async throws {
        let counting = CountingService(FakeRemoteService(key: try Fixture.key(for: .es256)))
        func general(_ other: RemoteJWSSigner) async -> TokenError.Code? {
            let first = RemoteJWSSigner(signingService: counting)
            return await asyncCode {
                try await JWSGenerator.makeGeneralJSON(payload: Self.payload, signers: [first, other])
            }
        }
        func signer(_ header: JSONObject, _ unprotected: JSONObject = [:]) -> RemoteJWSSigner {
            RemoteJWSSigner(signingService: counting, header: header, unprotectedHeader: unprotected)
        }
        #expect(await general(signer(["alg": "HS256"])) == .algorithmMismatch)
        #expect(await general(signer(["kid": "other"])) == .algorithmMismatch)
        #expect(await general(signer([:], ["kid": "other"])) == .algorithmMismatch)
        #expect(await general(signer(["b64": false])) == .unencodableContent)
        #expect(await general(signer(["crit": []])) == .unencodableContent)
        #expect(await general(signer(["x": 1], ["x": 1])) == .unencodableContent)
        #expect(await general(signer([:], ["crit": ["x"]])) == .unprotectedParameter)
        let (period, binary) = (Data("a.b".utf8), Data([0xFF]))
        let refusals = [
            await asyncCode { try await JWSGenerator.makeGeneralJSON(payload: Self.payload, signers: []) },
            await asyncCode {
                try await JWSGenerator.makeCompact(
                    payload: period,
                    payloadEncoding: .unencoded,
                    signingService: counting
                )
            },
            await asyncCode {
                try await JWSGenerator.makeFlattenedJSON(
                    payload: binary,
                    payloadEncoding: .unencoded,
                    signingService: counting
                )
            },
        ]
        #expect(refusals == [.unencodableContent, .unencodableContent, .unencodableContent])
        #expect(counting.count == 0)
        _ = try await JWSGenerator.makeCompact(payload: period, signingService: counting)
        #expect(counting.count == 1)
    }

    @Test(
        "Rejects a signature of the wrong form, length or key, and a digest for an algorithm that doesn't sign one"
    )
    func refused() async throws {
        let key = try Fixture.key(for: .es256)
        let other = try SigningKey.generate(.es256)
        let services = [
            FakeRemoteService(key: key, answer: { _, _ in Data() }),
            FakeRemoteService(key: key, answer: { _, raw in Data(raw.dropLast()) }),
            FakeRemoteService(
                key: key,
                answer: { _, raw in Data(try raw.withBytes { try ECDSASignature.der(fromRaw: $0) }) }
            ),
            FakeRemoteService(key: key, publicKey: other.verificationKey),
        ]
        for service in services {
            let refusal = await asyncCode {
                try await JWSGenerator.makeCompact(payload: Self.payload, signingService: service)
            }
            #expect(refusal == .signingFailed)
            let local = RemoteJWSSigner(signingService: key)
            let remote = RemoteJWSSigner(signingService: service)
            let general = await asyncCode {
                try await JWSGenerator.makeGeneralJSON(payload: Self.payload, signers: [local, remote])
            }
            #expect(general == .signingFailed)
        }
        let digest = FakeRemoteService(key: try Fixture.key(for: .ed448), takesDigest: true)
        let unsupported = await asyncCode {
            try await JWSGenerator.makeFlattenedJSON(payload: Self.payload, signingService: digest)
        }
        #expect(unsupported == .unsupportedAlgorithm)
    }

    @Test("The service's own error reaches the caller")
    func brokenService() async throws {
        let service = BrokenRemoteService()
        await #expect(throws: BrokenRemoteService.Failure()) {
            try await JWSGenerator.makeCompact(payload: Self.payload, signingService: service)
        }
        await #expect(throws: BrokenRemoteService.Failure()) {
            try await JWSGenerator.makeFlattenedJSON(payload: Self.payload, signingService: service)
        }
        let signers = [
            RemoteJWSSigner(signingService: FakeRemoteService(key: try Fixture.key(for: .es256))),
            RemoteJWSSigner(signingService: service),
        ]
        await #expect(throws: BrokenRemoteService.Failure()) {
            try await JWSGenerator.makeGeneralJSON(payload: Self.payload, signers: signers)
        }
    }
}
