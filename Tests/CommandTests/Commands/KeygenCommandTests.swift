import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt keygen", .limitedConcurrency)
struct KeygenCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("Prints the private key without --out")
    func standardOutput() throws {
        let result = try BuiltProgram.jwt.run("keygen", "--alg", "ES256")
        #expect(result.status == 0 && result.errors == "", "\(result)")
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
            #expect(result == .success(warnings: line + "\n"))
        }
        for line in [
            "umask 077; rm -f key; jwt keygen --alg ES256 > key", "\(script) key public key.pem > key",
            "\(script) keygen --alg ES256 --public-out - --out other > key", "\(script) keygen --alg ES256 | cat > key",
            "\(script) keygen --alg ES256 > /dev/null",
        ] {
            #expect(try BuiltProgram.shell(line, in: folder) == .success())
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
        #expect(result.status == 0 && result.errors == "", "\(result)")
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
        #expect(result == .success())
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

    @Test("Writes to devices, own pipes and the names of standard output")
    func devices() throws {
        #expect(
            try BuiltProgram.jwt.run("keygen", "--alg=ES256", "-o/dev/null") == .success()
        )
        for option in ["--output=/dev/stdout", "-o/dev/fd/1", "-o - --public-out /dev/null", "-o >(cat)"] {
            let script = "bash -c 'jwt keygen --alg ES256 \(option); wait' | jwt key public - > key.pub && ls"
            let result = try BuiltProgram.shell("set -e; \(script)", in: folder)
            #expect(result == .success("key.pub\n"), "\(option)")
        }
        let full = try BuiltProgram.jwt.run("keygen", "--alg=ES256", "--out=/dev/full")
        #expect(full == .failure(2, "jwt keygen: /dev/full: can't be written: No space left on device\n"))
    }

    @Test("Doesn't write a key to a pipe that another user made", .enabled(if: geteuid() == 0))
    func foreignPipe() throws {
        let script = "mkfifo key; chown nobody key; jwt keygen --alg ES256 --force --out key"
        let result = try BuiltProgram.shell(script, in: folder)
        #expect(result == .failure(2, "jwt keygen: key: \(Self.notRegular)\n"))
    }

    @Test("Accepts short options and a dash for standard output")
    func shortOptions() throws {
        let first = try BuiltProgram.jwt.run("keygen", "--alg=ES256", "-o\(folder.file("key"))", "--public-out=-")
        #expect(first.status == 0)
        #expect(try first.output == SigningKey(pem: folder.text(of: "key")).verificationKey.pem())
        let second = try BuiltProgram.jwt.run("keygen", "--alg=ES256", "-fo", folder.file("key"))
        #expect(second == .success())
        let third = try BuiltProgram.jwt.run("keygen", "--alg=ES256", "--out", "-")
        #expect(third.output.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    }

    private static let existing = "key: already exists; use --force to replace it"
    private static let notRegular = "not replaced, because it isn't a regular file"

    @Test(
        "Leaves files, links, devices and folders as they are, and writes nothing if one output fails",
        arguments: [
            ("precious > key", "--out key", existing, ["key"]),
            ("precious > key", "--out other --public-out key", existing, ["key"]),
            ("precious > /dev/null", "--out key --public-out ./key", existing, []),
            ("precious > target; ln -s target key", "--force --out key", "key: \(notRegular)", ["key", "target"]),
            ("precious > /dev/null; mkdir key", "--force --out key", "key: \(notRegular)", ["key"]),
            ("precious > /dev/null; ln -s elsewhere key", "--out key", existing, ["key"]),
            ("precious > /dev/null", "--out no/key", "no/key: can't be written: No such file or directory", []),
            (
                "precious > /dev/null", "--out key --public-out no/key",
                "no/key: can't be written: No such file or directory", []
            ),
        ] as [(String, String, String, [String])]
    )
    func refusedFiles(setup: String, options: String, message: String, names: [String]) throws {
        let result = try BuiltProgram.shell("echo \(setup); jwt keygen --alg ES256 \(options)", in: folder)
        #expect(result == .failure(2, "jwt keygen: \(message)\n"))
        #expect(try folder.names() == names)
        for name in names where setup.contains("precious > \(name)") {
            #expect(try folder.text(of: name) == "precious\n")
        }
    }

    @Test("Replaces a file and its permissions with --force")
    func force() throws {
        let path = try folder.write("old", to: "key", mode: 0o644)
        let result = try BuiltProgram.jwt.run("keygen", "--alg", "ES256", "--out", path, "--force")
        #expect(result == .success())
        #expect(try SigningKey(pem: folder.text(of: "key")).algorithm == .es256)
        #expect(try folder.mode(of: "key") == 0o600)
        #expect(try folder.names() == ["key"])
    }

    @Test("Leaves no public file if the private key can't be printed")
    func printingFails() throws {
        let result = try BuiltProgram.jwt.run(
            ["keygen", "--alg", "ES256", "--public-out", folder.file("public")],
            hasReader: false
        )
        #expect(result == .failure(2, ""))
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
        #expect(jwk.members["n"]?.string?.count == 343)
    }

    @Test("Prints the keys that aren't written to files with --json")
    func json() throws {
        let both = try JSONObject(parsing: BuiltProgram.jwt.run("keygen", "--alg=ES256", "--json").output)
        let key = try SigningKey(pem: try #require(both["privateKey"]?.string))
        #expect(try both["publicKey"]?.string == key.verificationKey.pem())
        #expect(both["kid"]?.string == key.verificationKey.thumbprint)
        let files = try BuiltProgram.jwt.run(
            [
                "keygen", "--alg=ES256", "--json", "--format=jwk", "-o", folder.file("k"), "--public-out",
                folder.file("p"),
            ]
        )
        #expect(files.status == 0)
        let report = try JSONObject(parsing: files.output)
        #expect(report.map(\.name).sorted() == ["kid", "thumbprint"])
        #expect(try JWK(parsing: folder.text(of: "k")).keyID == report["kid"]?.string)
        let secret = try JSONObject(parsing: BuiltProgram.jwt.run("keygen", "--alg=HS256", "--json").output)
        #expect(secret.map(\.name).sorted() == ["kid", "privateKey"])
    }
}
