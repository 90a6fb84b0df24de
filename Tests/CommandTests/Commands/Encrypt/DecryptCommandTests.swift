import Foundation
import TestSupport
import Testing
import TokenGeneration

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
        #expect(result == ProcessResult(status: 0, output: "It is true.", errors: ""))
    }

    @Test("Accepts every use of a secret that its size allows, unless the JWK states one")
    func secrets() throws {
        let secret = [UInt8]("0123456789abcdef0123456789abcdef".utf8)
        try folder.write(String(decoding: secret, as: UTF8.self), to: "secret")
        try folder.write(
            #"{"kty":"oct","alg":"A256KW","k":"\#(Base64URL.encode(secret))"}"#,
            to: "secret.jwk"
        )
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
                #expect(message.hasSuffix("which the policy doesn't allow; the key is for A256KW"))
            }
        }
    }

    @Test("Accepts only the algorithms in the options")
    func policy() throws {
        #expect(try shell("jwt decrypt -k key.pem --alg ECDH-ES+A256KW --enc A256GCM < jwe").status == 0)
        #expect(try shell("jwt decrypt -k key.pem --alg ECDH-ES --alg ECDH-ES+A256KW < jwe").status == 0)
        let algorithm = try refusal("jwt decrypt -k key.pem --alg ECDH-ES < jwe", "algorithmMismatch")
        #expect(algorithm.hasSuffix("which the policy doesn't allow; the key is for ECDH-ES, according to --alg"))
        let encryption = try refusal("jwt decrypt -k key.pem --enc A128GCM < jwe", "algorithmMismatch")
        #expect(encryption.hasSuffix("which the policy doesn't allow; --enc A128GCM excludes it"))
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
        #expect(try shell("jwt decrypt -k keys.jwks < jwe") == ProcessResult(status: 0, output: "x", errors: ""))
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
        #expect(
            try shell("umask 0; jwt decrypt -k key.pem --out file < jwe")
                == ProcessResult(status: 0, output: "", errors: "")
        )
        #expect(try folder.text(of: "file") == "It is true.")
        #expect(try folder.mode(of: "file") == 0o600)
        let again = try shell("jwt decrypt -k key.pem --output file < jwe")
        let message = "jwt decrypt: file: already exists; use --force to replace it\n"
        #expect(again == ProcessResult(status: 2, output: "", errors: message))
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
        let text = try shell(
            "jwt encrypt -k key.pem odd > jwe; script -qec 'jwt decrypt -k key.pem < jwe' /dev/null"
        )
        #expect(text == ProcessResult(status: 0, output: "\\u001b[31mred\r\n", errors: ""))
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
        #expect(missing.status == 2)
        #expect(missing.errors.hasSuffix("; pass it with --password-file FILE or --password-env NAME\n"))
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
        #expect(signed == ProcessResult(status: 1, output: "", errors: advice))
        let message = "the token is encrypted, a JWE; decrypt and verify it with jwt decrypt --nested"
        #expect(
            try shell("jwt verify -k key.pem < jwe")
                == ProcessResult(status: 1, output: "", errors: "jwt verify: \(message)\n")
        )
        let batch = try shell("jwt verify -k key.pem --batch < jwe")
        let line = #"{"error":{"code":"malformedToken","message":"\#(message)"},"valid":false}"#
        #expect(batch == ProcessResult(status: 1, output: line + "\n", errors: "jwt verify: 1 of 1 lines failed\n"))
    }

    @Test(
        "Exits with 64 and one line for an invalid command line",
        arguments: [
            ("x", "missing key; pass --key FILE, --key-env NAME, --password-file FILE or --password"),
            ("-k -", "only one of the keys, the password and the JWE can come from standard input"),
            ("-k a --alg PBES2-HS256+A128KW x", "--alg PBES2-HS256+A128KW needs a password without a key"),
            ("--password --alg dir x", "--alg dir needs a key"),
            ("-k a --max-iterations 2000 x", "--max-iterations applies only to a password without a key"),
            ("-k a --aud b x", "--aud requires --nested"),
            ("-k a --jwks b x", "--jwks requires --nested"),
            (
                "-k a --nested x",
                "missing key; --nested needs --verify-key FILE, --jwks FILE|URL or --discover ISSUER"
            ),
        ]
    )
    func usageErrors(arguments: String, message: String) throws {
        #expect(
            try shell("jwt decrypt \(arguments)")
                == ProcessResult(status: 64, output: "", errors: "jwt decrypt: \(message) (see jwt decrypt --help)\n")
        )
    }
}
