import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt jws", .limitedConcurrency)
struct JWSCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(KeyFixtures.pkcs8, to: "key.pem")
        try folder.write(KeyFixtures.publicKey, to: "public.pem", mode: 0o644)
        try folder.write("It is\ntrue.\n", to: "file")
    }

    private func shell(_ script: String) throws -> ProcessResult {
        try BuiltProgram.shell(script, in: folder)
    }

    @Test(
        "Preserves any payload byte for byte, in every form",
        arguments: ["", "--format json", "--format general", "--format json --unencoded-payload"]
    )
    func attached(form: String) throws {
        let result = try shell(
            "jwt jws sign -k key.pem \(form) file | jwt jws verify -k public.pem | cmp - file && echo same"
        )
        #expect(result == .success("same\n"))
    }

    @Test(
        "Verifies what was signed, also with --json and of the maximum size",
        arguments: [
            "file", "--json file", "--json --format json file", "--json --unencoded-payload --format general file",
            "large", "--format json medium", "--json medium", "--json --format json medium",
        ]
    )
    func roundTrip(options: String) throws {
        let script = """
            head -c 40000000 /dev/zero > large
            head -c 2000000 /dev/zero > medium
            jwt jws sign -k key.pem \(options) | jwt jws verify -k public.pem | cmp - \(options.split(separator: " ").last ?? "")
            """
        #expect(try shell(script) == .success())
    }

    @Test("Doesn't sign what can't be verified")
    func tooLarge() throws {
        let script = """
            head -c 20000000 /dev/zero | tr '\\0' '\\1' > escaped
            jwt jws sign -k key.pem --unencoded-payload --format json escaped
            """
        #expect(try shell(script) == .failure(2, "jwt jws sign: escaped: too large for this form; use --detached\n"))
    }

    @Test(
        "Requires the identical detached payload",
        arguments: [
            "", "--format json", "--format general", "--unencoded-payload", "--format json --unencoded-payload",
        ]
    )
    func detached(form: String) throws {
        let good = try shell(
            "jwt jws sign -k key.pem --detached \(form) file > jws && jwt jws verify -k public.pem --payload file < jws"
        )
        #expect(good == .success("It is\ntrue.\n"))
        let missing = try shell("jwt jws verify -k public.pem < jws")
        #expect(missing.status == 1)
        #expect(missing.errors.contains("detached"), "\(missing)")
        try folder.write("It is\nfalse.\n", to: "other")
        let other = try shell("jwt jws verify -k public.pem --payload other --json < jws")
        #expect(other.fails(1, #"{"error":{"code":"signatureInvalid","#), "\(other)")
    }

    @Test("Escapes terminal commands in a payload")
    func terminal() throws {
        try folder.write("one\n\u{1B}[31m\u{202E}red\n", to: "odd")
        let text = try shell(
            "jwt jws sign -k key.pem odd > jws; script -qec 'jwt jws verify -k public.pem < jws' /dev/null"
        )
        #expect(text == .success("one\r\n\\u001b[31m\\u202ered\r\n"))
        let script =
            "printf 'a\\000' | jwt jws sign -k key.pem > jws; script -qec 'jwt jws verify -k public.pem < jws' /dev/null"
        let message = "jwt jws verify: the payload isn't text and can't be shown on a terminal; use a pipe\r\n"
        #expect(try shell(script) == ProcessResult(status: 2, output: message, errors: ""))
    }

    @Test("Signs binary payloads and header parameters")
    func octets() throws {
        let result = try shell(
            """
            head -c 1000 /dev/urandom > random
            jwt jws sign -k key.pem --kid auto --typ a+b --header cty=x random > jws
            jwt jws verify -k public.pem < jws | cmp - random && jwt jws verify -k public.pem --json < jws
            """
        )
        #expect(result.status == 0)
        let object = try JSONObject(parsing: result.output)
        let thumbprint = try SigningKey(pem: KeyFixtures.pkcs8).verificationKey.thumbprint
        #expect(object["header"] == ["alg": "ES256", "cty": "x", "kid": .string(thumbprint), "typ": "a+b"])
        #expect(object["valid"] == true && object["signatures"] == 1)
        #expect(object["payload"]?.string?.count == 1_334)
    }

    @Test("Rejects critical parameters that aren't passed with --crit")
    func critical() throws {
        let script =
            "jwt jws sign -k key.pem --header 'crit=[\"exp\"]' --header exp=1 file > jws; jwt jws verify -k public.pem"
        let refused = try shell(script + " < jws")
        #expect(refused == .failure(1, "jwt jws verify: the header requires unsupported extensions: “exp”\n"))
        #expect(try shell(script + " --crit exp < jws").status == 0)
    }

    @Test("Requires the signatures that --signatures selects")
    func signatures() throws {
        let payload = Data("x".utf8)
        let (mine, other) = (try SigningKey(pem: KeyFixtures.pkcs8), try SigningKey.generate(.es256))
        let signers = [mine, other].map { JWSSigner(signingService: $0) }
        let json = try JWSGenerator(payload: payload, signers: signers).generalJSON().serialized()
        try folder.write(json, to: "jws")
        for (policy, status) in [("all", 1), ("any", 0), ("every-key", 0)] as [(String, Int32)] {
            let result = try shell("jwt jws verify -k public.pem --signatures \(policy) < jws")
            #expect(result.status == status, "\(policy): \(result)")
        }
    }

    @Test(
        "Rejects malformed input in one line that doesn't repeat it",
        arguments: ["secret", "{\"secret\":1}", "a.b.c", ""]
    )
    func malformed(text: String) throws {
        let result = try BuiltProgram.jwt.run("jws", "verify", "-k", folder.file("public.pem"), input: text)
        #expect(result.status == 1)
        #expect(result.output == "")
        #expect(result.errors.filter { $0 == "\n" }.count == 1)
        #expect(!result.errors.contains("secret"))
    }
}
