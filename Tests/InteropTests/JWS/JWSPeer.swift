import Foundation
import Testing
import TokenGeneration

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
