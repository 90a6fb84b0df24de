import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt http verify", .limitedConcurrency)
struct HTTPVerifyCommandTests {
    private let scene: HTTPScene

    init() throws {
        scene = try HTTPScene()
    }

    @Test(
        "Verifies the published messages with LF and CRLF, and prints their signature bases",
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
            #expect(base == ProcessResult(status: 0, output: sample.base, errors: ""))
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
        #expect(result == ProcessResult(status: 0, output: expected, errors: ""))
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

    @Test("Rejects a signature that doesn't cover what is required")
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
                == ProcessResult(
                    status: 2,
                    output: "",
                    errors: "jwt http verify: choose a signature with --label: sig1, proxy_sig\n"
                )
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
            #expect(
                result
                    == ProcessResult(status: 1, output: "", errors: "jwt http verify: standard input: \(message)\n")
            )
        }
    }

    @Test(
        "Exits with 64 and one line for an invalid command line",
        arguments: [
            (
                "-k a.key x",
                """
                missing requirements; pass --signature-profile NAME or --require COMPONENT, because a signature protects \
                only what it covers
                """
            ),
            ("--require @method x", "missing key; pass --key FILE, --key-env NAME or --jwks FILE|URL"),
            ("-k a.key --jwks b --require @method x", "--key, --jwks and --discover can't be combined"),
            (
                "-k a.key --signature-profile none x",
                """
                --signature-profile must be one of standard, proxied, fapi2, gnap, open-payments, web-bot-auth, \
                legacy-activitypub
                """
            ),
            (
                "-k a.key --require @unknown x",
                "--require must be a component such as @method, content-digest, @method;req or @query-param;name=page"
            ),
            (
                "-k a.key --require '@query-param' x",
                "--require must be a component such as @method, content-digest, @method;req or @query-param;name=page"
            ),
            (
                "-k a.key --signature-profile standard --allow-unsigned-content x",
                "--allow-unsigned-content and --signature-profile can't be combined"
            ),
            ("-k a.key --require @method --label sig1 x", "--label requires --base"),
            (
                "-k a.key --require @method --origin https://a/path x",
                "--origin must be a scheme and a host, such as https://api.example"
            ),
            (
                "-k a.key --require @method --origin ftp://a x",
                "--origin must be a scheme and a host, such as https://api.example"
            ),
            ("-k a.key --require @method --entry 0 x", "--entry must be a number from 1"),
            ("-k - --require @method", "the key and the message can't both come from standard input"),
            (
                "-k a.key --require @method --request -",
                "the request and the response can't both come from standard input"
            ),
            ("-k a.key --require @method x y", "unexpected argument: expected only FILE"),
        ]
    )
    func usageErrors(arguments: String, message: String) throws {
        let expected = "jwt http verify: \(message) (see jwt http verify --help)\n"
        #expect(
            try scene.shell("jwt http verify \(arguments)") == ProcessResult(status: 64, output: "", errors: expected)
        )
    }
}
