import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@Suite("jwt sd verify", .limitedConcurrency)
struct SDVerifyCommandTests {
    private let scene: SDScene

    init() throws {
        scene = try SDScene()
    }

    private func verify(_ options: String, file: String = "presentation") throws -> ProcessResult {
        try scene.shell("jwt sd verify -k issuer.pub \(options) < \(file)")
    }

    private func rejection(_ message: String) -> ProcessResult {
        ProcessResult(status: 1, output: "", errors: "jwt sd verify: \(message)\n")
    }

    @Test("Verifies the presentation of RFC 9901 §5.2 and prints the processed claims")
    func specification() throws {
        let vector = try JSONObject(parsing: Vector.data("rfc9901-sd-jwt"))
        let key = try #require(vector["keys"]?.object?["issuer"]?.object)
        try scene.folder.write(key.serialized(), to: "rfc.jwk")
        let presented = try #require(vector["compact"]?.array?[1].object)
        try scene.folder.write(#require(presented["sd_jwt"]?.string), to: "presentation")
        func verify(_ options: String) throws -> ProcessResult {
            let rule = "--nonce 1234567890 --kb-aud https://verifier.example.org"
            return try scene.shell("jwt sd verify -k rfc.jwk \(rule) \(options) < presentation")
        }
        let expected = try #require(presented["processed_payload"]?.object).prettyPrinted() + "\n"
        #expect(try verify("--at 1748536900") == ProcessResult(status: 0, output: expected, errors: ""))
        let late = try verify("--at 1748537300 --json")
        #expect(late.status == 1 && late.errors.contains(#""code":"tooOld","message":"in the key binding: "#))
        #expect(try verify("--at 1748537300 --kb-max-age 10m").status == 0)
    }

    @Test("Prints a report for programs")
    func report() throws {
        try scene.issue()
        try scene.present("-d address.locality -d '[\"a.b\"]' -k holder.jwk \(SDScene.binding)")
        let result = try JSONObject(parsing: verify("\(SDScene.binding) --json").output)
        #expect(result["valid"] == true && result["header"] == ["alg": "ES256", "typ": "sd-jwt"])
        #expect(Set(result["disclosed"]?.array ?? []) == ["address", "address.locality", #"["a.b"]"#])
        #expect(result["claims"]?.object?["address"] == ["country": "DE", "locality": "Köln"])
        #expect(result["keyBinding"]?.object?["nonce"] == "n-1")
        let unbound = try JSONObject(parsing: verify("--allow-no-key-binding --json").output)
        #expect(unbound["keyBinding"] == nil && unbound["valid"] == true)
    }

    @Test("Requires a key binding for the nonce and the audience, and by the holder")
    func keyBinding() throws {
        try scene.issue()
        try scene.present("-d name")
        #expect(
            try verify(SDScene.binding)
                == rejection(
                    "the presentation has no key binding, but the verifier requires one; the holder must sign it"
                )
        )
        #expect(try verify("--allow-no-key-binding").status == 0)
        try scene.present("-d name -k holder.jwk \(SDScene.binding)")
        #expect(try verify(SDScene.binding).status == 0)
        #expect(
            try verify("--nonce other --kb-aud https://shop.example")
                == rejection("“nonce” of the key binding isn't the one that the verifier expects")
        )
        #expect(
            try verify("--nonce n-1 --kb-aud https://other.example")
                == rejection("“aud” of the key binding isn't the verifier")
        )
        // Without one of the disclosures, the key binding is for another presentation.
        let script = "jwt sd verify -k issuer.pub \(SDScene.binding) < changed"
        let changed = try scene.folder.text(of: "presentation").split(separator: "~")
        try scene.folder.write(changed[0] + "~" + changed[2], to: "changed")
        #expect(
            try scene.shell(script)
                == rejection("“sd_hash” of the key binding isn't the hash of the presented SD-JWT")
        )
    }

    @Test("Validates the processed claims like jwt verify")
    func policy() throws {
        try scene.issue()
        try scene.present("-d name")
        let accepted = [
            "--iss https://id.example", "--require name", "-c name=Alice", "--prohibit address", "--typ sd-jwt",
        ]
        for option in accepted { #expect(try verify("--allow-no-key-binding \(option)").status == 0, "\(option)") }
        for (option, code) in [
            ("--iss https://other.example", "issuerMismatch"), ("--require address", "missingClaim"),
            ("-c name=Bob", "checkFailed"), ("--prohibit name", "prohibitedClaim"), ("--typ dc+sd-jwt", "typeMismatch"),
            ("--aud me", "missingClaim"), ("--max-age 1h", "missingClaim"),
        ] {
            let result = try verify("--allow-no-key-binding --json \(option)")
            #expect(result.status == 1 && result.output == "")
            #expect(result.errors.contains(#""code":"\#(code)""#), "\(option): \(result.errors)")
        }
        let late = try verify("--allow-no-key-binding --at 2100-01-02T00:00:00Z")
        #expect(late == rejection("the token expired 24 h ago (exp is 2100-01-01T00:00:00Z)"))
        let issue = "jwt sd issue -k issuer.pem -d a -c a=1"
        let eternal = try scene.shell("\(issue) | jwt sd verify -k issuer.pub --allow-no-key-binding")
        let advice = "; --allow-no-exp accepts such a token"
        #expect(eternal == rejection("the claim “exp” is missing, so the token would never expire" + advice))
        let audience = try scene.shell(
            "\(issue) --aud me --expires-in 1h | jwt sd verify -k issuer.pub --allow-no-key-binding"
        )
        #expect(
            audience
                == rejection(
                    "the token has an audience (“aud”): pass yours with --aud TEXT, or accept any audience with --any-aud"
                )
        )
    }

    @Test("Rejects another issuer and changed parts", arguments: ["key", "payload", "disclosure", "repeated", "extra"])
    func tampered(part: String) throws {
        try scene.issue()
        try scene.present("-d name")
        let parts = try scene.folder.text(of: "presentation").trimmingCharacters(in: .newlines)
            .split(separator: "~", omittingEmptySubsequences: false).map(String.init)
        let other = Base64URL.encode(Array(#"["salt","name","Bob"]"#.utf8))
        var jwt = parts[0].split(separator: ".").map(String.init)
        let code: String
        var (disclosures, key) = ([parts[1]], "issuer.pub")
        switch part {
        case "key":
            key = "holder.pub"
            code = "signatureInvalid"
        case "payload":
            jwt[1] = Base64URL.encode(Array(#"{"exp":4102444800}"#.utf8))
            code = "signatureInvalid"
        case "disclosure":
            disclosures = [other]
            code = "disclosureMismatch"
        case "repeated":
            disclosures = [parts[1], parts[1]]
            code = "disclosureMismatch"
        default:
            disclosures = [parts[1], other]
            code = "disclosureMismatch"
        }
        try scene.folder.write(([jwt.joined(separator: ".")] + disclosures).map { $0 + "~" }.joined(), to: "changed")
        let result = try scene.shell("jwt sd verify -k \(key) --allow-no-key-binding --json < changed")
        #expect(result.status == 1 && result.output == "")
        #expect(result.errors.hasPrefix(#"{"error":{"code":"\#(code)","#), "\(result.errors)")
    }

    @Test(
        "Rejects other input in one line that doesn't repeat it",
        arguments: [
            ("secret", "not an SD-JWT, which has a “~” after the signature"),
            (
                "a.b.secret",
                "this is a plain signed token, not an SD-JWT, which has a “~” after the signature; use jwt verify"
            ),
            ("a.b.c.d.secret", "the token is encrypted, a JWE; decrypt it with jwt decrypt"),
            ("{\"secret\":1}", "the JSON has no “signature”"), ("", "missing token: standard input is empty"),
        ]
    )
    func otherInput(text: String, message: String) throws {
        let result = try scene.shell("jwt sd verify -k issuer.pub --allow-no-key-binding", input: text)
        #expect(result == rejection(message))
    }

    @Test("Explains a missing “~” at the end")
    func truncated() throws {
        try scene.issue()
        try scene.present("-d name")
        let text = try scene.folder.text(of: "presentation").trimmingCharacters(in: .newlines).dropLast()
        let result = try scene.shell("jwt sd verify -k issuer.pub --allow-no-key-binding --json", input: String(text))
        #expect(result.status == 1 && result.errors.contains("the text after the last “~” is the key binding"))
    }

    @Test("Limits the input")
    func limits() throws {
        let long = String(repeating: "a", count: 300_000)
        for (text, message) in [
            ("\(long)~", "the SD-JWT has 300001 bytes, but the limit is 262144"),
            (String(repeating: "x~", count: 300), "the SD-JWT has more than 256 disclosures"),
        ] {
            let result = try scene.shell("jwt sd verify -k issuer.pub --allow-no-key-binding", input: text)
            #expect(result == rejection(message))
        }
        let endless = try scene.shell("jwt sd verify -k issuer.pub --allow-no-key-binding < /dev/zero")
        #expect(endless == rejection("not a token: larger than 2 MiB"))
    }

    @Test("Escapes terminal commands in claims")
    func visible() throws {
        try scene.folder.write(#"{"name":"\u001b[31m\u202ered","exp":4102444800}"#, to: "claims")
        try scene.issue("-d name")
        try scene.present("-d name")
        let result = try verify("--allow-no-key-binding")
        #expect(result.output.contains(#""name": "\u001b[31m\u202ered""#))
    }

    @Test(
        "Exits with 64 and one line for an invalid command line",
        arguments: [
            (
                "-k issuer.pub x",
                """
                missing rule for key bindings; pass --nonce TEXT and --kb-aud TEXT, or --allow-no-key-binding if anyone \
                who has a copy may present the SD-JWT
                """
            ),
            ("-k issuer.pub --nonce n x", "--nonce needs --kb-aud TEXT, the audience of the key binding"),
            ("-k issuer.pub --nonce n --aud a x", "--nonce needs --kb-aud TEXT, the audience of the key binding"),
            ("-k issuer.pub --kb-aud a x", "--kb-aud needs --nonce TEXT, which you sent to the holder"),
            ("-k issuer.pub --kb-aud a --nonce '' x", "--nonce must not be empty"),
            (
                "-k issuer.pub --allow-no-key-binding --nonce n x",
                "--allow-no-key-binding and --nonce can't be combined"
            ),
            (
                "-k issuer.pub --allow-no-key-binding --kb-max-age 1m x",
                "--allow-no-key-binding and --kb-max-age can't be combined"
            ),
            (
                "--allow-no-key-binding x",
                "missing key; pass --key FILE, --key-env NAME, --jwks FILE|URL or --discover ISSUER"
            ),
            ("-k - --allow-no-key-binding", "the key and the token can't both come from standard input"),
            ("-k issuer.pub --allow-no-key-binding x y", "unexpected argument: expected only TOKEN"),
        ]
    )
    func usageErrors(arguments: String, message: String) throws {
        try scene.checkUsage("verify", arguments, message)
    }
}
