import Foundation
import TestSupport
import Testing
import TokenGeneration

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

    @Test("Hides the chosen claims of a file, and includes the holder's key")
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
            #expect(result == ProcessResult(status: 2, output: "", errors: "jwt sd issue: \(message)\n"))
        }
        for file in ["reserved", "malformed"] {
            let result = try scene.shell("jwt sd issue -k issuer.pem --claims \(file) --json")
            #expect(result.status == 2 && result.output == "")
            #expect(
                result.errors.contains(file == "reserved" ? #""code":"prohibitedClaim""# : #""code":"malformedClaim""#)
            )
        }
    }

    @Test(
        "Exits with 64 and one line for an invalid command line",
        arguments: [
            ("-c a=1", "missing key; pass --key FILE or --key-env NAME"),
            ("-k issuer.pem -c a=1 -d b", "--disclosable: the token has no claim at the path “b”"),
            (
                "-k issuer.pem -c exp=4102444800 -d exp",
                "“exp” can't be disclosable, because it controls the token's validity"
            ),
            ("-k issuer.pem -c _sd=1", "“_sd” can't be the name of a claim"),
            (
                "-k issuer.pem -c cnf={} --holder-key holder.pub",
                "the claims have “cnf” besides the holder's key; remove one of them"
            ),
            ("-k issuer.pem --typ JWT", "--typ must be sd-jwt, or end with +sd-jwt, such as dc+sd-jwt"),
            ("-k issuer.pem --header typ=1", "--typ must be sd-jwt, or end with +sd-jwt, such as dc+sd-jwt"),
            ("-k issuer.pem --header b64=false", "--header can't set b64; the payload of an SD-JWT is always encoded"),
            (
                "-k issuer.pem --alg HS256",
                "--alg HS256 needs a shared secret, with which every verifier could issue SD-JWTs"
            ),
            ("-k issuer.pem --decoys 2", "--decoys needs --disclosable; decoys are added next to disclosable claims"),
            ("-k issuer.pem --hash sha-1", "--hash must be one of sha-256, sha-384, sha-512"),
            ("-k - --claims -", "only one of the keys and the claims can come from standard input"),
            (
                "-k issuer.pem --claims - --holder-key -",
                "only one of the keys and the claims can come from standard input"
            ),
            ("-k issuer.pem x", "unexpected argument: this command takes only options"),
            ("-k issuer.pem --secret text", "unknown option --secret"),
        ]
    )
    func usageErrors(arguments: String, message: String) throws {
        try scene.checkUsage("issue", arguments, message)
    }
}
