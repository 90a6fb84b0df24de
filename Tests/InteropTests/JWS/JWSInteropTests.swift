import Foundation
import Testing
import TokenGeneration

@Suite("Interoperability: JWS with any payload", .enabled(if: Interop.isPrepared, Interop.hint))
struct JWSInteropTests {
    /// A text that every serialization can contain unencoded.
    private static let payload = Data("a_payload-02".utf8)

    private let key: SigningKey
    private let verifier: JWSVerifier

    init() throws {
        key = try SigningKey.generate(.es256)
        verifier = JWSVerifier(key: key.verificationKey)
    }

    private func samples(of payload: Data = payload) throws -> [JWSPeer.Sample] {
        var samples: [JWSPeer.Sample] = []
        let service = key
        for encoding in [JWSPayloadEncoding.base64url, .unencoded] {
            let one = JWSGenerator(payload: payload, payloadEncoding: encoding, signingService: service)
            let signer = JWSSigner(signingService: service, header: ["cty": "text"], unprotectedHeader: ["note": "é"])
            let two = JWSGenerator(payload: payload, payloadEncoding: encoding, signers: [signer, signer])
            for placement in [JWSPayloadPlacement.attached, .detached] {
                for form in JWSPeer.Form.allCases {
                    let text =
                        switch form {
                        case .compact: try one.compact(placement)
                        case .flattened: try one.flattenedJSON(placement).serialized()
                        case .general: try two.generalJSON(placement).serialized()
                        }
                    samples.append(
                        JWSPeer.Sample(text: text, form: form, encoding: encoding, placement: placement)
                    )
                }
            }
        }
        return samples
    }

    private func verify(_ text: String, _ sample: JWSPeer.Sample, _ payload: Data = payload) throws -> VerifiedJWS {
        switch (sample.form, sample.placement) {
        case (.compact, .attached): try verifier.verify(compact: text)
        case (.compact, .detached): try verifier.verify(compact: text, detachedPayload: payload)
        case (_, .attached): try verifier.verify(json: text, requiring: .all)
        case (_, .detached): try verifier.verify(json: text, detachedPayload: payload, requiring: .all)
        }
    }

    @Test("The peer verifies the library's JWS in every serialization that it supports", arguments: JWSPeer.allCases)
    func ours(peer: JWSPeer) async throws {
        var count = 0
        for sample in try samples() where peer.reads(sample) {
            let detached = sample.placement == .detached ? Self.payload : nil
            let verdict = try await peer.check([sample.text], payload: detached, key: key.verificationKey.jwk)
            #expect(verdict.first?.payload == Self.payload, "\(sample): \(verdict.first?.reason ?? "")")
            count += 1
        }
        #expect(count == [.pyJWT: 2, .joserfc: 12, .jwcrypto: 11][peer])
    }

    @Test("The library verifies the peer's JWS in every serialization that it supports", arguments: JWSPeer.allCases)
    func theirs(peer: JWSPeer) async throws {
        let jwk = try key.privateJWK()
        for sample in try samples() where peer.writes(sample.form, sample.encoding, sample.placement) {
            let keys = sample.form == .general ? [jwk, jwk] : [jwk]
            let text = try await peer.make(
                sample.form,
                sample.encoding,
                sample.placement,
                payload: Self.payload,
                keys: keys
            )
            let verified = try verify(text, sample)
            #expect(verified.payload == Self.payload)
            #expect(verified.payloadEncoding == sample.encoding)
            #expect(verified.signatures.count == keys.count)
            if sample.form != .compact {
                #expect(verified.signatures.allSatisfy { $0.unprotectedHeader == ["note": "é"] })
            }
        }
    }

    @Test("Verifies a peer's signatures with several algorithms, each with its key")
    func severalAlgorithms() async throws {
        let keys = try [JWSAlgorithm.es256, .hs256, .es512].map { try SigningKey.generate($0) }
        let jwks = try keys.map { try $0.privateJWK() }
        let text = try await JWSPeer.jwcrypto.make(.general, .base64url, .attached, payload: Self.payload, keys: jwks)
        let verifier = JWSVerifier(keys: keys.map(\.verificationKey))
        let verified = try verifier.verify(json: text, requiring: .everyKey)
        #expect(verified.signatures.map(\.key.algorithm) == [.es256, .hs256, .es512])
        #expect(verified.payload == Self.payload)
    }

    @Test(
        "The peer accepts every changed JWS that the library accepts, with the same payload",
        arguments: JWSPeer.allCases
    )
    func mutations(peer: JWSPeer) async throws {
        for sample in try samples() where peer.reads(sample) {
            let changed = Self.mutations(of: sample.text)
            let accepted = changed.filter { text in (try? verify(text, sample)) != nil }
            if sample.form != .compact { #expect(accepted.count > 10, "\(sample)") }
            let detached = sample.placement == .detached ? Self.payload : nil
            let verdicts = try await peer.check(accepted, payload: detached, key: key.verificationKey.jwk)
            for (text, verdict) in zip(accepted, verdicts) {
                #expect(verdict.payload == Self.payload, "\(peer.rawValue): \(verdict.reason), \(text)")
            }
        }
    }

    /// Returns the text with each character replaced, removed or doubled, and with white space and
    /// unknown members.
    private static func mutations(of text: String) -> [String] {
        let characters = Array(text)
        var mutations: [String] = []
        for index in characters.indices {
            for other: Character in ["A", "B", "=", ".", " ", "\"", "{", "x", "\\"] where other != characters[index] {
                var changed = characters
                changed[index] = other
                mutations.append(String(changed))
            }
            var changed = characters
            changed.remove(at: index)
            mutations.append(String(changed))
            changed.insert(contentsOf: [characters[index], characters[index]], at: index)
            mutations.append(String(changed))
            changed[index] = " "
            mutations.append(String(changed))
        }
        for addition in ["\n", " ", ".", "=", "A"] { mutations += [text + addition, addition + text] }
        for member in [#""x":[{"payload":1}]"#, #""Payload":"x""#, #""typ":"JWT""#, #""crit":["x"]"#, #""header":{}"#] {
            mutations.append(text.replacing("{", with: "{\(member),"))
        }
        return mutations
    }
}

/// Another implementation of JWS with any payload, called with `Tests/Interop/jws_peer.py`.
enum JWSPeer: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case pyJWT = "pyjwt"
    case joserfc
    case jwcrypto

    var testDescription: String { rawValue }

    /// A text with its serialization.
    struct Sample: Sendable {
        let text: String
        let form: Form
        let encoding: JWSPayloadEncoding
        let placement: JWSPayloadPlacement

        var isUnencodedInside: Bool { encoding == .unencoded && placement == .attached }
    }

    /// A serialization.
    enum Form: String, CaseIterable, Sendable {
        case compact, flattened, general
    }

    /// Returns a Boolean value that indicates whether the peer supports reading a text's
    /// serialization.
    func reads(_ sample: Sample) -> Bool {
        switch self {
        case .joserfc: true
        // It decodes a compact JWS's payload even if “b64” is false.
        case .jwcrypto: !(sample.form == .compact && sample.isUnencodedInside)
        // It supports compact JWS only, and unencoded payloads exactly if they are detached.
        case .pyJWT: sample.form == .compact && (sample.encoding == .unencoded) == (sample.placement == .detached)
        }
    }

    /// Returns a Boolean value that indicates whether the peer supports writing a serialization.
    func writes(_ form: Form, _ encoding: JWSPayloadEncoding, _ placement: JWSPayloadPlacement) -> Bool {
        self != .pyJWT || form == .compact && (encoding == .unencoded) == (placement == .detached)
    }

    /// Returns the peer's verdicts about texts: the payload of each text that it accepts.
    func check(_ texts: [String], payload: Data?, key: JWK) async throws -> [(payload: Data?, reason: String)] {
        let answers = try await ask(
            texts.map { text in
                [
                    "do": "check", "text": .string(text), "key": .object(key.members),
                    "payload": payload.map { .string(SignedText.base64URL($0)) } ?? nil,
                ]
            }
        )
        return answers.map { answer in
            (answer["payload"]?.string.flatMap { SignedText.octets($0[...]) }, answer["reason"]?.string ?? "")
        }
    }

    /// Returns a text that the peer creates with its signers' headers.
    func make(
        _ form: Form,
        _ encoding: JWSPayloadEncoding,
        _ placement: JWSPayloadPlacement,
        payload: Data,
        keys: [JWK]
    ) async throws -> String {
        let signers = keys.map { key -> JSONValue in
            var protected: JSONObject = ["alg": key.algorithm.map { .string($0) } ?? nil]
            if encoding == .unencoded {
                protected["b64"] = false
                protected["crit"] = ["b64"]
            }
            let header: JSONValue = form == .compact ? nil : ["note": "é"]
            return ["key": .object(key.members), "protected": .object(protected), "header": header]
        }
        let answers = try await ask([
            [
                "do": "make", "form": .string(form.rawValue), "payload": .string(SignedText.base64URL(payload)),
                "detached": .bool(placement == .detached), "signers": .array(signers),
            ]
        ])
        return try #require(answers.first?["text"]?.string)
    }

    private func ask(_ requests: [JSONObject]) async throws -> [JSONObject] {
        let process = try await ChildProcess.run(
            Interop.required("INTEROP_PYTHON"),
            [Interop.file("jws_peer.py"), rawValue],
            input: requests.map { $0.serialized() + "\n" }.joined()
        )
        try #require(process.status == 0, "\(rawValue) failed: \(process.errors.suffix(2000))")
        let answers = try process.output.split(separator: "\n").map { try JSONObject(parsing: String($0)) }
        try #require(answers.count == requests.count)
        return answers
    }
}
