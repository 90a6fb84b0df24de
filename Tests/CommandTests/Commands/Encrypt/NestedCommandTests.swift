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

    @Test("Signs, encrypts, decrypts and verifies claims")
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
        #expect(result == ProcessResult(status: 0, output: "", errors: ""))
        #expect(try JSONObject(parsing: folder.text(of: "verified"))["sub"] == "alice")
        #expect(try folder.mode(of: "verified") == 0o600)
    }

    @Test("Encrypts a token that is already signed, and rejects other text")
    func signedToken() throws {
        let script = "jwt encrypt -k public.pem --nested"
        let result = try shell(
            "jwt sign -k sign.pem --sub x --expires-in 1h | \(script) | jwt decrypt -k key.pem --nested --verify-key verify.pem"
        )
        #expect(result.status == 0 && result.output.contains(#""sub": "x""#))
        let refused = try shell("echo a.b | \(script)")
        #expect(refused.status == 2 && refused.output == "")
        #expect(refused.errors.hasPrefix("jwt encrypt: standard input: a signed token has 3 segments, not 2"))
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
