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
        #expect(result == ProcessResult(status: 0, output: "same\n", errors: ""))
    }

    @Test("Preserves empty content and content from standard input")
    func input() throws {
        for content in ["", "\n", "a\u{0}b"] {
            let script = "jwt encrypt -k public.pem | jwt decrypt -k key.pem"
            #expect(
                try BuiltProgram.shell(script, input: content, in: folder)
                    == ProcessResult(status: 0, output: content, errors: "")
            )
        }
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
            #expect(
                result == ProcessResult(status: 2, output: "", errors: "jwt encrypt: several.jwks: \(message)\n")
            )
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
        #expect(
            try shell("jwt encrypt -k unfit file")
                == ProcessResult(status: 2, output: "", errors: "jwt encrypt: unfit: \(message)\n")
        )
    }

    @Test("Rejects secrets that fit no algorithm, and encrypted private keys")
    func refusedKeys() throws {
        try folder.write("short", to: "secret")
        let short = try shell("jwt encrypt -k secret --secret text file")
        let reason = "no accepted algorithm uses a secret of this size; most need 16, 24, 32, 48 or 64 bytes"
        #expect(short == ProcessResult(status: 2, output: "", errors: "jwt encrypt: secret: \(reason)\n"))
        try folder.write(KeyFixtures.encrypted, to: "encrypted.pem")
        let encrypted = try shell("jwt encrypt -k encrypted.pem file")
        let advice = "the private key is encrypted; pass its public part, which jwt key public prints"
        #expect(encrypted == ProcessResult(status: 2, output: "", errors: "jwt encrypt: encrypted.pem: \(advice)\n"))
    }

    @Test(
        "Exits with 64 and one line for an invalid command line",
        arguments: [
            (
                "file",
                "missing key; pass --key FILE, --key-env NAME, --jwks FILE|URL, --password-file FILE or --password"
            ),
            ("-k -", "only one of the keys, the password and the content can come from standard input"),
            ("-k a -k b --format json file", "several recipients need --format general"),
            ("-k a --aad x --format compact file", "--aad needs --format json or general"),
            (
                "-k a --alg PBES2-HS256+A128KW file",
                "--alg PBES2-HS256+A128KW needs --password-file, --password-env or --password"
            ),
            ("--password-file p --alg dir file", "--alg dir needs --key, --key-env or --jwks"),
            ("-k a --iterations 1000 file", "--iterations applies only to a password"),
            ("--password --iterations 999 file", "--iterations must be a number from 1000 to 10000000"),
            ("-k a --header enc=A256GCM file", "--header can't set enc; use --enc"),
            ("-k a --header zip=DEF file", "--header can't set zip; compressed content isn't supported"),
            ("-k a --sub x file", "the content is either CONTENT or the claims from options"),
            ("-k a --nested --sub x", "claims need --sign-key; without it, --nested encrypts a signed token"),
            ("-k a --sign-key b file", "--sign-key requires --nested"),
            ("-k a --nested --format json file", "--nested makes a JWT, which is always compact and for one recipient"),
            ("-k a -k b --kid c file", "--kid applies to one recipient; several JWKs state their own kid"),
            (
                "--password --password-file p file",
                "--password can't be combined with --password-file or --password-env"
            ),
        ]
    )
    func usageErrors(arguments: String, message: String) throws {
        #expect(
            try shell("jwt encrypt \(arguments)")
                == ProcessResult(status: 64, output: "", errors: "jwt encrypt: \(message) (see jwt encrypt --help)\n")
        )
    }

    @Test("Names RSA1_5 as the reason for rejecting it")
    func bleichenbacher() throws {
        let result = try shell("jwt encrypt -k a --alg RSA1_5 file")
        #expect(result.status == 64)
        #expect(result.errors.contains("RSA1_5 isn't supported, because its padding is broken"))
    }
}
