import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt sd present", .limitedConcurrency)
struct SDPresentCommandTests {
    private let scene: SDScene

    init() throws {
        scene = try SDScene()
    }

    @Test(
        "Shows only the chosen claims, and those around them",
        arguments: [
            ("", #"{"nationalities":[]}"#), ("-d name", #"{"name":"Alice","nationalities":[]}"#),
            ("-d address", #"{"address":{"country":"DE"},"nationalities":[]}"#),
            ("-d address.locality", #"{"address":{"country":"DE","locality":"Köln"},"nationalities":[]}"#),
            ("-d 'nationalities[1]' -d name", #"{"name":"Alice","nationalities":["FR"]}"#),
            ("-d 'nationalities[*]'", #"{"nationalities":["DE","FR"]}"#),
            ("-d '[\"nationalities\",null]' -d '[\"a.b\"]'", #"{"a.b":1,"nationalities":["DE","FR"]}"#),
            ("-d exp", #"{"nationalities":[]}"#),
        ]
    )
    func selection(options: String, expected: String) throws {
        try scene.issue()
        try scene.present(options)
        var claims = try scene.verified("--allow-no-key-binding")
        for name in ["iss", "exp"] { claims[name] = nil }
        #expect(try claims == JSONObject(parsing: expected))
    }

    @Test("Shows every claim with --disclose-all, byte for byte")
    func everything() throws {
        try scene.issue()
        let result = try scene.shell("jwt sd present --unverified --disclose-all < token | cmp - token && echo same")
        #expect(result == ProcessResult(status: 0, output: "same\n", errors: ""))
    }

    @Test("Signs a key binding with the holder's key, from a file or the environment")
    func keyBinding() throws {
        try scene.issue()
        for key in ["-k holder.jwk", "--key-env HOLDER"] {
            let result = try BuiltProgram.shell(
                "jwt sd present --verify-key issuer.pub -d name \(key) \(SDScene.binding) < token > presentation",
                environment: ["HOLDER": SDScene.holderKey],
                in: scene.folder
            )
            #expect(result == ProcessResult(status: 0, output: "", errors: ""))
            #expect(try scene.verified(SDScene.binding)["name"] == "Alice")
        }
    }

    @Test("Reads and writes JSON", arguments: ["compact", "json"])
    func forms(input: String) throws {
        try scene.issue("\(SDScene.disclosable) --holder-key holder.pub --format \(input)")
        for options in ["--verify-key issuer.pub", "--unverified"] {
            for output in ["compact", "json"] {
                let script = """
                    jwt sd present \(options) -d name -k holder.jwk \(SDScene.binding) --format \(output) < token |
                    tee presentation | jwt sd verify -k issuer.pub \(SDScene.binding) --json
                    """
                let result = try scene.shell(script)
                #expect(result.status == 0 && result.errors == "", "\(result)")
                #expect(try JSONObject(parsing: result.output)["claims"]?.object?["name"] == "Alice")
                #expect(try scene.folder.text(of: "presentation").hasPrefix("{") == (output == "json"))
            }
        }
        let result = try scene.shell("jwt sd present --unverified --json < token")
        #expect(try JSONObject(parsing: result.output)["token"]?.string?.hasSuffix("~") == true)
    }

    @Test("Requires the issuer's key, or that the user has verified the SD-JWT before")
    func issuer() throws {
        try scene.issue()
        #expect(try scene.shell("jwt keygen --alg ES256 --out other.pem").status == 0)
        let other = try scene.shell("jwt sd present --verify-key other.pem -d name --json < token")
        #expect(other.status == 1 && other.output == "" && other.errors.contains(#""code":"signatureInvalid""#))
        let unverified = try scene.shell("jwt sd present --unverified -d name < token")
        #expect(unverified.status == 0 && unverified.errors == "" && unverified.output.hasSuffix("~\n"))
    }

    @Test("Rejects SD-JWTs that aren't valid now, and presentations of another holder")
    func refused() throws {
        for (claim, code) in [
            ("exp=1", "expired"), ("nbf=4102444800", "notYetValid"), ("iat=4102444800", "issuedInFuture"),
        ] {
            let script =
                "jwt sd issue -k issuer.pem -c a=1 -d a -c \(claim) | jwt sd present --verify-key issuer.pub --json"
            let result = try scene.shell(script)
            #expect(
                result.status == 1 && result.output == "" && result.errors.contains(#""code":"\#(code)""#),
                "\(result)"
            )
            #expect(result.errors.contains(#" is "#))
        }
        try scene.issue()
        try scene.present("-k holder.jwk \(SDScene.binding)")
        for options in ["--verify-key issuer.pub", "--unverified"] {
            let result = try scene.shell("jwt sd present \(options) < presentation")
            let message = "the SD-JWT has a key binding, so it's a presentation, and not from the issuer"
            #expect(result == ProcessResult(status: 1, output: "", errors: "jwt sd present: \(message)\n"))
        }
        let typed = try scene.shell("jwt sd present --verify-key issuer.pub --typ dc+sd-jwt --json < token")
        #expect(typed.status == 1 && typed.errors.contains(#""code":"typeMismatch""#))
    }

    @Test("Fails with 2 if a path or the key doesn't fit the SD-JWT")
    func unfit() throws {
        try scene.issue()
        #expect(try scene.shell("jwt keygen --alg Ed25519 --out ed.pem").status == 0)
        let otherKey = "the key isn't the holder's, which the SD-JWT has in “cnf”"
        for (options, message) in [
            ("-d nme", "--disclose: the token has no claim at the path “nme”; jwt sd show prints the paths"),
            ("-k issuer.pem \(SDScene.binding)", otherKey), ("-k ed.pem \(SDScene.binding)", otherKey),
        ] {
            let result = try scene.shell("jwt sd present --unverified \(options) < token")
            #expect(result == ProcessResult(status: 2, output: "", errors: "jwt sd present: \(message)\n"))
        }
        try scene.issue(SDScene.disclosable)
        let result = try scene.shell("jwt sd present --unverified -k holder.jwk \(SDScene.binding) < token")
        let message = """
            the SD-JWT isn't bound to a key: it has no “cnf”; present it without --key, --nonce and --kb-aud
            """
        #expect(result == ProcessResult(status: 2, output: "", errors: "jwt sd present: \(message)\n"))
    }

    @Test("Verifies with the keys that an issuer publishes")
    func discovery() async throws {
        let signer = try SigningKey.generate(.es256).identified(by: "1")
        let set = JWKSet(keys: [signer.verificationKey.jwk]).serialized()
        try await withLoopbackServer { server in
            let url = "http://localhost:\(server.port)"
            server.on(.get, "/keys", .json(set))
            server.on(
                .get,
                "/.well-known/openid-configuration",
                .json("{\"issuer\":\"\(url)\",\"jwks_uri\":\"\(url)/keys\"}")
            )
            let issuer = try SDJWTIssuer(type: "sd-jwt", signingService: signer)
            let token = try issuer.issue(["iss": .string(url), "a": 1], disclosable: ["a"]).compact
            let foreign = try issuer.issue(["iss": "https://id.example", "a": 1], disclosable: ["a"]).compact
            for keys in [["--discover", url], ["--jwks", url + "/keys"]] {
                let result = try await BuiltProgram.jwt.runApart(["sd", "present", "-d", "a"] + keys + [token])
                #expect(result == ProcessResult(status: 0, output: token + "\n", errors: ""))
                let other = try await BuiltProgram.jwt.runApart(["sd", "present", "-d", "a"] + keys + [foreign])
                #expect(other.status == (keys[0] == "--discover" ? 1 : 0))
                let verification = try await BuiltProgram.jwt.runApart(
                    ["sd", "verify", "--allow-no-key-binding", "--allow-no-exp"] + keys + [token]
                )
                #expect(verification.status == 0 && verification.errors == "", "\(verification)")
            }
        }
    }

    @Test(
        "Exits with 64 and one line for an invalid command line",
        arguments: [
            (
                "x",
                """
                missing key; pass the issuer's with --verify-key FILE, --jwks FILE|URL or --discover ISSUER, or \
                --unverified if you have verified the SD-JWT before
                """
            ),
            ("--unverified --verify-key issuer.pub x", "--unverified and --verify-key can't be combined"),
            ("--unverified --jwks issuer.pub x", "--unverified and --jwks can't be combined"),
            ("--unverified --typ sd-jwt x", "--unverified and --typ can't be combined"),
            ("--verify-key a --jwks b x", "--verify-key, --jwks and --discover can't be combined"),
            ("--unverified --disclose-all -d name x", "--disclose and --disclose-all can't be combined"),
            ("--unverified -k holder.jwk x", "a key binding also needs --nonce TEXT and --kb-aud TEXT"),
            ("--unverified --nonce n x", "a key binding also needs --key FILE and --kb-aud TEXT"),
            ("--unverified --nonce n --kb-aud a x", "a key binding also needs --key FILE"),
            ("--unverified -k holder.jwk --nonce '' --kb-aud a x", "--nonce must not be empty"),
            ("--unverified --alg ES256 x", "--alg requires a key"),
            (
                "--unverified -k - --nonce n --kb-aud a",
                "only one of the keys and the SD-JWT can come from standard input"
            ),
            ("--verify-key - -", "only one of the keys and the SD-JWT can come from standard input"),
            (
                "--unverified -d 'a[' x",
                """
                --disclose must be a path such as name, address.locality, nationalities[0] or nationalities[*], or a \
                JSON array such as '["a.b",0,null]'
                """
            ),
        ]
    )
    func usageErrors(arguments: String, message: String) throws {
        try scene.checkUsage("present", arguments, message)
    }
}
