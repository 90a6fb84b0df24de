import Foundation
import TestVectors
import Testing
import TokenGeneration

/// A folder with the published keys of RFC 9421, and its messages as raw text.
final class HTTPScene: Sendable {
    /// A message of RFC 9421.
    struct Message: Decodable, Sendable {
        let startLine: String
        let fields: [[String]]
        let content: String?

        enum CodingKeys: String, CodingKey {
            case startLine = "start_line"
            case fields
            case content = "content_utf8"
        }

        /// The text with a line end in the head.
        func text(lineEnd: String = "\r\n") -> String {
            let lines = [startLine] + fields.map { "\($0[0]): \($0[1])" } + ["", ""]
            return lines.joined(separator: lineEnd) + (content ?? "")
        }
    }

    /// A signature of RFC 9421.
    struct Sample: Decodable, Sendable, CustomTestStringConvertible {
        let id: String
        let keyid: String
        let alg: String
        let label: String
        let message: Message
        let request: Message?
        let parameters: String
        let base: String
        let must: String

        enum CodingKeys: String, CodingKey {
            case id, keyid, alg, label, message, request, must
            case parameters = "signature_params"
            case base = "signature_base"
        }

        var testDescription: String { id }

        /// The option that requires the first covered component.
        var requirement: String {
            let first = parameters.dropFirst().prefix { $0 != ")" }.split(separator: " ").first ?? "@method"
            return "--require '\(first)'"
        }
    }

    private struct File: Decodable { let cases: [Sample] }

    static let samples = (try? Vector.decode("rfc9421-signatures", as: File.self))?.cases ?? []

    /// A time at which every published signature is valid.
    static let time = "--at 1618884500"

    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        let keys = try #require(JSONObject(parsing: Vector.data("rfc9421-keys"))["keys"]?.object)
        var set: [JSONValue] = []
        for key in keys {
            if let secret = key.value.object?["secret_b64"]?.string {
                try folder.write(secret + "\n", to: "\(key.name).key")
            } else {
                var jwk = try #require(key.value.object?["jwk"]?.object)
                if let algorithm = Self.algorithms[key.name] { jwk["alg"] = .string(algorithm) }
                try folder.write(jwk.serialized(), to: "\(key.name).key")
                set.append(.object(jwk))
            }
        }
        try folder.write((["keys": .array(set)] as JSONObject).serialized(), to: "keys.jwks")
    }

    private static let algorithms = ["test-key-rsa": "RS256", "test-key-rsa-pss": "PS512"]

    static func sample(_ id: String) throws -> Sample { try #require(samples.first { $0.id == id }) }

    /// The options for a published key.
    static func key(_ name: String) -> String {
        "-k \(name).key" + (name == "test-shared-secret" ? " --secret base64 --alg HS256" : "")
    }

    func shell(_ script: String, input: String = "") throws -> ProcessResult {
        try BuiltProgram.shell(script, input: input, in: folder)
    }

    /// Verifies a raw message from standard input.
    func verify(_ text: String, _ options: String) throws -> ProcessResult {
        try shell("jwt http verify \(options)", input: text)
    }

    /// Verifies a message with the key on Ed25519 and returns the code of the error, if any.
    func code(_ text: String, _ options: String = "--require date --allow-unsigned-content") throws -> String? {
        let result = try verify(text, "\(Self.key("test-key-ed25519")) \(Self.time) --json \(options)")
        guard result.status != 0 else { return nil }
        #expect(result.status == 1, "\(result)")
        return try JSONObject(parsing: result.errors)["error"]?.object?["code"]?.string
    }
}
