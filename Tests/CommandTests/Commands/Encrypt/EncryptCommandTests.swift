import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt encrypt", .limitedConcurrency)
struct EncryptCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write("It is\ntrue.\n", to: "file")
        try folder.write("correct horse\n", to: "password")
        try folder.write(KeyFixtures.publicKey, to: "public.pem", mode: 0o644)
        try folder.write(KeyFixtures.pkcs8, to: "key.pem")
    }

    private func shell(_ script: String) throws -> ProcessResult {
        try BuiltProgram.shell(script, in: folder)
    }

    private func header(_ token: String) throws -> JSONObject {
        try UnverifiedJWE(compact: token.trimmingCharacters(in: .newlines)).unverifiedProtectedHeader
    }

    @Test(
        "Preserves any content byte for byte with every algorithm",
        arguments: JWEAlgorithm.implemented.map(\.rawValue).filter { !$0.hasPrefix("PBES2") }
    )
    func algorithms(name: String) throws {
        let result = try shell(
            """
            head -c 1000 /dev/urandom > random
            jwt keygen --alg \(name) --format jwk --out key.jwk
            jwt encrypt -k key.jwk random | jwt decrypt -k key.jwk | cmp - random && echo same
            """
        )
        #expect(result == .success("same\n"))
    }

    @Test("Preserves empty content and content from standard input")
    func input() throws {
        for content in ["", "\n", "a\u{0}b"] {
            let script = "jwt encrypt -k public.pem | jwt decrypt -k key.pem"
            #expect(try BuiltProgram.shell(script, input: content, in: folder) == .success(content))
        }
    }

    @Test("Decrypts what was encrypted with --json", arguments: ["", "--format json", "--format general"])
    func jsonOutput(form: String) throws {
        let script = "jwt encrypt --json -k public.pem \(form) file | jwt decrypt -k key.pem | cmp - file && echo same"
        #expect(try shell(script) == .success("same\n"))
    }

    @Test(
        "Uses the preferred algorithm of a key that doesn't state one",
        arguments: [
            ("EC", "ECDH-ES+A256KW", "A256GCM"), ("RSA", "RSA-OAEP-256", "A256GCM"), ("16", "A128KW", "A256GCM"),
            ("24", "A192KW", "A256GCM"), ("32", "A256KW", "A256GCM"), ("48", "dir", "A192CBC-HS384"),
            ("64", "dir", "A256CBC-HS512"), ("password", "PBES2-HS512+A256KW", "A256GCM"),
        ]
    )
    func defaults(kind: String, algorithm: String, encryption: String) throws {
        try folder.write(KeyFixtures.rsa, to: "rsa.pem")
        let options =
            switch kind {
            case "EC": "-k public.pem"
            case "RSA": "-k rsa.pem"
            case "password": "--password-file password"
            default: "-k secret --secret text"
            }
        if let size = Int(kind) { try folder.write(String(repeating: "s", count: size), to: "secret") }
        let result = try shell("jwt encrypt \(options) file")
        #expect(result.status == 0 && result.errors == "")
        let header = try header(result.output)
        #expect(header["alg"]?.string == algorithm)
        #expect(header["enc"]?.string == encryption)
    }

    @Test("Uses the options for algorithms, the header and the iterations")
    func options() throws {
        let agreement = try shell(
            "jwt encrypt -k public.pem --alg ECDH-ES --enc A128CBC-HS256 --kid auto --typ a+b --header cty=x file"
        )
        let header = try header(agreement.output)
        let thumbprint = try EncryptionKey(pem: KeyFixtures.publicKey, algorithm: .ecdhES).jwk.thumbprint
        #expect(header["alg"] == "ECDH-ES" && header["enc"] == "A128CBC-HS256")
        #expect(header["kid"] == .string(thumbprint) && header["typ"] == "a+b" && header["cty"] == "x")
        let password = try shell(
            "jwt encrypt --password-file password --alg PBES2-HS256+A128KW --iterations 1234 --kid p file"
        )
        let other = try self.header(password.output)
        #expect(other["alg"] == "PBES2-HS256+A128KW" && other["p2c"] == 1_234 && other["kid"] == "p")
    }

    @Test("Encrypts for several recipients, each of whom can decrypt")
    func recipients() throws {
        let result = try shell(
            """
            jwt keygen --alg RSA-OAEP-256 --format jwk --out rsa.jwk --kid r
            jwt encrypt -k public.pem -k rsa.jwk --password-file password --aad about file > jwe
            jwt decrypt -k key.pem < jwe && jwt decrypt -k rsa.jwk < jwe && jwt decrypt --password-file password < jwe
            jwt decrypt -k rsa.jwk --json < jwe
            """
        )
        #expect(result.status == 0 && result.errors == "")
        let content = "It is\ntrue.\n"
        #expect(result.output.hasPrefix(content + content + content + "{"))
        let report = try JSONObject(parsing: String(result.output.dropFirst(3 * content.count)))
        #expect(report["recipient"] == 1 && report["aad"] == "YWJvdXQ" && report["content"] == "SXQgaXMKdHJ1ZS4K")
        #expect(report["unprotectedHeader"]?.object?["kid"] == "r")
    }

    @Test("Writes the flattened and the general form, and JSON for programs")
    func forms() throws {
        let flattened = try JSONObject(parsing: shell("jwt encrypt -k public.pem --aad @file file").output)
        #expect(flattened["recipients"] == nil && flattened["aad"] == "SXQgaXMKdHJ1ZS4K")
        let general = try JSONObject(parsing: shell("jwt encrypt -k public.pem --format general file").output)
        #expect(general["recipients"]?.array?.count == 1)
        let report = try JSONObject(parsing: shell("jwt encrypt -k public.pem --json file").output)
        #expect(try header(#require(report["jwe"]?.string))["enc"] == "A256GCM")
    }

    @Test("Encrypts claims from options and files")
    func claims() throws {
        try folder.write(#"{"a":1}"#, to: "claims")
        let result = try shell(
            "jwt encrypt -k public.pem --claims claims --sub alice > jwe; jwt decode < jwe 2>/dev/null; jwt decrypt -k key.pem < jwe"
        )
        #expect(result.output.contains(#""typ": "JWT""#))
        #expect(result.output.hasSuffix(#"{"a":1,"sub":"alice"}"#))
        #expect(result.errors == "")
    }

    @Test("Encrypts with the only key of a set that is for encryption, or with the key that --kid names")
    func keySet() async throws {
        let keys = try ["1", "2"].map { try DecryptionKey.generate(.ecdhESA128KW).identified(by: $0) }
        let signing = try SigningKey.generate(.es256).identified(by: "s").verificationKey.jwk
        let secret = try DecryptionKey.generate(.a256KW).identified(by: "o").privateJWK()
        let one = JWKSet(keys: [signing, keys[0].encryptionKey.jwk]).serialized()
        let members = [signing, secret] + keys.map(\.encryptionKey.jwk)
        let several = JSONObject([("keys", .array(members.map { .object($0.members) }))]).serialized()
        try folder.write(several, to: "several.jwks")
        try folder.write(one, to: "one.jwks")
        for arguments in [["--jwks", folder.file("one.jwks")], ["--key", folder.file("one.jwks")]] {
            let token = try BuiltProgram.jwt.run(["encrypt"] + arguments, input: "x")
            let header = try header(token.output)
            #expect(header["kid"] == "1" && header["alg"] == "ECDH-ES+A128KW")
        }
        let named = try BuiltProgram.jwt.run("encrypt", "--jwks", folder.file("several.jwks"), "--kid", "2", input: "x")
        #expect(try header(named.output)["kid"] == "2")
        for (options, message) in [
            ("--jwks several.jwks", "several keys in the set can encrypt; choose one with --kid"),
            ("--jwks several.jwks --kid 3", "the key set has no key with this kid"),
            (
                "--jwks several.jwks --kid o",
                "the key set has no matching key for encryption: secrets in a key set are ignored"
            ),
        ] {
            let result = try shell("jwt encrypt \(options) file")
            #expect(result == .failure(2, "jwt encrypt: several.jwks: \(message)\n"))
        }
        try await withLoopbackServer { server in
            server.on(.get, "/keys", .json(one))
            let url = "http://localhost:\(server.port)/keys"
            let token = try await BuiltProgram.jwt.runApart(["encrypt", "--jwks", url, "--sub", "alice"])
            let content = try JWEDecrypter(
                key: keys[0],
                policy: DecryptionPolicy(algorithms: [.ecdhESA128KW], encryptions: [.a256GCM])
            ).decrypt(compact: token.output.trimmingCharacters(in: .newlines))
            #expect(content.plaintext == Data(#"{"sub":"alice"}"#.utf8))
        }
    }

    @Test(
        "Rejects keys that can't encrypt",
        arguments: [
            (
                ["keygen", "--alg", "Ed25519"],
                "the key is for signatures; encryption needs an RSA, EC, X25519 or X448 key"
            ),
            (
                ["keygen", "--alg", "ES256", "--format", "jwk"],
                "“alg” of the JWK is “ES256”, which isn't a supported encryption algorithm"
            ),
        ]
    )
    func unfitKeys(arguments: [String], message: String) throws {
        try folder.write(BuiltProgram.jwt.run(arguments).output, to: "unfit")
        #expect(try shell("jwt encrypt -k unfit file") == .failure(2, "jwt encrypt: unfit: \(message)\n"))
    }

    @Test("Rejects secrets that fit no algorithm, and encrypted private keys")
    func refusedKeys() throws {
        try folder.write("short", to: "secret")
        let short = try shell("jwt encrypt -k secret --secret text file")
        let reason = "no accepted algorithm uses a secret of this size; most need 16, 24, 32, 48 or 64 bytes"
        #expect(short == .failure(2, "jwt encrypt: secret: \(reason)\n"))
        try folder.write(KeyFixtures.encrypted, to: "encrypted.pem")
        let encrypted = try shell("jwt encrypt -k encrypted.pem file")
        let advice = "the private key is encrypted; pass its public part, which jwt key public prints"
        #expect(encrypted == .failure(2, "jwt encrypt: encrypted.pem: \(advice)\n"))
    }

    @Test("Names RSA1_5 as the reason for rejecting it")
    func bleichenbacher() throws {
        let result = try shell("jwt encrypt -k a --alg RSA1_5 file")
        #expect(result.fails(64, containing: "RSA1_5 isn't supported, because its padding is broken"), "\(result)")
    }
}

@Suite("jwt decrypt", .limitedConcurrency)
struct DecryptCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(KeyFixtures.pkcs8, to: "key.pem")
        try folder.write(KeyFixtures.rsa, to: "rsa.pem")
        try folder.write("correct horse\n", to: "password")
        try folder.write(Self.token(.ecdhESA256KW), to: "jwe")
    }

    private static func token(_ algorithm: JWEAlgorithm, _ encryption: JWEEncryption = .a256GCM) throws -> String {
        let pem = algorithm.rawValue.hasPrefix("RSA") ? KeyFixtures.rsa : KeyFixtures.pkcs8
        return try DecryptionKey(pem: pem, algorithm: algorithm).encryptionKey
            .encrypt(Data("It is true.".utf8), encryption: encryption)
    }

    private func shell(_ script: String) throws -> ProcessResult {
        try BuiltProgram.shell(script, in: folder)
    }

    private func refusal(_ script: String, _ code: String) throws -> String {
        let result = try shell(script + " --json")
        #expect(result.status == 1 && result.output == "")
        let error = try JSONObject(parsing: result.errors)["error"]?.object
        #expect(error?["code"]?.string == code, "\(result.errors)")
        return error?["message"]?.string ?? ""
    }

    @Test(
        "Accepts every algorithm that the type of a PEM key supports",
        arguments: [
            "RSA-OAEP", "RSA-OAEP-256", "RSA-OAEP-384", "RSA-OAEP-512", "ECDH-ES", "ECDH-ES+A128KW", "ECDH-ES+A192KW",
            "ECDH-ES+A256KW",
        ]
    )
    func keyTypes(name: String) throws {
        try folder.write(Self.token(#require(JWEAlgorithm(rawValue: name)), .a128CBCHS256), to: "jwe")
        let result = try shell("jwt decrypt -k \(name.hasPrefix("RSA") ? "rsa.pem" : "key.pem") < jwe")
        #expect(result == .success("It is true."))
    }

    @Test("Accepts every use of a secret that its size allows, unless the JWK states one")
    func secrets() throws {
        let secret = [UInt8]("0123456789abcdef0123456789abcdef".utf8)
        try folder.write(String(decoding: secret, as: UTF8.self), to: "secret")
        try folder.write(#"{"kty":"oct","alg":"A256KW","k":"\#(Base64URL.encode(secret))"}"#, to: "secret.jwk")
        for (algorithm, encryption) in [
            (JWEAlgorithm.a256KW, nil), (.a256GCMKW, nil), (.dir, JWEEncryption.a256GCM), (.dir, .a128CBCHS256),
        ] {
            let key = try EncryptionKey(secret: secret, algorithm: algorithm, encryption: encryption)
            try folder.write(key.encrypt(Data("x".utf8)), to: "jwe")
            #expect(try shell("jwt decrypt -k secret --secret text < jwe").output == "x")
            if algorithm == .a256KW {
                #expect(try shell("jwt decrypt -k secret.jwk < jwe").output == "x")
            } else {
                let message = try refusal("jwt decrypt -k secret.jwk < jwe", "algorithmMismatch")
                #expect(message.hasSuffix("which the options don't allow; the key is for A256KW"))
            }
        }
    }

    @Test("Accepts only the algorithms in the options")
    func policy() throws {
        #expect(try shell("jwt decrypt -k key.pem --alg ECDH-ES+A256KW --enc A256GCM < jwe").status == 0)
        #expect(try shell("jwt decrypt -k key.pem --alg ECDH-ES --alg ECDH-ES+A256KW < jwe").status == 0)
        let algorithm = try refusal("jwt decrypt -k key.pem --alg ECDH-ES < jwe", "algorithmMismatch")
        #expect(algorithm.hasSuffix("which the options don't allow; the key is for ECDH-ES, according to --alg"))
        let encryption = try refusal("jwt decrypt -k key.pem --enc A128GCM < jwe", "algorithmMismatch")
        #expect(encryption.hasSuffix("which the options don't allow; --enc A128GCM excludes it"))
    }

    @Test("Never accepts RSA1_5, or a password-based token with a key")
    func neverAccepted() throws {
        let header = Base64URL.encode(Array(#"{"alg":"RSA1_5","enc":"A256GCM"}"#.utf8))
        try folder.write("\(header).AA.AAAAAAAAAAAAAAAA.AA.AAAAAAAAAAAAAAAAAAAAAA", to: "old")
        #expect(try refusal("jwt decrypt -k rsa.pem < old", "unsupportedAlgorithm").contains("RSA1_5"))
        let key = try EncryptionKey(
            password: EncryptionPassword("correct horse"),
            algorithm: .pbes2HS256A128KW,
            iterations: 2_000
        )
        try folder.write(key.encrypt(Data("x".utf8)), to: "secret.jwe")
        let message = try refusal("jwt decrypt -k key.pem < secret.jwe", "algorithmMismatch")
        #expect(message.hasSuffix("it needs a password, so replace the key with --password"))
        #expect(try shell("jwt decrypt --password-file password < secret.jwe").output == "x")
        let bound = try refusal("jwt decrypt --password-file password --max-iterations 1000 < secret.jwe", "tooLarge")
        #expect(bound.hasSuffix("limit of 1000; raise it with --max-iterations if you trust the sender"))
    }

    @Test("Reports a wrong key, a wrong password and a changed token with the same message")
    func failures() throws {
        let other = try BuiltProgram.jwt.run("keygen", "--use", "enc").output
        try folder.write(other, to: "other.pem")
        let wrongKey = try refusal("jwt decrypt -k other.pem < jwe", "decryptionFailed")
        let text = try folder.text(of: "jwe")
        try folder.write(String(text.dropLast(4)) + "AAAA", to: "changed")
        let changed = try refusal("jwt decrypt -k key.pem < changed", "decryptionFailed")
        try folder.write("another", to: "password")
        let key = try EncryptionKey(
            password: EncryptionPassword("correct horse"),
            algorithm: .pbes2HS512A256KW,
            iterations: 1_000
        )
        try folder.write(key.encrypt(Data("x".utf8)), to: "secret.jwe")
        let wrongPassword = try refusal("jwt decrypt --password-file password < secret.jwe", "decryptionFailed")
        #expect(wrongKey == changed && changed == wrongPassword)
    }

    @Test("Selects a key of a JWK Set by kid")
    func keySet() throws {
        let keys = try ["1", "2"].map { try DecryptionKey.generate(.a128KW).identified(by: $0) }
        let set = try keys.map { JSONValue.object(try $0.privateJWK().members) }
        try folder.write(JSONObject([("keys", .array(set))]).serialized(), to: "keys.jwks")
        try folder.write(keys[1].encryptionKey.encrypt(Data("x".utf8)), to: "jwe")
        #expect(try shell("jwt decrypt -k keys.jwks < jwe") == .success("x"))
        try folder.write(keys[1].identified(by: "3").encryptionKey.encrypt(Data("x".utf8)), to: "jwe")
        #expect(try refusal("jwt decrypt -k keys.jwks < jwe", "unknownKey") == "no key has the “kid” of a recipient")
    }

    @Test("Ignores the kid of the only recipient if there's only one key")
    func otherKeyID() throws {
        let key = try DecryptionKey.generate(.ecdhESA256KW).identified(by: "a")
        var jwk = try key.privateJWK()
        jwk.algorithm = nil
        try folder.write(jwk.members.serialized(), to: "key.jwk")
        try folder.write(key.identified(by: "b").encryptionKey.encrypt(Data("x".utf8)), to: "jwe")
        #expect(try shell("jwt decrypt -k key.jwk < jwe").output == "x")
    }

    @Test("Writes the content to a new file that only the owner can read")
    func output() throws {
        #expect(try shell("umask 0; jwt decrypt -k key.pem --out file < jwe") == .success())
        #expect(try folder.text(of: "file") == "It is true.")
        #expect(try folder.mode(of: "file") == 0o600)
        let again = try shell("jwt decrypt -k key.pem --output file < jwe")
        let message = "jwt decrypt: file: already exists; use --force to replace it\n"
        #expect(again == .failure(2, message))
        #expect(try shell("jwt decrypt -k key.pem --out file --force < jwe").status == 0)
        let report = try shell("jwt decrypt -k key.pem -o file -f --json < jwe").output
        #expect(try JSONObject(parsing: report)["content"] == nil)
    }

    @Test("Doesn't create a file if the token is rejected")
    func noOutput() throws {
        #expect(try shell("jwt decrypt -k rsa.pem --out file < jwe").status == 1)
        #expect(try !folder.names().contains("file"))
    }

    @Test("Escapes terminal commands in the content, and shows binary content only in a pipe")
    func terminal() throws {
        try folder.write("\u{1B}[31mred\n", to: "odd")
        let text = try shell("jwt encrypt -k key.pem odd > jwe; script -qec 'jwt decrypt -k key.pem < jwe' /dev/null")
        #expect(text == .success("\\u001b[31mred\r\n"))
        let binary = try shell(
            "printf 'a\\000' | jwt encrypt -k key.pem > jwe; script -qec 'jwt decrypt -k key.pem < jwe' /dev/null"
        )
        let message = "jwt decrypt: the content isn't text and can't be shown on a terminal; use --out FILE\r\n"
        #expect(binary == ProcessResult(status: 2, output: message, errors: ""))
    }

    @Test("Decrypts with an encrypted private key")
    func encryptedKey() throws {
        try folder.write(KeyFixtures.encrypted, to: "encrypted.pem")
        try folder.write("secret", to: "password")
        #expect(try shell("jwt decrypt -k encrypted.pem --password-file password < jwe").output == "It is true.")
        let missing = try shell("jwt decrypt -k encrypted.pem < jwe")
        #expect(
            missing.fails(2, endingWith: "; pass it with --password-file FILE or --password-env NAME\n"),
            "\(missing)"
        )
    }

    @Test("Requires --crit for critical parameters")
    func critical() throws {
        let key = try DecryptionKey(pem: KeyFixtures.pkcs8, algorithm: .ecdhES).encryptionKey
        try folder.write(key.encrypt(Data("x".utf8), header: ["crit": ["a"], "a": 1]), to: "jwe")
        _ = try refusal("jwt decrypt -k key.pem < jwe", "criticalHeaderUnsupported")
        #expect(try shell("jwt decrypt -k key.pem --crit a < jwe").output == "x")
    }

    @Test("Names the right command for a signed token, and in jwt verify for an encrypted one")
    func otherTokens() throws {
        let signed = try shell("jwt sign -k key.pem --sub x --expires-in 1h | jwt decrypt -k key.pem")
        let advice = "jwt decrypt: the token is signed, not encrypted; verify it with jwt verify\n"
        #expect(signed == .failure(1, advice))
        let message = "the token is encrypted, a JWE; decrypt and verify it with jwt decrypt --nested"
        #expect(try shell("jwt verify -k key.pem < jwe") == .failure(1, "jwt verify: \(message)\n"))
        let batch = try shell("jwt verify -k key.pem --batch < jwe")
        let line = #"{"error":{"code":"malformedToken","message":"\#(message)"},"valid":false}"#
        #expect(batch == ProcessResult(status: 1, output: line + "\n", errors: "jwt verify: 1 of 1 lines failed\n"))
    }
}
