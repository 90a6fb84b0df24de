import Foundation
import TestSupport
import Testing
import TokenGeneration

private let algorithms =
    "HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, ES256K, Ed25519, Ed448, EdDSA"

@Suite("jwt keygen", .serialized, .limitedConcurrency)
struct KeygenCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("without --out, the private key goes to standard output")
    func standardOutput() throws {
        let result = try BuiltProgram.jwt.run("keygen", "--alg", "ES256")
        #expect(result.status == 0)
        #expect(result.errors == "")
        #expect(result.output.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        #expect(result.output.hasSuffix("\n-----END PRIVATE KEY-----\n"))
        #expect(try SigningKey(pem: result.output).algorithm == .es256)
    }

    @Test("jwt key generate is another spelling, which help doesn't show")
    func otherSpelling() throws {
        let result = try BuiltProgram.jwt.run("key", "generate", "--alg", "ES384")
        #expect(result.status == 0 && result.errors == "")
        #expect(try SigningKey(pem: result.output).algorithm == .es384)
        #expect(try !BuiltProgram.jwt.run("key", "--help").output.contains("generate"))
        #expect(try BuiltProgram.jwt.run("key", "generate", "--nope").errors.contains("jwt key generate"))
    }

    @Test("a private key that goes into a file of standard output that others may use draws a warning")
    func openFile() throws {
        let path = URL(filePath: folder.path).resolvingSymlinksInPath().path + "/key"
        try folder.write(KeyFixtures.pkcs8, to: "key.pem")
        let script = "umask 022; rm -f key; jwt"
        for command in [
            "keygen --alg ES256", "keygen --alg HS256", "keygen --alg ES256 --format jwk", "keygen --alg ES256 --json",
            "key convert key.pem", "key convert key.pem --to der", "key convert key.pem --json",
        ] {
            let result = try BuiltProgram.shell("\(script) \(command) > key", in: folder)
            let name = command.split(separator: " --")[0].replacing(" key.pem", with: "")
            let message =
                "standard output: other users may use this private key (mode 644); to stop it: chmod 600 \(path)"
            let line =
                command.hasSuffix("--json")
                ? #"{"warning":{"message":"\#(message)"}}"# : "jwt \(name): warning: \(message)"
            #expect(result == ProcessResult(status: 0, output: "", errors: line + "\n"))
        }
        for line in [
            "umask 077; rm -f key; jwt keygen --alg ES256 > key", "\(script) key public key.pem > key",
            "\(script) keygen --alg ES256 --public-out - --out other > key", "\(script) keygen --alg ES256 | cat > key",
            "\(script) keygen --alg ES256 > /dev/null",
        ] {
            #expect(try BuiltProgram.shell(line, in: folder) == ProcessResult(status: 0, output: "", errors: ""))
        }
    }

    @Test("two keys differ")
    func randomness() throws {
        let keys = try (0..<2).map { _ in try BuiltProgram.jwt.run("keygen", "--alg=ES256").output }
        #expect(keys[0] != keys[1])
    }

    @Test("a JWK states the algorithm and its thumbprint as kid")
    func jwk() throws {
        let result = try BuiltProgram.jwt.run("keygen", "--alg", "ES256", "--format", "jwk")
        #expect(result.status == 0)
        #expect(result.errors == "")
        #expect(result.output.hasSuffix("}\n"))
        #expect(result.output.filter { $0 == "\n" }.count == 1)
        let jwk = try JWK(parsing: result.output)
        #expect(jwk.members.map(\.name).sorted() == ["alg", "crv", "d", "kid", "kty", "x", "y"])
        #expect(jwk.algorithm == "ES256")
        #expect(try jwk.keyID == jwk.thumbprint)
        #expect(try SigningKey(jwk: jwk).verificationKey.thumbprint == jwk.thumbprint)
    }

    @Test(
        "the private file is for its owner alone, whatever the umask, and the public one for all",
        arguments: ["pem", "jwk"]
    )
    func files(format: String) throws {
        let result = try BuiltProgram.shell(
            "umask 0 && jwt keygen --alg ES256 --format \(format) --out private --public-out public",
            in: folder
        )
        #expect(result == ProcessResult(status: 0, output: "", errors: ""))
        #expect(try folder.names() == ["private", "public"])
        #expect(try folder.mode(of: "private") == 0o600)
        #expect(try folder.mode(of: "public") == 0o644)
        let (privateText, publicText) = (try folder.text(of: "private"), try folder.text(of: "public"))
        if format == "pem" {
            #expect(try SigningKey(pem: privateText).verificationKey.pem() == publicText)
        } else {
            let jwk = try JWK(parsing: privateText)
            #expect(try jwk.publicPart == JWK(parsing: publicText))
            #expect(jwk.isPrivate)
            #expect(!publicText.contains("\"d\""))
        }
    }

    @Test("short options and a dash for standard output work")
    func shortOptions() throws {
        let first = try BuiltProgram.jwt.run("keygen", "--alg=ES256", "-o\(folder.file("key"))", "--public-out=-")
        #expect(first.status == 0)
        #expect(try first.output == SigningKey(pem: folder.text(of: "key")).verificationKey.pem())
        let second = try BuiltProgram.jwt.run("keygen", "--alg=ES256", "-fo", folder.file("key"))
        #expect(second == ProcessResult(status: 0, output: "", errors: ""))
        let third = try BuiltProgram.jwt.run("keygen", "--alg=ES256", "--out", "-")
        #expect(third.output.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    }

    @Test("an existing file is refused and stays as it is")
    func existingFile() throws {
        let path = try folder.write("precious", to: "key")
        let result = try BuiltProgram.jwt.run("keygen", "--alg", "ES256", "--out", path)
        #expect(result.status == 2)
        #expect(result.output == "")
        #expect(result.errors == "jwt keygen: \(path): exists already; --force replaces it\n")
        #expect(try folder.text(of: "key") == "precious")
        #expect(try folder.names() == ["key"])
    }

    @Test("if the public file exists, the private one is not written either")
    func existingPublicFile() throws {
        let path = try folder.write("precious", to: "public")
        let result = try BuiltProgram.jwt.run(
            "keygen",
            "--alg",
            "ES256",
            "--out",
            folder.file("key"),
            "--public-out",
            path
        )
        #expect(result.status == 2)
        #expect(result.errors == "jwt keygen: \(path): exists already; --force replaces it\n")
        #expect(try folder.names() == ["public"])
        #expect(try folder.text(of: "public") == "precious")
    }

    @Test("--force replaces a file and its permissions")
    func force() throws {
        let path = try folder.write("old", to: "key", mode: 0o644)
        let result = try BuiltProgram.jwt.run("keygen", "--alg", "ES256", "--out", path, "--force")
        #expect(result == ProcessResult(status: 0, output: "", errors: ""))
        #expect(try SigningKey(pem: folder.text(of: "key")).algorithm == .es256)
        #expect(try folder.mode(of: "key") == 0o600)
        #expect(try folder.names() == ["key"])
    }

    @Test("--force replaces neither a link nor a device nor a folder")
    func forceOnOtherKinds() throws {
        let target = try folder.write("precious", to: "target")
        let link = folder.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        for path in [link, "/dev/null", folder.path] {
            let result = try BuiltProgram.jwt.run("keygen", "--alg", "ES256", "--force", "--out", path)
            #expect(result.status == 2)
            #expect(result.errors == "jwt keygen: \(path): not replaced, because it is not an ordinary file\n")
        }
        #expect(try folder.text(of: "target") == "precious")
        #expect(try folder.names() == ["link", "target"])
    }

    @Test("a link to nowhere is not followed")
    func danglingLink() throws {
        let link = folder.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.file("elsewhere"))
        let result = try BuiltProgram.jwt.run("keygen", "--alg", "ES256", "--out", link)
        #expect(result.status == 2)
        #expect(result.errors == "jwt keygen: \(link): exists already; --force replaces it\n")
        #expect(try folder.names() == ["link"])
    }

    @Test("a folder that is missing is named")
    func missingFolder() throws {
        let path = folder.file("missing/key")
        let result = try BuiltProgram.jwt.run("keygen", "--alg", "ES256", "--out", path)
        #expect(result.status == 2)
        #expect(result.output == "")
        #expect(result.errors == "jwt keygen: \(path): cannot be written: No such file or directory\n")
    }

    @Test("if the second file fails, the first does not stay")
    func secondFileFails() throws {
        let path = folder.file("missing/public")
        let result = try BuiltProgram.jwt.run(
            "keygen",
            "--alg",
            "ES256",
            "--out",
            folder.file("key"),
            "--public-out",
            path
        )
        #expect(result.status == 2)
        #expect(result.errors == "jwt keygen: \(path): cannot be written: No such file or directory\n")
        #expect(try folder.names() == [])
    }

    @Test("two names of one file do not lose a key")
    func sameFileTwice() throws {
        let result = try BuiltProgram.shell("jwt keygen --alg ES256 --out key --public-out ./key", in: folder)
        #expect(
            result
                == ProcessResult(
                    status: 2,
                    output: "",
                    errors: "jwt keygen: key: exists already; --force replaces it\n"
                )
        )
        #expect(try folder.names() == [])
    }

    @Test("if the private key cannot be printed, the public file does not appear")
    func printingFails() throws {
        let result = try BuiltProgram.jwt.run(
            "keygen",
            "--alg",
            "ES256",
            "--public-out",
            folder.file("public"),
            hasReader: false
        )
        #expect(result == ProcessResult(status: 2, output: "", errors: ""))
        #expect(try folder.names() == [])
    }

    @Test("an encrypted key opens with its password alone")
    func password() throws {
        let file = try folder.write("correct horse\n", to: "password")
        for arguments in [["--password-file", file], ["--password-env", "PW"]] {
            let result = try BuiltProgram.jwt.run(
                ["keygen", "--alg", "ES256"] + arguments,
                environment: ["PW": "correct horse"]
            )
            #expect(result.status == 0)
            #expect(result.output.hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"))
            #expect(try SigningKey(pem: result.output, password: "correct horse").algorithm == .es256)
            #expect(throws: TokenError(.incorrectPassword, "")) {
                try SigningKey(pem: result.output, password: "other")
            }
        }
    }

    @Test("an RSA key has the size that is asked for, a JWK the kid")
    func sizeAndKeyID() throws {
        let rsa = try BuiltProgram.jwt.run("keygen", "--alg=PS256", "--rsa-bits=2056", "--format=jwk", "--kid=k1")
        let jwk = try JWK(parsing: rsa.output)
        #expect(jwk.keyID == "k1")
        #expect(jwk.members["n"]?.string?.count == (257 * 4 + 2) / 3)
    }

    @Test("a program gets both halves, but for what goes to files")
    func json() throws {
        let both = try JSONObject(parsing: BuiltProgram.jwt.run("keygen", "--alg=ES256", "--json").output)
        let key = try SigningKey(pem: try #require(both["privateKey"]?.string))
        #expect(try both["publicKey"]?.string == key.verificationKey.pem())
        #expect(both["kid"]?.string == key.verificationKey.thumbprint)
        let files = try BuiltProgram.jwt.run(
            "keygen",
            "--alg=ES256",
            "--json",
            "--format=jwk",
            "-o",
            folder.file("k"),
            "--public-out",
            folder.file("p")
        )
        #expect(files.status == 0)
        let report = try JSONObject(parsing: files.output)
        #expect(report.map(\.name).sorted() == ["kid", "thumbprint"])
        #expect(try JWK(parsing: folder.text(of: "k")).keyID == report["kid"]?.string)
        let secret = try JSONObject(parsing: BuiltProgram.jwt.run("keygen", "--alg=HS256", "--json").output)
        #expect(secret.map(\.name).sorted() == ["kid", "privateKey"])
    }

    @Test(
        "a wrong command line exits with 64 and one line",
        arguments: [
            ([], "--alg ALG is required"),
            (["--alg"], "--alg needs a value: --alg ALG"),
            (["--alg", "RS1"], "--alg must be one of \(algorithms)"),
            (["--alg", "none"], "--alg must be one of \(algorithms)"),
            (["--alg", "HS256", "--format", "pem"], "HS256 has a secret, which has no PEM form: use --format jwk"),
            (
                ["--alg", "HS256", "--public-out", "p"],
                "HS256 has a secret and no public key: leave --public-out out"
            ),
            (["--alg", "ES256", "--format", "der"], "--format must be pem or jwk"),
            (["--alg", "ES256", "--out", ""], "--out must name a file, or - for standard output"),
            (["--alg", "ES256", "--out", "folder/"], "--out must name a file, or - for standard output"),
            (["--alg", "ES256", "--public-out", "-"], "the private and the public key need different places"),
            (
                ["--alg", "ES256", "--out", "x", "--public-out", "x"],
                "the private and the public key need different places"
            ),
            (["--alg", "ES256", "--alg", "ES256"], "--alg is given twice"),
            (["--alg", "RS256", "--rsa-bits", "1024"], "--rsa-bits must be a number of bits from 2048 to 8192"),
            (
                ["--alg", "ES256", "--rsa-bits", "2048"],
                "--rsa-bits is for RS and PS algorithms; a key for ES256 has one size"
            ),
            (
                ["--alg", "ES256", "--kid", "a"],
                "PEM has no place for --kid: use --format jwk, or name it when signing"
            ),
            (
                ["--alg", "ES256", "--format", "jwk", "--password-env", "A"],
                "only PEM can be encrypted: leave the password out, or use --format pem"
            ),
            (["--alg", "ES256", "--force=yes"], "--force takes no value"),
            (["--alg", "ES256", "key.pem"], "unexpected argument: this command takes only options"),
        ]
    )
    func usageErrors(arguments: [String], message: String) throws {
        let result = try BuiltProgram.jwt.run(["keygen"] + arguments)
        #expect(
            result == ProcessResult(status: 64, output: "", errors: "jwt keygen: \(message) (see jwt keygen --help)\n")
        )
    }
}
