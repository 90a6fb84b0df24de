import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

@Suite("Nested tokens of jwt encrypt and jwt decrypt", .limitedConcurrency)
struct NestedCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(KeyFixtures.pkcs8, to: "sign.pem")
        try folder.write(KeyFixtures.publicKey, to: "verify.pem", mode: 0o644)
        let key = try DecryptionKey.generate(.ecdhESA256KW, on: .x25519)
        try folder.write(key.pem(), to: "key.pem")
        try folder.write(key.encryptionKey.pem(), to: "public.pem", mode: 0o644)
    }

    private func shell(_ script: String) throws -> ProcessResult {
        try BuiltProgram.shell(script, in: folder)
    }

    @Test("Signs, encrypts, decrypts and verifies claims", .shows("J25"))
    func roundTrip() throws {
        let result = try shell(
            """
            jwt encrypt -k public.pem --nested --sign-key sign.pem --sub alice --aud me --claim exp=4102444800 > token
            jwt decode < token 2>/dev/null
            jwt decrypt -k key.pem --nested --verify-key verify.pem --aud me < token
            jwt decrypt -k key.pem --nested --verify-key verify.pem --aud me --json < token
            """
        )
        #expect(result.status == 0 && result.errors == "")
        #expect(result.output.contains(#""cty": "JWT""#) && result.output.contains(#""typ": "JWT""#))
        let claims = """
            {
              "aud": "me",
              "exp": 4102444800,
              "sub": "alice"
            }

            """
        #expect(result.output.contains("\n" + claims))
        let report = try JSONObject(parsing: String(#require(result.output.split(separator: "\n").last)))
        #expect(report["valid"] == true && report["header"]?.object?["alg"] == "ES256")
        #expect(report["claims"]?.object?["sub"] == "alice")
        #expect(report["encryptionHeader"]?.object?["alg"] == "ECDH-ES+A256KW")
    }

    @Test("Names the option for the algorithm of a key that doesn't state it")
    func algorithmOptions() throws {
        try folder.write(KeyFixtures.rsa, to: "rsa.pem")
        let signing = try shell("jwt encrypt -k public.pem --nested --sign-key rsa.pem --sub a --claim exp=4102444800")
        #expect(signing.status == 2)
        #expect(signing.errors.hasSuffix("; name the algorithm with --sign-alg\n"), "\(signing.errors)")
        let verifying = try shell(
            """
            jwt encrypt -k public.pem --nested --sign-key sign.pem --sub a --claim exp=4102444800 |
            jwt decrypt -k key.pem --nested --verify-key rsa.pem
            """
        )
        #expect(verifying.status == 2)
        #expect(verifying.errors.hasSuffix("; name the algorithm with --verify-alg\n"), "\(verifying.errors)")
    }

    @Test("Reads claims from a file, and writes verified claims to a file")
    func files() throws {
        try folder.write(#"{"sub":"alice","exp":4102444800}"#, to: "claims")
        let result = try shell(
            """
            jwt encrypt -k public.pem --nested --sign-key sign.pem claims |
            jwt decrypt -k key.pem --nested --verify-key verify.pem --out verified
            """
        )
        #expect(result == .success())
        #expect(try JSONObject(parsing: folder.text(of: "verified"))["sub"] == "alice")
        #expect(try folder.mode(of: "verified") == 0o600)
    }

    @Test("Encrypts a token that was signed with --json")
    func signedJSON() throws {
        let script = """
            jwt sign -k sign.pem --sub alice --claim exp=4102444800 --json | jwt encrypt -k public.pem --nested |
            jwt decrypt -k key.pem --nested --verify-key verify.pem | grep sub
            """
        #expect(try shell(script) == .success("  \"sub\": \"alice\"\n"))
    }

    @Test("Encrypts a token that is already signed, and rejects other text")
    func signedToken() throws {
        let script = "jwt encrypt -k public.pem --nested"
        let result = try shell(
            "jwt sign -k sign.pem --sub x --expires-in 1h | \(script) | jwt decrypt -k key.pem --nested --verify-key verify.pem"
        )
        #expect(result.status == 0 && result.output.contains(#""sub": "x""#))
        let refused = try shell("echo a.b | \(script)")
        #expect(refused.fails(2, "jwt encrypt: standard input: a signed token has 3 segments, not 2"), "\(refused)")
    }

    @Test("Signs with an encrypted key, an algorithm and a kid")
    func signingKey() throws {
        try folder.write(KeyFixtures.encrypted, to: "encrypted.pem")
        try folder.write("secret", to: "password")
        let first = try shell(
            """
            jwt encrypt -k public.pem --nested --sign-key encrypted.pem --sign-password-file password --sub a |
            jwt decrypt -k key.pem --nested --verify-key verify.pem --allow-no-exp
            """
        )
        #expect(first.status == 0 && first.errors == "")
        let second = try shell(
            """
            jwt keygen --alg HS256 --kid 7 --out hmac.jwk
            jwt encrypt -k public.pem --nested --sign-key hmac.jwk --sub a | jwt decrypt -k key.pem |
            jwt verify -k hmac.jwk --allow-no-exp --json
            """
        )
        #expect(try JSONObject(parsing: second.output)["header"] == ["alg": "HS256", "kid": "7", "typ": "JWT"])
    }

    @Test(
        "Rejects a nested token for the same reasons as jwt verify",
        arguments: [
            ("--sub a --claim exp=1", "", "expired"), ("--sub a", "", "missingClaim"),
            ("--aud x --claim exp=4102444800", "", "audienceMismatch"),
            ("--aud x --claim exp=4102444800", "--aud y", "audienceMismatch"),
            ("--sub a --claim exp=4102444800", "--sub b", "subjectMismatch"),
            ("--sub a --claim exp=4102444800", "--verify-alg ES384", "algorithmMismatch"),
        ]
    )
    func claims(claims: String, options: String, code: String) throws {
        let result = try shell(
            """
            jwt encrypt -k public.pem --nested --sign-key sign.pem \(claims) |
            jwt decrypt -k key.pem --nested --verify-key verify.pem --json --out file \(options)
            """
        )
        // A key that doesn't fit the stated algorithm is unusable.
        #expect(result.status == (code == "algorithmMismatch" ? 2 : 1) && result.output == "")
        #expect(try JSONObject(parsing: result.errors)["error"]?.object?["code"]?.string == code, "\(result.errors)")
        #expect(try !folder.names().contains("file"))
    }

    @Test("Rejects another signer and content that isn't signed")
    func signer() throws {
        let other = try shell(
            """
            jwt keygen --alg ES256 --out other.pem
            jwt encrypt -k public.pem --nested --sign-key other.pem --sub a --expires-in 1h |
            jwt decrypt -k key.pem --nested --verify-key verify.pem --json
            """
        )
        #expect(other.status == 1 && other.errors.contains(#""code":"signatureInvalid""#))
        let unsigned = try shell(
            """
            jwt encrypt -k public.pem --sub a --expires-in 1h |
            jwt decrypt -k key.pem --nested --verify-key verify.pem --json
            """
        )
        #expect(unsigned.status == 1 && unsigned.output == "" && unsigned.errors.contains(#""code":"typeMismatch""#))
    }

    @Test("Verifies with the keys that an issuer publishes")
    func discovery() async throws {
        let signer = try SigningKey.generate(.es256).identified(by: "1")
        let set = JWKSet(keys: [signer.verificationKey.jwk]).serialized()
        let recipient = try DecryptionKey(pem: folder.text(of: "key.pem"), algorithm: .ecdhES).encryptionKey
        try await withLoopbackServer { server in
            let url = "http://localhost:\(server.port)"
            server.on(.get, "/keys", .json(set))
            server.on(
                .get,
                "/.well-known/openid-configuration",
                .json("{\"issuer\":\"\(url)\",\"jwks_uri\":\"\(url)/keys\"}")
            )
            let claims: JSONObject = ["iss": .string(url), "exp": 4_102_444_800]
            let token = try signer.sign(claims, encryptedFor: recipient)
            for keys in [["--discover", url], ["--jwks", url + "/keys"]] {
                let result = try await BuiltProgram.jwt.runApart(
                    ["decrypt", "-k", folder.file("key.pem"), "--nested"] + keys + [token]
                )
                #expect(result.status == 0 && result.errors == "", "\(result)")
            }
        }
    }
}

/// Types passwords on a terminal of the `script` command, each after its prompt.
@Suite("Password prompts", .limitedConcurrency)
struct PasswordPromptTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write("It is true.", to: "file")
    }

    /// Runs a command on a terminal and types an answer after each prompt, which ends with a colon.
    ///
    /// - Returns: The text of the terminal, and the exit code in the last line.
    private func type(_ answers: [String], to command: String) throws -> String {
        let answers = answers.map { "'\($0)'" }.joined(separator: " ")
        // Bash 5.3 lets coprocesses ignore Control-C.
        let script = """
            coproc TERMINAL { env --default-signal=INT,QUIT script -qefc '\(command)' /dev/null; }
            exec {input}>&"${TERMINAL[1]}" {output}<&"${TERMINAL[0]}"
            terminal=$TERMINAL_PID
            for answer in \(answers); do
                text=
                while [[ $text != *': ' ]] && IFS= read -r -N1 letter <&"$output"; do
                    text+=$letter; printf %s "$letter"
                done
                # A line break after Control-C could arrive before the process ends.
                [[ $answer == $'\\x03' ]] || answer+=$'\\n'
                printf %s "$answer" >&"$input"
            done
            cat <&"$output"
            wait "$terminal"; echo "status $?"
            """
        try folder.write(script, to: ".type")
        return try BuiltProgram.shell("bash .type", in: folder).output.replacing("\r\n", with: "\n")
    }

    @Test("Encrypts with a password that is typed twice, and decrypts, without showing it")
    func roundTrip() throws {
        let encrypted = try type(["correct horse", "correct horse"], to: "jwt encrypt --password file > jwe")
        #expect(encrypted == "Password: \nRepeat the password: \nstatus 0\n")
        let decrypted = try type(["correct horse"], to: "jwt decrypt --password < jwe > content")
        #expect(decrypted == "Password: \nstatus 0\n")
        #expect(try folder.text(of: "content") == "It is true.")
        let refused = try type(["correct house"], to: "jwt decrypt --password < jwe")
        let message = "jwt decrypt: the token can't be decrypted: it's for another key, or it was changed"
        #expect(refused == "Password: \n\(message)\nstatus 1\n")
    }

    @Test("Rejects two different passwords and an empty one")
    func mistakes() throws {
        let different = try type(["a", "b"], to: "jwt encrypt --password file > jwe")
        let message = "jwt encrypt: the passwords differ; try again"
        #expect(different == "Password: \nRepeat the password: \n\(message)\nstatus 2\n")
        let empty = try type([""], to: "jwt encrypt --password file > jwe")
        #expect(empty == "Password: \njwt encrypt: the password is empty\nstatus 2\n")
    }

    @Test("Shows what the user types again after a prompt and after a signal")
    func restored() throws {
        let normal = try type(["a", "a"], to: "jwt encrypt --password file > jwe; stty -a | grep -ow -- \"-*echo\"")
        #expect(normal.hasSuffix("\necho\nstatus 0\n"), "\(normal)")
        // The terminal sends the signal for Control-C.
        let signal = try type(
            ["\u{3}"],
            to: "trap : INT; jwt encrypt --password file > jwe; stty -a | grep -ow -- \"-*echo\""
        )
        #expect(signal.hasSuffix(": echo\nstatus 0\n"), "\(signal)")
    }

    @Test("Decrypts with the typed password of a private key")
    func key() throws {
        try folder.write(KeyFixtures.encrypted, to: "key.pem")
        let key = try DecryptionKey(pem: KeyFixtures.pkcs8, algorithm: .ecdhES).encryptionKey
        try folder.write(key.encrypt(Data("x".utf8)), to: "jwe")
        let result = try type(["secret"], to: "jwt decrypt -k key.pem --password < jwe > content")
        #expect(result == "Password: \nstatus 0\n")
        #expect(try folder.text(of: "content") == "x")
    }

    @Test("Fails without a terminal")
    func noTerminal() throws {
        let result = try BuiltProgram.shell("setsid -w jwt encrypt --password file", in: folder)
        #expect(result.fails(2, "jwt encrypt: no terminal to type the password on ("), "\(result)")
        #expect(result.errors.hasSuffix("; pass it with --password-file FILE or --password-env NAME\n"))
    }
}
