import Foundation
import TestSupport
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

@Suite("jwt http verify", .limitedConcurrency)
struct HTTPVerifyCommandTests {
    private let scene: HTTPScene

    init() throws {
        scene = try HTTPScene()
    }

    @Test(
        "Verifies the published messages with LF and CRLF, and prints their signature bases",
        .shows("P43", "RFC 9421 §1.4, §2.5, §3.2"),
        arguments: HTTPScene.samples.filter { $0.id != "b21" },
        ["\n", "\r\n"]
    )
    func vectors(sample: HTTPScene.Sample, lineEnd: String) throws {
        try scene.folder.write(sample.message.text(lineEnd: lineEnd), to: "message")
        var options = "\(HTTPScene.key(sample.keyid)) \(HTTPScene.time) \(sample.requirement) --allow-unsigned-content"
        if let request = sample.request {
            try scene.folder.write(request.text(lineEnd: lineEnd), to: "request")
            options += " --request request"
        }
        let result = try scene.shell("jwt http verify \(options) message")
        let base = try scene.shell("jwt http verify \(options) --base --label \(sample.label) message")
        if sample.must == "valid" {
            #expect(result.status == 0 && result.errors == "")
            #expect(result.output.contains("\n\(sample.label): valid\n"), "\(result)")
            #expect(result.output.contains("\n  algorithm: \(sample.alg)\n"))
            #expect(base == .success(sample.base))
        } else {
            #expect(result.status == 1)
            #expect(
                result.output.contains(
                    "\n\(sample.label): INVALID: the key doesn't verify the signature over the message\n"
                )
            )
            #expect(result.errors == "jwt http verify: the key doesn't verify the signature over the message\n")
            #expect(base.status == 1 && base.output == sample.base)
        }
    }

    @Test("Reports the parameters, and what is covered and what isn't")
    func report() throws {
        let sample = try HTTPScene.sample("b22")
        let result = try scene.verify(
            sample.message.text(),
            "\(HTTPScene.key(sample.keyid)) --at 1618884480 --require @authority --require content-digest"
        )
        let digest =
            "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:"
        let expected = """
            request: POST https://example.com/foo?param=Value&Pet=dog
            origin: https://example.com (assumed from the Host field; --origin URL states another)
            sig-b22: valid
              key ID: test-key-rsa-pss
              algorithm: rsa-pss-sha512
              created: 2021-04-20T02:07:53Z (7 seconds ago)
              tag: header-example
              covered:
                "@authority": example.com
                "content-digest": \(digest)
                "@query-param";name="Pet": dog
              not covered:
                @method
                @scheme
                @path
                @query (other parameters)
                date: Tue, 20 Apr 2021 02:07:55 GMT
                content-type: application/json
                content-length: 18

            """
        #expect(result == .success(expected))
    }

    @Test("Reports the same for programs")
    func json() throws {
        let sample = try HTTPScene.sample("b26")
        let options = "\(HTTPScene.key(sample.keyid)) --require date --allow-unsigned-content --json"
        let valid = try JSONObject(parsing: scene.verify(sample.message.text(), "\(options) \(HTTPScene.time)").output)
        #expect(valid["valid"] == true && valid["remarks"] == [])
        #expect(
            valid["message"]
                == [
                    "kind": "request", "title": "POST https://example.com/foo?param=Value&Pet=dog",
                    "origin": "https://example.com", "originSource": "host",
                ]
        )
        let signature = try #require(valid["signatures"]?.array?.first?.object)
        #expect(signature["label"] == "sig-b26" && signature["valid"] == true && signature["selected"] == true)
        #expect(signature["keyid"] == "test-key-ed25519" && signature["algorithm"] == "ed25519")
        #expect(signature["created"] == 1_618_884_473 && signature["base"] == nil)
        #expect(signature["covered"]?.array?.contains(["component": "\"@method\"", "value": "POST"]) == true)
        #expect(signature["notCovered"]?.array?.last == ["part": "the content", "value": "18 bytes"])
        let based = try JSONObject(
            parsing: scene.verify(sample.message.text(), "\(options) \(HTTPScene.time) --base").output
        )
        #expect(based["signatures"]?.array?.first?.object?["base"] == .string(sample.base))
        let late = try scene.verify(sample.message.text(), options)
        let invalid = try JSONObject(parsing: late.output)
        let error = try #require(invalid["signatures"]?.array?.first?.object?["error"]?.object)
        #expect(late.status == 1 && invalid["valid"] == false && error["code"] == "tooOld")
        #expect(late.errors.hasPrefix(#"{"error":{"code":"tooOld","#))
    }

    @Test("Rejects a signature that doesn't cover what is required", .shows("M21", "RFC 9421 §1.4, §2.5, §3.2"))
    func coverage() throws {
        let (empty, sample) = (try HTTPScene.sample("b21"), try HTTPScene.sample("b26"))
        let nothing = try scene.verify(
            empty.message.text(),
            "\(HTTPScene.key(empty.keyid)) \(HTTPScene.time) --require @method"
        )
        #expect(nothing.status == 1 && nothing.output.contains("\n  covered: nothing\n"))
        #expect(
            nothing.errors == "jwt http verify: the signature doesn't cover the required component \"content-digest\"; "
                + "--allow-unsigned-content accepts such a signature\n"
        )
        let text = sample.message.text()
        #expect(try scene.code(text, "--require @query --allow-unsigned-content") == "insufficientCoverage")
        #expect(try scene.code(text, "--require date") == "insufficientCoverage")
        #expect(try scene.code(text, "--signature-profile open-payments") == "insufficientCoverage")
        #expect(try scene.code(text, "--signature-profile standard") == "missingParameter")
        #expect(try scene.code(text, "--require Date --allow-unsigned-content") == nil)
    }

    @Test("Checks the time, as of any time")
    func time() throws {
        // Only the proxy's signature has an end.
        let text = try HTTPScene.sample("4.3-proxy").message.text().replacing(/sig1=.*?, proxy_sig/, with: "proxy_sig")
        func verify(_ options: String) throws -> String {
            let key = HTTPScene.key("test-key-rsa")
            return try scene.verify(text, "\(key) --require forwarded \(options)").errors
        }
        #expect(try verify("--at 2021-04-20T02:08:10Z") == "")
        let advice = "; --at TIME checks as of another time\n"
        #expect(
            try verify("--at 2021-04-20T02:11:00Z")
                == "jwt http verify: the signature has expired (expires is 2021-04-20T02:09:00Z)" + advice
        )
        #expect(
            try verify("--at 2021-04-20T02:09:01Z --leeway 0")
                == "jwt http verify: the signature has expired (expires is 2021-04-20T02:09:00Z)" + advice
        )
        let future = "the signature was created in the future; check the clocks (created is 2021-04-20T02:08:00Z)"
        #expect(try verify("--at 2021-04-20T02:00:00Z") == "jwt http verify: \(future)\(advice)")
        let old = "the signature was created too long ago (created is 2021-04-20T02:08:00Z)"
        #expect(
            try verify("--at 2021-04-20T02:08:50Z --max-age 10s --leeway 10s") == "jwt http verify: \(old)\(advice)"
        )
    }

    @Test("Selects signatures by key and tag, and keys by keyid")
    func selection() throws {
        let proxy = try HTTPScene.sample("4.3-proxy").message.text()
        let options = "--jwks keys.jwks \(HTTPScene.time) --require @method"
        let result = try scene.verify(proxy, options)
        #expect(result.status == 0 && result.output.contains("\nsig1: INVALID: the key doesn't verify"))
        #expect(result.output.contains("\nproxy_sig: valid\n"))
        #expect(
            try scene.verify(proxy, options + " --base")
                == .failure(2, "jwt http verify: choose a signature with --label: sig1, proxy_sig\n")
        )
        let tagged = try HTTPScene.sample("b22").message.text()
        let rules = "--jwks keys.jwks \(HTTPScene.time) --require @authority"
        #expect(try scene.verify(tagged, rules + " --tag header-example").status == 0)
        let ignored = try scene.verify(tagged, rules + " --tag other")
        #expect(ignored.output.contains("\nsig-b22: ignored, because its tag isn't “other”\n"))
        #expect(
            ignored.status == 1
                && ignored.errors == "jwt http verify: the message has no signature with the profile's tag\n"
        )
        try scene.folder.write(#"{"keys":[]}"#, to: "keys.jwks")
        #expect(
            try scene.verify(tagged, rules).errors
                == "jwt http verify: no key is known for the signature's “keyid”\n"
        )
    }

    @Test("Takes the origin from the option, the target or Host, and never from Forwarded")
    func origin() throws {
        let proxy = try HTTPScene.sample("4.3-proxy").message.text()
        let options = "\(HTTPScene.key("test-key-ecc-p256")) \(HTTPScene.time) --require @authority"
        #expect(try scene.verify(proxy, options).status == 1)
        let stated = try scene.verify(proxy, options + " --origin https://EXAMPLE.com:443")
        #expect(stated.status == 0 && stated.output.contains("\norigin: https://EXAMPLE.com:443 (as stated)\n"))
        let text = try HTTPScene.sample("b26").message.text()
        let absolute = text.replacing("POST /foo", with: "POST http://example.com/foo")
        let result = try scene.verify(
            absolute,
            "\(HTTPScene.key("test-key-ed25519")) \(HTTPScene.time) --require date --allow-unsigned-content"
        )
        #expect(
            result.status == 0 && result.output.contains("\norigin: http://example.com (from the request target)\n")
        )
        for (host, message) in [
            ("", "the request has no Host field; pass --origin URL"),
            ("Host: a\nHost: b\n", "the request has several Host fields; pass --origin URL"),
            ("Host: a/b\n", "the Host field isn't a host; pass --origin URL"),
            ("Host: user@a\n", "the Host field isn't a host; pass --origin URL"),
        ] {
            let result = try scene.verify("GET / HTTP/1.1\n\(host)\n", options)
            #expect(result == .failure(1, "jwt http verify: standard input: \(message)\n"))
        }
    }
}
