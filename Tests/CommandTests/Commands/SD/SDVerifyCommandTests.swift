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
        ProcessResult.failure(1, "jwt sd verify: \(message)\n")
    }

    @Test("Verifies the presentation of RFC 9901 §5.2 and prints the processed claims", .shows("RFC 9901 §4–§8"))
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
        #expect(try verify("--at 1748536900") == .success(expected))
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

    @Test(
        "Requires a key binding for the nonce and the audience, and by the holder",
        .shows("J24", "V17", "RFC 9901 §4–§8")
    )
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

    @Test("Escapes terminal commands in claims", .shows("V18"))
    func visible() throws {
        try scene.folder.write(#"{"name":"\u001b[31m\u202ered","exp":4102444800}"#, to: "claims")
        try scene.issue("-d name")
        try scene.present("-d name")
        let result = try verify("--allow-no-key-binding")
        #expect(result.output.contains(#""name": "\u001b[31m\u202ered""#))
    }
}

@Suite("jwt sd show", .limitedConcurrency)
struct SDShowCommandTests {
    private static let warning = "UNVERIFIED: no signature was checked; anyone can have written this\n"

    /// `["salt-1","given_name","Al\u202eice"]`
    private static let name = "WyJzYWx0LTEiLCJnaXZlbl9uYW1lIiwiQWxcdTIwMmVpY2UiXQ"
    /// `["salt-2","address",…]` with the digest of the locality
    private static let address =
        "WyJzYWx0LTIiLCJhZGRyZXNzIix7Il9zZCI6WyJFcFB3eFJMUU5FRU5NLWVJN2VnMXdRVWRXSXNjSEZLd2p1S2lSaE9WT19nIl0sImNvdW50cnkiOiJERSJ9XQ"
    /// `["salt-3","locality","K\u00f6ln"]`
    private static let locality = "WyJzYWx0LTMiLCJsb2NhbGl0eSIsIktcdTAwZjZsbiJd"
    /// `["salt-4","FR"]`
    private static let element = "WyJzYWx0LTQiLCJGUiJd"
    /// `["salt-5","a.b",1]`
    private static let dotted = "WyJzYWx0LTUiLCJhLmIiLDFd"
    /// `["salt-6","admin",true]`
    private static let extra = "WyJzYWx0LTYiLCJhZG1pbiIsdHJ1ZV0"

    private static let payload = """
        {"_sd":["s9m2ZhfAHweGjmH5ZjsG1EL4EsMFgRdGGU-xAISC2ns","4bdTf0EZ9lEnZM-YiC147hn-eelTj9DjF_MfEh8HNh0",\
        "Cp_Kmn08cMMlivYo9ExAXmzo-y3K5vmDF_ZuRdRqxfQ"],"exp":4102444800,\
        "nationalities":["DE",{"...":"decoy"},{"...":"GvRmKTDAyn_FJIC4Gxs9ebX_5j3h7EYW_2v5aDBklpM"}]}
        """

    private static func token(_ disclosures: [String], binding: String = "") -> String {
        let jwt = SampleTokens.unsigned(header: #"{"alg":"ES256","typ":"sd-jwt"}"#, claims: payload) + "c2ln"
        return ([jwt] + disclosures).map { $0 + "~" }.joined() + binding
    }

    private static func show(_ arguments: String...) throws -> ProcessResult {
        try BuiltProgram.jwt.run(["sd", "show", "--at", "4102441200"] + arguments)
    }

    @Test(
        "Prints the header, the payload and the disclosures, marked as unverified for people and programs",
        .shows("V18", "RFC 9901 §4–§8")
    )
    func contents() throws {
        let result = try Self.show(Self.token([Self.name, Self.locality, Self.address, Self.element]))
        let output = """
            {
              "header": {
                "alg": "ES256",
                "typ": "sd-jwt"
              },
              "payload": {
                "_sd": [
                  "s9m2ZhfAHweGjmH5ZjsG1EL4EsMFgRdGGU-xAISC2ns",
                  "4bdTf0EZ9lEnZM-YiC147hn-eelTj9DjF_MfEh8HNh0",
                  "Cp_Kmn08cMMlivYo9ExAXmzo-y3K5vmDF_ZuRdRqxfQ"
                ],
                "exp": 4102444800,
                "nationalities": [
                  "DE",
                  {
                    "...": "decoy"
                  },
                  {
                    "...": "GvRmKTDAyn_FJIC4Gxs9ebX_5j3h7EYW_2v5aDBklpM"
                  }
                ]
              },
              "disclosures": [
                {
                  "digest": "s9m2ZhfAHweGjmH5ZjsG1EL4EsMFgRdGGU-xAISC2ns",
                  "path": "given_name",
                  "value": "Al\\u202eice"
                },
                {
                  "digest": "EpPwxRLQNEENM-eI7eg1wQUdWIscHFKwjuKiRhOVO_g",
                  "path": "address.locality",
                  "value": "Köln"
                },
                {
                  "digest": "4bdTf0EZ9lEnZM-YiC147hn-eelTj9DjF_MfEh8HNh0",
                  "path": "address",
                  "value": {
                    "_sd": [
                      "EpPwxRLQNEENM-eI7eg1wQUdWIscHFKwjuKiRhOVO_g"
                    ],
                    "country": "DE"
                  }
                },
                {
                  "digest": "GvRmKTDAyn_FJIC4Gxs9ebX_5j3h7EYW_2v5aDBklpM",
                  "path": "nationalities[1]",
                  "value": "FR"
                }
              ],
              "undisclosedDigests": 2,
              "verified": false
            }

            """
        let errors =
            Self.warning + """
                exp: 2100-01-01T00:00:00Z (expires in 1 hour)
                2 digests without a disclosure: hidden claims or decoys

                """
        #expect(result == ProcessResult(status: 0, output: output, errors: errors))
    }

    @Test("Prints paths that jwt sd present accepts")
    func paths() throws {
        let result = try Self.show("--json", Self.token([Self.dotted]))
        #expect(result.status == 0 && result.errors == "")
        let path = try JSONObject(parsing: result.output)["disclosures"]?.array?.first?.object?["path"]
        #expect(path == #"["a.b"]"#)
        let presented = try BuiltProgram.jwt.run(
            ["sd", "present", "--unverified", "-d", try #require(path?.string), Self.token([Self.name, Self.dotted])]
        )
        #expect(presented == .success(Self.token([Self.dotted]) + "\n"))
    }

    @Test("Names disclosures that are unreferenced or malformed, and why verifiers reject them")
    func problems() throws {
        let result = try Self.show(Self.token([Self.name, Self.extra, Self.locality, "!"]))
        #expect(result.status == 0)
        let errors =
            Self.warning + """
                exp: 2100-01-01T00:00:00Z (expires in 1 hour)
                4 digests without a disclosure: hidden claims or decoys
                disclosure 1 is unreferenced
                disclosure 2 is unreferenced
                disclosure 3 is malformed
                verifiers reject this: 3 disclosures don't belong to the SD-JWT: nothing refers to them

                """
        #expect(result.errors == errors)
        let report = try JSONObject(parsing: result.output)
        let disclosures = try #require(report["disclosures"]?.array).compactMap(\.object)
        #expect(disclosures[1]["path"] == .null && disclosures[1]["name"] == "admin" && disclosures[1]["value"] == true)
        #expect(disclosures.map { $0["problem"] } == [nil, "unreferenced", "unreferenced", "malformed"])
        #expect(report["problems"]?.array?.first?.object?["code"] == "disclosureMismatch")
    }

    @Test("Prints a key binding, also a malformed one")
    func keyBinding() throws {
        let scene = try SDScene()
        try scene.issue()
        try scene.present("-d name -k holder.jwk \(SDScene.binding)")
        let result = try scene.shell("jwt sd show < presentation")
        #expect(result.status == 0 && result.errors.contains("\nkey binding: iat: "))
        let report = try JSONObject(parsing: result.output)
        #expect(report["keyBinding"]?.object?["header"] == ["alg": "ES256", "typ": "kb+jwt"])
        #expect(report["keyBinding"]?.object?["payload"]?.object?["aud"] == "https://shop.example")
        let malformed = try Self.show(Self.token([], binding: "a.b.c"))
        #expect(malformed.status == 0)
        #expect(malformed.errors.contains("verifiers reject this: "))
        #expect(try JSONObject(parsing: malformed.output)["keyBinding"] == nil)
    }

    @Test("Prints the headers of JSON serializations")
    func json() throws {
        let scene = try SDScene()
        try scene.issue("-d name --format json")
        let flattened = try scene.shell("jwt sd show --json < token")
        #expect(try JSONObject(parsing: flattened.output)["disclosures"]?.array?.count == 1)
        var first = try JSONObject(parsing: scene.folder.text(of: "token"))
        let payload = try #require(first["payload"])
        first["payload"] = nil
        var header = try #require(first["header"]?.object)
        header["kid"] = "k1"
        first["header"] = .object(header)
        var second = first
        second["header"] = ["kid": "k2"]
        let general: JSONObject = ["payload": payload, "signatures": .array([.object(first), .object(second)])]
        try scene.folder.write(general.serialized(), to: "token")
        let report = try JSONObject(parsing: try scene.shell("jwt sd show --json < token").output)
        #expect(report["unprotectedHeader"] == ["kid": "k1"])
        let other = report["otherSignatures"]?.array?.first?.object
        #expect(other == ["header": ["alg": "ES256", "typ": "sd-jwt"], "unprotectedHeader": ["kid": "k2"]])
    }

    @Test(
        "Rejects other input",
        arguments: [
            (
                "a.b.c",
                "this is a plain signed token, not an SD-JWT, which has a “~” after the signature; use jwt decode"
            ),
            ("a.b.c.d.e", "the token is encrypted, a JWE; decrypt it with jwt decrypt"),
            ("e30.e30.c2ln~~", "disclosure 0 is empty"),
        ]
    )
    func otherInput(text: String, message: String) throws {
        let result = try Self.show(text)
        #expect(result == .failure(1, "jwt sd show: \(message)\n"))
    }

    @Test("Other commands point to the commands for SD-JWTs", .shows("V12"))
    func pointers() throws {
        let scene = try SDScene()
        try scene.issue()
        try scene.present("-d name -k holder.jwk \(SDScene.binding)")
        let json = try scene.shell("jwt sd present --unverified -d name --format json < token > json")
        #expect(json.status == 0)
        for file in ["token", "presentation", "json"] {
            for (command, advice) in [
                ("decode", "print it with jwt sd show"), ("verify -k issuer.pub", "verify it with jwt sd verify"),
                ("decrypt -k holder.jwk", "verify it with jwt sd verify"),
                ("jws verify -k issuer.pub", "verify it with jwt sd verify"),
            ] where file != "json" || command.hasPrefix("decode") || command.hasPrefix("verify") {
                let result = try scene.shell("jwt \(command) < \(file)")
                let name = command.split(separator: " -k")[0]
                let message = "jwt \(name): the token is an SD-JWT; \(advice)\n"
                #expect(result == .failure(1, message), "\(file)")
            }
        }
        for (command, code) in [("decode", "print it with jwt sd show"), ("verify -k issuer.pub", "jwt sd verify")] {
            let batch = try scene.shell("jwt \(command) --batch < presentation")
            #expect(batch.status == 1)
            #expect(batch.output.contains(#""code":"malformedToken""#) && batch.output.contains(code))
        }
    }
}
