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
        #expect(result == ProcessResult(status: 1, output: "", errors: expected))
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
        #expect(
            endless == ProcessResult(status: 2, output: "", errors: "jwt http verify: /dev/zero: larger than 64 MiB\n")
        )
    }

    @Test("Rejects malformed, repeated and too many signatures")
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

    @Test("Escapes invisible characters, and shows no credentials")
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
