import Foundation
import TestSupport
import Testing
import TokenGeneration

/// The end of the list of algorithms for signatures, if OpenSSL has ML-DSA (3.5 or later).
let postQuantum = JWSAlgorithm.implemented.contains(.mldsa65) ? ", ML-DSA-44, ML-DSA-65, ML-DSA-87" : ""

private let algorithms = """
    HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, ES256K, Ed25519, Ed448, \
    EdDSA\(postQuantum), dir, A128KW, A192KW, A256KW, A128GCMKW, A192GCMKW, A256GCMKW, ECDH-ES, ECDH-ES+A128KW, \
    ECDH-ES+A192KW, ECDH-ES+A256KW, RSA-OAEP, RSA-OAEP-256, RSA-OAEP-384, RSA-OAEP-512
    """

@Suite("jwt keygen", .limitedConcurrency)
struct KeygenCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("Prints the private key without --out")
    func standardOutput() throws {
        let result = try BuiltProgram.jwt.run("keygen", "--alg", "ES256")
        #expect(result.status == 0)
        #expect(result.errors == "")
        #expect(result.output.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        #expect(result.output.hasSuffix("\n-----END PRIVATE KEY-----\n"))
        #expect(try SigningKey(pem: result.output).algorithm == .es256)
    }

    @Test("Accepts jwt key generate as an alternative spelling that isn't in the help")
    func otherSpelling() throws {
        let result = try BuiltProgram.jwt.run("key", "generate", "--alg", "ES384")
        #expect(result.status == 0 && result.errors == "")
        #expect(try SigningKey(pem: result.output).algorithm == .es384)
        #expect(try !BuiltProgram.jwt.run("key", "--help").output.contains("generate"))
        #expect(try BuiltProgram.jwt.run("key", "generate", "--nope").errors.contains("jwt key generate"))
    }

    @Test("Warns if standard output is a file that other users can access")
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
                "standard output: other users can access this private key (mode 644); fix: chmod 600 \(path)"
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

    @Test("Generates different keys")
    func randomness() throws {
        let keys = try (0..<2).map { _ in try BuiltProgram.jwt.run("keygen", "--alg=ES256").output }
        #expect(keys[0] != keys[1])
    }

    @Test("States the algorithm and the thumbprint as kid in a JWK")
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
        "Restricts the private file to its owner, regardless of the umask, but not the public file",
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

    @Test("Accepts short options and a dash for standard output")
    func shortOptions() throws {
        let first = try BuiltProgram.jwt.run("keygen", "--alg=ES256", "-o\(folder.file("key"))", "--public-out=-")
        #expect(first.status == 0)
        #expect(try first.output == SigningKey(pem: folder.text(of: "key")).verificationKey.pem())
        let second = try BuiltProgram.jwt.run("keygen", "--alg=ES256", "-fo", folder.file("key"))
        #expect(second == ProcessResult(status: 0, output: "", errors: ""))
        let third = try BuiltProgram.jwt.run("keygen", "--alg=ES256", "--out", "-")
        #expect(third.output.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    }

    @Test("Leaves an existing file unchanged")
    func existingFile() throws {
        let path = try folder.write("precious", to: "key")
        let result = try BuiltProgram.jwt.run("keygen", "--alg", "ES256", "--out", path)
        #expect(result.status == 2)
        #expect(result.output == "")
        #expect(result.errors == "jwt keygen: \(path): already exists; use --force to replace it\n")
        #expect(try folder.text(of: "key") == "precious")
        #expect(try folder.names() == ["key"])
    }

    @Test("Doesn't write the private file if the public file exists")
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
        #expect(result.errors == "jwt keygen: \(path): already exists; use --force to replace it\n")
        #expect(try folder.names() == ["public"])
        #expect(try folder.text(of: "public") == "precious")
    }

    @Test("Replaces a file and its permissions with --force")
    func force() throws {
        let path = try folder.write("old", to: "key", mode: 0o644)
        let result = try BuiltProgram.jwt.run("keygen", "--alg", "ES256", "--out", path, "--force")
        #expect(result == ProcessResult(status: 0, output: "", errors: ""))
        #expect(try SigningKey(pem: folder.text(of: "key")).algorithm == .es256)
        #expect(try folder.mode(of: "key") == 0o600)
        #expect(try folder.names() == ["key"])
    }

    @Test("Doesn't replace links, devices and folders with --force")
    func forceOnOtherKinds() throws {
        let target = try folder.write("precious", to: "target")
        let link = folder.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        for path in [link, "/dev/null", folder.path] {
            let result = try BuiltProgram.jwt.run("keygen", "--alg", "ES256", "--force", "--out", path)
            #expect(result.status == 2)
            #expect(result.errors == "jwt keygen: \(path): not replaced, because it isn't a regular file\n")
        }
        #expect(try folder.text(of: "target") == "precious")
        #expect(try folder.names() == ["link", "target"])
    }

    @Test("Doesn't follow a dangling link")
    func danglingLink() throws {
        let link = folder.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.file("elsewhere"))
        let result = try BuiltProgram.jwt.run("keygen", "--alg", "ES256", "--out", link)
        #expect(result.status == 2)
        #expect(result.errors == "jwt keygen: \(link): already exists; use --force to replace it\n")
        #expect(try folder.names() == ["link"])
    }

    @Test("Reports a missing folder")
    func missingFolder() throws {
        let path = folder.file("missing/key")
        let result = try BuiltProgram.jwt.run("keygen", "--alg", "ES256", "--out", path)
        #expect(result.status == 2)
        #expect(result.output == "")
        #expect(result.errors == "jwt keygen: \(path): can't be written: No such file or directory\n")
    }

    @Test("Leaves no first file if the second one fails")
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
        #expect(result.errors == "jwt keygen: \(path): can't be written: No such file or directory\n")
        #expect(try folder.names() == [])
    }

    @Test("Fails if both outputs are the same file")
    func sameFileTwice() throws {
        let result = try BuiltProgram.shell("jwt keygen --alg ES256 --out key --public-out ./key", in: folder)
        #expect(
            result
                == ProcessResult(
                    status: 2,
                    output: "",
                    errors: "jwt keygen: key: already exists; use --force to replace it\n"
                )
        )
        #expect(try folder.names() == [])
    }

    @Test("Leaves no public file if the private key can't be printed")
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

    @Test("Encrypts a key with a password")
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

    @Test("Generates an RSA key with --rsa-bits and a JWK with --kid")
    func sizeAndKeyID() throws {
        let rsa = try BuiltProgram.jwt.run("keygen", "--alg=PS256", "--rsa-bits=2056", "--format=jwk", "--kid=k1")
        let jwk = try JWK(parsing: rsa.output)
        #expect(jwk.keyID == "k1")
        #expect(jwk.members["n"]?.string?.count == (257 * 4 + 2) / 3)
    }

    @Test("Prints the keys that aren't written to files with --json")
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
        "Exits with 64 and one line for an invalid command line",
        arguments: [
            ([], "--alg ALG is required"),
            (["--alg"], "--alg needs a value: --alg ALG"),
            (["--alg", "RS1"], "--alg must be one of \(algorithms)"),
            (["--alg", "none"], "--alg must be one of \(algorithms)"),
            (["--alg", "HS256", "--format", "pem"], "HS256 uses a secret, which has no PEM form; use --format jwk"),
            (
                ["--alg", "HS256", "--public-out", "p"],
                "HS256 uses a secret and has no public key; remove --public-out"
            ),
            (["--alg", "ES256", "--format", "der"], "--format must be one of pem, jwk"),
            (["--alg", "ES256", "--out", ""], "--out must name a file, or - for standard output"),
            (["--alg", "ES256", "--out", "folder/"], "--out must name a file, or - for standard output"),
            (["--alg", "ES256", "--public-out", "-"], "the private and the public key need different output files"),
            (
                ["--alg", "ES256", "--out", "x", "--public-out", "x"],
                "the private and the public key need different output files"
            ),
            (["--alg", "ES256", "--alg", "ES256"], "--alg can be given only once"),
            (["--alg", "RS256", "--rsa-bits", "1024"], "--rsa-bits must be a number of bits from 2048 to 8192"),
            (
                ["--alg", "ES256", "--rsa-bits", "2048"],
                "--rsa-bits applies only to RS and PS; a key for ES256 has a fixed size"
            ),
            (
                ["--alg", "ES256", "--kid", "a"],
                "PEM can't store a kid; use --format jwk, or pass --kid when signing"
            ),
            (
                ["--alg", "ES256", "--format", "jwk", "--password-env", "A"],
                "only PEM can be encrypted; use --format pem, or remove the password"
            ),
            (["--alg", "ES256", "--force=yes"], "--force doesn't take a value"),
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
