import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

/// A folder with the keys and the claims of an issuer and a holder.
final class SDScene: Sendable {
    /// The holder's key in RFC 9901 A.5.
    static let holderKey = """
        {"kty":"EC","crv":"P-256","x":"TCAER19Zvu3OHF4j4W4vfSVoHIP1ILilDls7vCeGemc",\
        "y":"ZxjiWWbZMQGHVWKVQ4hbSIirsVfuecCE6t4jT9F2HZQ","d":"5K5SCos8zf9zRemGGUl6yfok-_NiiryNZsvANWMhF-I"}
        """
    static let claims = """
        {"iss":"https://id.example","exp":4102444800,"name":"Alice","address":{"country":"DE","locality":"Köln"},\
        "nationalities":["DE","FR"],"a.b":1}
        """
    /// The options that make most of the claims disclosable.
    static let disclosable = "-d name -d address -d address.locality -d 'nationalities[*]' -d '[\"a.b\"]'"
    /// The options of a holder and a verifier for a key binding.
    static let binding = "--nonce n-1 --kb-aud https://shop.example"

    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(KeyFixtures.pkcs8, to: "issuer.pem")
        try folder.write(KeyFixtures.publicKey, to: "issuer.pub", mode: 0o644)
        let holder = try SigningKey(jwk: JWK(JSONObject(parsing: Self.holderKey)))
        try folder.write(Self.holderKey, to: "holder.jwk")
        try folder.write(holder.verificationKey.jwk.members.serialized(), to: "holder.pub", mode: 0o644)
        try folder.write(Self.claims, to: "claims")
    }

    func shell(_ script: String, input: String = "") throws -> ProcessResult {
        try BuiltProgram.shell(script, input: input, in: folder)
    }

    /// Issues an SD-JWT into the file `token`.
    func issue(_ options: String = SDScene.disclosable + " --holder-key holder.pub") throws {
        let result = try shell("jwt sd issue -k issuer.pem --claims claims \(options) > token")
        try #require(result == .success())
    }

    /// Writes the presentation of the file `token` into the file `presentation`.
    func present(_ options: String) throws {
        let result = try shell("jwt sd present --verify-key issuer.pub \(options) < token > presentation")
        try #require(result == .success())
    }

    /// Returns the claims of the file `presentation`, without the holder's key.
    func verified(_ options: String) throws -> JSONObject {
        let result = try shell("jwt sd verify -k issuer.pub \(options) < presentation")
        try #require(result.status == 0 && result.errors == "", "\(result)")
        var claims = try JSONObject(parsing: result.output)
        claims["cnf"] = nil
        return claims
    }

    /// Checks that a command line is invalid, and its only line of output.
    func checkUsage(_ command: String, _ arguments: String, _ message: String) throws {
        let result = try shell("jwt sd \(command) \(arguments)")
        let expected = "jwt sd \(command): \(message) (see jwt sd \(command) --help)\n"
        #expect(result == .failure(64, expected))
    }
}

@Suite("jwt sd issue", .limitedConcurrency)
struct SDIssueCommandTests {
    private let scene: SDScene

    init() throws {
        scene = try SDScene()
    }

    /// Issues an SD-JWT and returns its content.
    private func issued(_ options: String, input: String = "") throws -> UnverifiedSDJWT {
        let result = try scene.shell("jwt sd issue -k issuer.pem \(options)", input: input)
        try #require(result.status == 0 && result.errors == "", "\(result)")
        return try UnverifiedSDJWT(result.output.trimmingCharacters(in: .newlines))
    }

    @Test("Hides the chosen claims of a file, and includes the holder's key", .shows("RFC 9901 §4–§8"))
    func content() throws {
        let token = try issued("--claims claims --holder-key holder.pub \(SDScene.disclosable)")
        #expect(token.unverifiedHeader == ["alg": "ES256", "typ": "sd-jwt"])
        let payload = token.unverifiedPayload
        #expect(Set(payload.map(\.name)) == ["_sd", "_sd_alg", "cnf", "exp", "iss", "nationalities"])
        #expect(payload["cnf"]?.object?["jwk"]?.object?["d"] == nil)
        #expect(payload["cnf"]?.object?["jwk"]?.object?["crv"] == "P-256")
        let paths = token.disclosures.compactMap { $0.path?.description }
        #expect(
            paths.sorted() == ["a.b", "address", "address.locality", "name", "nationalities[0]", "nationalities[1]"]
        )
        #expect(token.problems == [] && token.undisclosedCount == 0)
    }

    @Test("Combines claims from options and standard input")
    func options() throws {
        let token = try issued(
            "--claims - --iss https://id.example -c name=Alice -c 'roles=[1,2]' --expires-in 1h -d name -d 'roles[1]' -d city",
            input: #"{"city":"Köln"}"#
        )
        #expect(token.unverifiedPayload["iss"] == "https://id.example")
        #expect(token.unverifiedPayload["iat"] != nil && token.unverifiedPayload["exp"] != nil)
        #expect(Set(token.disclosures.map(\.path)) == ["name", "city", ["roles", 1]])
    }

    @Test("Sets the type, the key ID and other parameters of the header")
    func header() throws {
        let token = try issued("-c a=1 -d a --typ dc+sd-jwt --kid k1 --header 'x5u=\"https://id.example\"'")
        #expect(
            token.unverifiedHeader == ["alg": "ES256", "kid": "k1", "typ": "dc+sd-jwt", "x5u": "https://id.example"]
        )
        #expect(try issued("-c a=1 -d a --header typ=x+sd-jwt").unverifiedHeader["typ"] == "x+sd-jwt")
    }

    @Test("Adds decoys", arguments: [("3", 3...3), ("1-2", 1...2), ("0", 0...0)])
    func decoys(option: String, range: ClosedRange<Int>) throws {
        let token = try issued("-c a=1 -c b=2 -d a --decoys \(option)")
        #expect(range.contains(token.undisclosedCount))
    }

    @Test("Uses the hash algorithm", arguments: [("sha-256", 43), ("sha-384", 64), ("sha-512", 86)])
    func hash(name: String, length: Int) throws {
        let token = try issued("-c a=1 -d a --hash \(name)")
        #expect(token.unverifiedPayload["_sd_alg"]?.string == name)
        #expect(token.disclosures.first?.digest?.utf8.count == length)
    }

    @Test("Prints the flattened JSON serialization, and a result for programs")
    func forms() throws {
        let json = try scene.shell("jwt sd issue -k issuer.pem -c a=1 -d a --format json")
        #expect(json.status == 0 && json.output.filter { $0 == "\n" }.count == 1)
        #expect(try UnverifiedSDJWT(json: Data(json.output.utf8)).disclosures.map(\.path) == ["a"])
        let result = try JSONObject(parsing: try scene.shell("jwt sd issue -k issuer.pem -c a=1 -d a --json").output)
        #expect(try UnverifiedSDJWT(#require(result["token"]?.string)).disclosures.count == 1)
        let both = try scene.shell("jwt sd issue -k issuer.pem -c a=1 -d a --json --format json")
        #expect(try JSONObject(parsing: both.output)["token"]?.object?["header"] != nil)
    }

    @Test("Reads the holder's key in any form", arguments: ["pem", "der", "jwk", "private", "certificate", "rsa"])
    func holderKey(form: String) throws {
        let key = try SigningKey(pem: KeyFixtures.pkcs8)
        switch form {
        case "pem": try scene.folder.write(KeyFixtures.publicKey, to: "key")
        case "private": try scene.folder.write(KeyFixtures.sec1, to: "key")
        case "certificate": try scene.folder.write(KeyFixtures.certificate, to: "key")
        case "rsa": try scene.folder.write(KeyFixtures.rsa, to: "key")
        case "jwk": try scene.folder.write(key.verificationKey.jwk.members.serialized(), to: "key")
        default: #expect(try scene.shell("jwt key public issuer.pem --to der --out key").status == 0)
        }
        let token = try issued("-c a=1 -d a --holder-key key")
        let jwk = try #require(token.unverifiedPayload["cnf"]?.object?["jwk"]?.object)
        #expect(Set(jwk.map(\.name)) == (form == "rsa" ? ["e", "kty", "n"] : ["crv", "kty", "x", "y"]))
        if !["certificate", "rsa"].contains(form) {
            #expect(try JWK(jwk).thumbprint == key.verificationKey.thumbprint)
        }
    }

    @Test("Warns if no claim is disclosable")
    func nothing() throws {
        let result = try scene.shell("jwt sd issue -k issuer.pem -c a=1")
        #expect(result.status == 0 && result.output.hasSuffix("~\n"))
        let warning = "jwt sd issue: warning: the holder can't hide any claim; choose claims with --disclosable PATH\n"
        #expect(result.errors == warning)
    }

    @Test("Fails with 2 for unusable keys and claims")
    func failures() throws {
        try scene.folder.write(#"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoiIjNqlLgDEQ"}"#, to: "secret.jwk")
        try scene.folder.write(KeyFixtures.encrypted, to: "encrypted.pem")
        try scene.folder.write(#"{"_sd":[],"exp":4102444800}"#, to: "reserved")
        try scene.folder.write(#"{"exp":"soon"}"#, to: "malformed")
        let secret = { (key: String) in
            "secret.jwk: \(key) can't be a shared secret, because every verifier could use it; use a key pair"
        }
        for (options, message) in [
            ("-k secret.jwk --claims claims -d name", secret("the issuer's key")),
            ("-k none --claims claims", "none: can't be read: No such file or directory"),
            (
                "-k issuer.pem -c a=1 -d a --holder-key secret.jwk",
                secret("the holder's key")
            ),
            (
                "-k issuer.pem -c a=1 -d a --holder-key encrypted.pem",
                "encrypted.pem: the private key is encrypted; pass its public part, which jwt key public prints"
            ),
            (
                "-k issuer.pem --claims reserved -d exp",
                "“exp” can't be disclosable, because it controls the token's validity"
            ),
            ("-k issuer.pem --claims claims -d nme", "--disclosable: the token has no claim at the path “nme”"),
        ] {
            let result = try scene.shell("jwt sd issue \(options)")
            #expect(result == .failure(2, "jwt sd issue: \(message)\n"))
        }
        for file in ["reserved", "malformed"] {
            let result = try scene.shell("jwt sd issue -k issuer.pem --claims \(file) --json")
            #expect(result.status == 2 && result.output == "")
            #expect(
                result.errors.contains(file == "reserved" ? #""code":"prohibitedClaim""# : #""code":"malformedClaim""#)
            )
        }
    }
}

@Suite("jwt sd present", .limitedConcurrency)
struct SDPresentCommandTests {
    private let scene: SDScene

    init() throws {
        scene = try SDScene()
    }

    @Test(
        "Shows only the chosen claims, and those around them",
        .shows("RFC 9901 §4–§8"),
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
        #expect(result == .success("same\n"))
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
            #expect(result == .success())
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

    @Test("Requires the issuer's key, or that the user has verified the SD-JWT before", .shows("V17"))
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
            #expect(result == .failure(1, "jwt sd present: \(message)\n"))
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
            #expect(result == .failure(2, "jwt sd present: \(message)\n"))
        }
        try scene.issue(SDScene.disclosable)
        let result = try scene.shell("jwt sd present --unverified -k holder.jwk \(SDScene.binding) < token")
        let message = """
            the SD-JWT isn't bound to a key: it has no “cnf”; present it without --key, --nonce and --kb-aud
            """
        #expect(result == .failure(2, "jwt sd present: \(message)\n"))
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
                #expect(result == .success(token + "\n"))
                let other = try await BuiltProgram.jwt.runApart(["sd", "present", "-d", "a"] + keys + [foreign])
                #expect(other.status == (keys[0] == "--discover" ? 1 : 0))
                let verification = try await BuiltProgram.jwt.runApart(
                    ["sd", "verify", "--allow-no-key-binding", "--allow-no-exp"] + keys + [token]
                )
                #expect(verification.status == 0 && verification.errors == "", "\(verification)")
            }
        }
    }
}
