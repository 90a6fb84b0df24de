import Foundation
import TestSupport
import Testing
import TokenGeneration

/// Raw messages that people and attackers give `jwt http verify`.
@Suite("Raw messages of jwt http verify", .limitedConcurrency)
struct RawMessageTests {
    private let scene: HTTPScene
    private let text: String

    init() throws {
        scene = try HTTPScene()
        text = try HTTPScene.sample("b26").message.text()
    }

    @Test("Accepts folded lines, versions of other protocols and line breaks around the message")
    func tolerance() throws {
        let folded = text.replacing("20 Apr 2021 02", with: "20 Apr 2021  \r\n\t 02")
        for message in [
            folded, text.replacing("HTTP/1.1", with: "HTTP/2"), "\r\n" + text, text + "\n", text + "\r\n\r\n",
            text.replacing("Date:", with: "dATE:  "),
        ] {
            #expect(try scene.code(message) == nil, "\(message)")
        }
        let result = try scene.verify(
            text + "\n",
            "\(HTTPScene.key("test-key-ed25519")) \(HTTPScene.time) --require date --allow-unsigned-content"
        )
        #expect(result.errors == "the line break after the content isn't part of it and was ignored\n")
    }

    @Test("Rejects a changed body, and content that is cut off or continued")
    func content() throws {
        let signed = try HTTPScene.sample("b22").message.text()
        let options = "\(HTTPScene.key("test-key-rsa-pss")) \(HTTPScene.time) --require @authority"
        func errors(_ text: String) throws -> String {
            let result = try scene.verify(text, options)
            #expect(result.status == (result.errors == "" ? 0 : 1))
            return result.errors
        }
        #expect(try errors(signed) == "")
        let mismatch = "jwt http verify: the content isn't the one that Content-Digest describes\n"
        #expect(try errors(signed.replacing("world", with: "w0rld")) == mismatch)
        // Without Content-Length, everything that follows the head is content.
        let unlimited = signed.replacing("Content-Length: 18\r\n", with: "")
        #expect(try errors(unlimited) == "")
        #expect(try errors(unlimited + "\n") == mismatch)
        let prefix = "jwt http verify: standard input: not an HTTP message: "
        #expect(
            try errors(String(signed.dropLast(1)))
                == prefix + "the content has 17 bytes, but Content-Length is 18\n"
        )
        #expect(
            try errors(signed + signed)
                == prefix
                + "the text continues after the content; was it converted, or are there several messages?\n"
        )
    }

    @Test("Removes the chunked coding, and reads its trailers")
    func chunked() throws {
        let signed = try HTTPScene.sample("b22").message.text()
        let head = signed.replacing("Content-Length: 18", with: "Transfer-Encoding: chunked")
        let chunked =
            head.replacing(#"{"hello": "world"}"#, with: "")
            + "8\r\n{\"hello\"\r\na;x=1\r\n: \"world\"}\r\n0\r\nX-Late: 1\r\n\r\n"
        let options = "\(HTTPScene.key("test-key-rsa-pss")) \(HTTPScene.time) --require @authority"
        let result = try scene.verify(chunked, options)
        #expect(result.status == 0 && result.output.hasSuffix("    x-late;tr: 1\n"), "\(result)")
        for (text, message) in [
            (String(chunked.dropLast(1)), "the content ends before its last chunk"),
            (chunked.replacing("a;x=1", with: "ag"), "a chunk's size isn't a number"),
            (chunked.replacing("chunked", with: "gzip"), "the only supported transfer coding is chunked"),
            (
                chunked.replacing("Date:", with: "Content-Length: 18\r\nDate:"),
                "both Transfer-Encoding and Content-Length"
            ),
        ] {
            #expect(
                try scene.verify(text, options).errors
                    == "jwt http verify: standard input: not an HTTP message: \(message)\n"
            )
        }
    }

    @Test(
        "Rejects text that isn't a message in one line that doesn't repeat it",
        .shows("RFC 9421 §1.4, §2.5, §3.2"),
        arguments: [
            ("", "it is empty"), ("secret", "the request line doesn't have three parts"),
            ("eyJhbGciOiJFUzI1NiJ9.e30.secret\n", "the request line doesn't have three parts"),
            (" secret\nGET / HTTP/1.1\n\n", "the first line or field begins with white space"),
            ("GET / HTTP/1.1\n secret: 1\n\n", "the first line or field begins with white space"),
            ("GET / HTTP/1.1\nsecret\n\n", "a field line has no colon"),
            ("GET / HTTP/1.1\nsecret : 1\n\n", "a field's name is not a token"),
            ("GET / HTTP/1.1\nA: \u{1B}[31msecret\n\n", "a control character in a line"),
            ("GET / HTTP/1.1\nA: sec\rret\n\n", "a carriage return inside a line"),
            ("GET / HTTP/1.1\nA: sec\0ret\n\n", "a control character in a line"),
            ("GET /secret#x HTTP/1.1\n\n", "the request target has an invalid character"),
            ("GET / HTTP/4\n\n", "missing HTTP version"),
            ("HTTP/1.1 OK\n\n", "the status line has no status of three digits"),
            ("HTTP/1.1 200 \u{7F}\n\n", "a control character in a line"),
            ("POST / HTTP/1.1\nHost: a\nContent-Length: 1\nContent-Length: 1\n\nx", "more than one Content-Length"),
            ("POST / HTTP/1.1\nHost: a\nContent-Length: +1\n\nx", "Content-Length is not a number"),
        ]
    )
    func malformed(text: String, message: String) throws {
        let result = try scene.verify(text, "-k test-key-ed25519.key --require @method")
        let expected = "jwt http verify: standard input: not an HTTP message: \(message)\n"
        #expect(result == .failure(1, expected))
    }

    @Test("Limits the head, the fields and the file")
    func limits() throws {
        let head = "GET / HTTP/1.1\nHost: a\n"
        let long = String(repeating: "a", count: 70_000)
        let many = String(repeating: "A: 1\n", count: 300)
        for text in ["\(long) / HTTP/1.1\n\n", "\(head)A: \(long)\n\n", "\(head)\(many)\n", long] {
            #expect(try scene.code(text) == "tooLarge")
        }
        let endless = try scene.shell("jwt http verify -k test-key-ed25519.key --require @method /dev/zero")
        #expect(endless == .failure(2, "jwt http verify: /dev/zero: larger than 64 MiB\n"))
    }

    @Test("Rejects malformed, repeated and too many signatures", .shows("M21"))
    func signatures() throws {
        #expect(try scene.code("GET / HTTP/1.1\nHost: a\n\n") == "noSignature")
        let value = try #require(text.split(separator: "\r\n").first { $0.hasPrefix("Signature: ") })
        let input = try #require(text.split(separator: "\r\n").first { $0.hasPrefix("Signature-Input: ") })
        for message in [
            text.replacing("\(value)\r\n", with: ""), text.replacing("\(input)\r\n", with: ""),
            text.replacing("\(input)\r\n", with: "\(input)\r\n\(input)\r\n"),
            text.replacing("\(value)\r\n", with: "\(value)\r\n\(value)\r\n"),
            text.replacing("Signature: sig-b26=:", with: "Signature: sig-b26="),
            text.replacing(";created=1618884473", with: ";created=\"1618884473\""),
        ] {
            #expect(try scene.code(message) == "malformedSignature")
        }
        let others = (1...9).map { "Signature-Input: s\($0)=();created=1\r\nSignature: s\($0)=:AA==:\r\n" }.joined()
        #expect(try scene.code(text.replacing("\(input)\r\n", with: others + "\(input)\r\n")) == "tooLarge")
        #expect(try scene.code(text.replacing("\"date\" \"@method\"", with: "\"date\" \"date\"")) == "invalidComponent")
        #expect(try scene.code(text.replacing("Date: ", with: "X-Date: ")) == "missingComponent")
        #expect(try scene.code(text.replacing("\"content-type\"", with: "\"content-type\";sf")) != nil)
        #expect(try scene.code(text.replacing("Tue,", with: "Wed,")) == "signatureInvalid")
        #expect(try scene.code(text.replacing("sig-b26", with: "renamed")) == nil)
    }

    @Test("Escapes invisible characters, and shows no credentials", .shows("M21"))
    func visible() throws {
        let message = text.replacing(
            "Date:",
            with: "X-Text: \u{202E}red\r\nAuthorization: Bearer sesame\r\nCookie: a=sesame\r\nDate:"
        )
        let options = "\(HTTPScene.key("test-key-ed25519")) \(HTTPScene.time) --require date --allow-unsigned-content"
        for format in ["", " --json"] {
            let result = try scene.verify(
                message.replacing("Pet=dog", with: "Pet=dog&access_token=sesame"),
                options + format
            )
            #expect(result.status == 0)
            #expect(result.output.contains(#"\u202ered"#) && !result.output.contains("\u{202E}"))
            #expect(result.output.contains("Bearer REDACTED") && !result.output.contains("sesame"), "\(result)")
        }
    }

    @Test("Needs the request for components of the request")
    func requestOfResponse() throws {
        let sample = try HTTPScene.sample("2.4-a")
        try scene.folder.write(sample.message.text(), to: "response")
        try scene.folder.write(#require(sample.request).text(), to: "request")
        func errors(_ options: String) throws -> String {
            let key = HTTPScene.key("test-key-ecc-p256")
            return try scene.shell("jwt http verify \(key) \(HTTPScene.time) --require '@method;req' \(options)").errors
        }
        #expect(try errors("--request request response") == "")
        #expect(
            try errors("response")
                == "jwt http verify: the component \"@authority\";req is about the request, which isn't known\n"
        )
        let other = try HTTPScene.sample("b4-0").message.text()
        try scene.folder.write(other, to: "other")
        #expect(try errors("--request other response").contains("has no field for the component"))
        #expect(
            try errors("--request response response")
                == "jwt http verify: response: --request needs a request, but this is a response\n"
        )
        #expect(
            try errors("--request request request")
                == "jwt http verify: request: --request is for responses, but this is a request\n"
        )
        #expect(
            try errors("--signature-profile gnap response")
                == "jwt http verify: the profile gnap is only for requests; pass --require COMPONENT\n"
        )
    }
}

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
        let unsigned = HTTPScene.Message(startLine: "GET / HTTP/1.1", fields: [["Host", "a.example"]], content: nil)
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
                == .failure(2, "jwt http verify: session.har: has 2 entries, but --entry is 3\n")
        )
        let none = try verify("--require content-digest --response --json")
        #expect(none.status == 1 && none.errors.contains(#""code":"noSignature""#))
        try write()
        #expect(try verify("--require content-digest").status == 1)
    }

    @Test("Says what the recording lost", .shows("M21"))
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
                == .failure(1, "jwt http verify: session.har: the file isn't a HAR 1.2 recording\n")
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
                == .failure(2, "jwt http verify: --request applies only to a raw response\n")
        )
        let fields = message.fields + (1...300).map { ["X-\($0)", "1"] }
        try write(
            Self.entry(
                request: HTTPScene.Message(startLine: message.startLine, fields: fields, content: message.content)
            )
        )
        #expect(try verify("--require date --json").errors.hasPrefix(#"{"error":{"code":"tooLarge","#))
        let raw = try scene.verify("GET / HTTP/1.1\nHost: a\n\n", "-k test-key-ed25519.key --require date --entry 1")
        #expect(raw == .failure(2, "jwt http verify: standard input: --entry applies only to a HAR file\n"))
    }
}
