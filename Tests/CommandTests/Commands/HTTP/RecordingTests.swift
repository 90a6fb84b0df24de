import Foundation
import TestSupport
import Testing
import TokenGeneration

/// HAR files of `jwt http verify`.
@Suite("Recordings of jwt http verify", .limitedConcurrency)
struct RecordingTests {
    private let scene: HTTPScene

    init() throws {
        scene = try HTTPScene()
    }

    private static func pairs(_ message: HTTPScene.Message) -> JSONValue {
        .array(message.fields.map { .object(["name": .string($0[0]), "value": .string($0[1])]) })
    }

    /// Returns an entry as a browser records it.
    private static func entry(
        request: HTTPScene.Message,
        response: HTTPScene.Message? = nil,
        postData: JSONValue? = nil,
        content: JSONValue? = nil
    ) -> JSONObject {
        let line = request.startLine.split(separator: " ").map(String.init)
        let host = request.fields.first { $0[0] == "Host" }?[1] ?? "example.com"
        var sent: JSONObject = [
            "method": .string(line[0]), "url": .string("https://\(host)\(line[1])#fragment"), "httpVersion": "h2",
            "cookies": [], "queryString": [], "headersSize": -1,
            "bodySize": .number(JSONNumber(request.content?.utf8.count ?? 0)),
        ]
        var fields = pairs(request).array ?? []
        fields.insert(["name": ":authority", "value": "evil.example"], at: 0)
        sent["headers"] = .array(fields)
        if let text = request.content { sent["postData"] = postData ?? ["mimeType": "", "text": .string(text)] }
        let status = response?.startLine.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 200
        let body = response?.content ?? ""
        let received: JSONObject = [
            "status": .number(JSONNumber(status)), "statusText": "", "httpVersion": "h2", "cookies": [],
            "headers": response.map(pairs) ?? [],
            "content": content
                ?? ["size": .number(JSONNumber(body.utf8.count)), "mimeType": "", "text": .string(body)],
            "redirectURL": "", "headersSize": -1, "bodySize": -1,
        ]
        return [
            "startedDateTime": "2021-04-20T02:07:53.000Z", "time": 1, "cache": [:], "timings": ["send": 0],
            "request": .object(sent), "response": .object(received),
        ]
    }

    private func write(_ entries: JSONObject...) throws {
        let log: JSONObject = [
            "version": "1.2", "creator": ["name": "browser", "version": "1"],
            "entries": .array(entries.map(JSONValue.object)),
        ]
        try scene.folder.write((["log": .object(log)] as JSONObject).serialized(), to: "session.har")
    }

    private func verify(_ options: String, at time: String = HTTPScene.time) throws -> ProcessResult {
        try scene.shell("jwt http verify --jwks keys.jwks \(time) \(options) session.har")
    }

    @Test("Verifies requests, and responses with their requests")
    func entries() throws {
        let (request, response) = (try HTTPScene.sample("b22"), try HTTPScene.sample("2.4-b"))
        let unsigned = HTTPScene.Message(
            startLine: "GET / HTTP/1.1",
            fields: [["Host", "a.example"]],
            content: nil
        )
        try write(
            Self.entry(request: unsigned),
            Self.entry(request: request.message),
            Self.entry(request: try #require(response.request), response: response.message)
        )
        let sent = try verify("--entry 2 --require content-digest")
        #expect(sent.status == 0, "\(sent)")
        #expect(
            sent.output.hasPrefix(
                "request: POST https://example.com/foo?param=Value&Pet=dog\norigin: https://example.com (from the recording)\n"
            )
        )
        #expect(!sent.output.contains("evil.example"))
        // Only one response is signed.
        let received = try verify("--response --require '@method;req' --require @status")
        #expect(received.status == 0 && received.output.contains("\nreqres: valid\n"), "\(received)")
        #expect(received.output.hasPrefix("response: 503 for POST https://"))
        let other = try verify("--entry 2 --require content-digest --origin https://other.example")
        #expect(other.status == 1 && other.output.contains("\norigin: https://other.example (as stated)\n"))
    }

    @Test("Names the entries to choose from")
    func choice() throws {
        let entry = Self.entry(request: try HTTPScene.sample("b22").message)
        try write(entry, entry)
        #expect(
            try verify("--require content-digest").errors == """
                jwt http verify: session.har: 2 entries have a signed request; choose one with --entry: \
                1 POST https://example.com/foo?param=Value&Pet=dog#fragment, \
                2 POST https://example.com/foo?param=Value&Pet=dog#fragment

                """
        )
        #expect(
            try verify("--require content-digest --entry 3")
                == ProcessResult(
                    status: 2,
                    output: "",
                    errors: "jwt http verify: session.har: has 2 entries, but --entry is 3\n"
                )
        )
        let none = try verify("--require content-digest --response --json")
        #expect(none.status == 1 && none.errors.contains(#""code":"noSignature""#))
        try write()
        #expect(try verify("--require content-digest").status == 1)
    }

    @Test("Says what the recording lost")
    func losses() throws {
        let message = try HTTPScene.sample("b22").message
        let text = try #require(message.content)
        func result(_ postData: JSONValue, _ fields: [[String]] = []) throws -> (code: String?, remarks: String) {
            let changed = HTTPScene.Message(
                startLine: message.startLine,
                fields: message.fields + fields,
                content: text
            )
            try write(Self.entry(request: changed, postData: postData))
            let result = try verify("--require content-digest --json")
            let report = try JSONObject(parsing: result.output)
            let error = result.status == 0 ? nil : try JSONObject(parsing: result.errors)["error"]?.object
            let remarks = report["remarks"]?.array?.compactMap(\.string) ?? []
            return (error?["code"]?.string, remarks.joined(separator: "; "))
        }
        let asText = "the recording has the content as text, whose bytes may differ from those that were sent"
        #expect(try result(["mimeType": "", "text": .string(text)]) == (nil, asText))
        let encoded = Data(text.utf8).base64EncodedString()
        #expect(try result(["mimeType": "", "text": .string(encoded), "_encoding": "base64"]) == (nil, ""))
        #expect(try result(["mimeType": "", "text": .string(text + " ")]) == ("digestMismatch", asText))
        let lost = "the recording lacks the content"
        #expect(try result(["mimeType": ""]) == ("undecided", lost))
        #expect(try result(["mimeType": "", "_omitted": true]) == ("undecided", lost))
        #expect(try result(["mimeType": "", "text": "%", "encoding": "base64"]) == ("undecided", lost))
        #expect(
            try result(["mimeType": "", "text": "decoded"], [["Content-Encoding", "gzip"]]) == ("contentDecoded", "")
        )
        // Without a covered digest, lost content counts as content.
        let uncovered = try HTTPScene.sample("b26").message
        try write(Self.entry(request: uncovered, postData: ["mimeType": ""]))
        #expect(try verify("--require date").status == 1)
        let redacted = [["X-Other", "REDACTED"]]
        #expect(
            try result(["mimeType": "", "text": .string(text)], redacted).remarks.contains("REDACTED instead of some")
        )
    }

    @Test(
        "Rejects other files",
        arguments: ["{}", "{\"log\":{}}", "{\"secret\":1}", String(repeating: "{\"a\":", count: 10_000)]
    )
    func otherFiles(text: String) throws {
        try scene.folder.write(text, to: "session.har")
        #expect(
            try verify("--require date")
                == ProcessResult(
                    status: 1,
                    output: "",
                    errors: "jwt http verify: session.har: the file isn't a HAR 1.2 recording\n"
                )
        )
    }

    @Test("Rejects entries without a response, too many fields, and options for raw text")
    func unusable() throws {
        let message = try HTTPScene.sample("b22").message
        var failed = Self.entry(request: message)
        var response = try #require(failed["response"]?.object)
        response["status"] = 0
        failed["response"] = .object(response)
        try write(failed)
        #expect(
            try verify("--require date --response").errors
                == "jwt http verify: session.har: the entry has no response\n"
        )
        #expect(
            try verify("--require date --request keys.jwks")
                == ProcessResult(
                    status: 2,
                    output: "",
                    errors: "jwt http verify: --request applies only to a raw response\n"
                )
        )
        let fields = message.fields + (1...300).map { ["X-\($0)", "1"] }
        try write(
            Self.entry(
                request: HTTPScene.Message(startLine: message.startLine, fields: fields, content: message.content)
            )
        )
        #expect(try verify("--require date --json").errors.hasPrefix(#"{"error":{"code":"tooLarge","#))
        let raw = try scene.verify("GET / HTTP/1.1\nHost: a\n\n", "-k test-key-ed25519.key --require date --entry 1")
        #expect(
            raw
                == ProcessResult(
                    status: 2,
                    output: "",
                    errors: "jwt http verify: standard input: --entry applies only to a HAR file\n"
                )
        )
    }
}
