import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Key files of jwt sign and jwt verify", .limitedConcurrency)
struct KeyFileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Expects that both commands reject the key file with exit code 2 and the message.
    private func expectRefusal(of name: String, _ message: String) throws {
        let path = folder.file(name)
        let token = try SampleTokens.es256Token()
        for (command, arguments) in [("sign", []), ("verify", [token])] {
            let result = try BuiltProgram.jwt.run([command, "--key", path] + arguments)
            #expect(result == ProcessResult(status: 2, output: "", errors: "jwt \(command): \(path): \(message)\n"))
        }
    }

    @Test("Names a missing file and a folder with the reason")
    func unreadable() throws {
        try expectRefusal(of: "missing", "can't be read: No such file or directory")
        try FileManager.default.createDirectory(atPath: folder.file("folder"), withIntermediateDirectories: false)
        try expectRefusal(of: "folder", "can't be read: Is a directory")
    }

    @Test("Names a file without a key, with the reason")
    func noKey() throws {
        try folder.write("", to: "empty")
        try expectRefusal(of: "empty", "the key is empty")
        try folder.write(" \n", to: "blank")
        try expectRefusal(of: "blank", "the key is empty")
        try folder.write("secret", to: "text")
        try expectRefusal(of: "text", "not a key in PEM, DER or JWK form")
        try folder.write("{\"kid\":\"secret\"}", to: "other.json")
        try expectRefusal(of: "other.json", "the JWK has no “kty”, the key type")
        try folder.write(String(repeating: " ", count: 1 << 20) + "{}", to: "large")
        try expectRefusal(of: "large", "larger than 1 MiB")
    }

    @Test("Signs and verifies with keys in DER, and rejects other binary files")
    func der() throws {
        let key = try SigningKey(pem: KeyFixtures.pkcs8)
        let (privatePath, publicPath) = (folder.file("key.der"), folder.file("public.der"))
        try key.der().write(to: URL(filePath: privatePath))
        try key.verificationKey.der().write(to: URL(filePath: publicPath))
        let signed = try BuiltProgram.jwt.run("sign", "-k", privatePath, "--expires-in", "1h")
        #expect(signed.status == 0)
        let token = signed.output.trimmingCharacters(in: .newlines)
        for path in [privatePath, publicPath] {
            #expect(try BuiltProgram.jwt.run("verify", "-k", path, token).status == 0)
        }
        let reversed = try BuiltProgram.jwt.run("sign", "-k", publicPath)
        #expect(reversed.status == 2)
        #expect(reversed.errors.contains("this is a public key"))
        try Data([0x30, 0x03, 0xFF, 0xFE, 0xFD]).write(to: URL(filePath: folder.file("broken.der")))
        let broken = try BuiltProgram.jwt.run("sign", "-k", folder.file("broken.der"))
        #expect(broken.status == 2)
        #expect(broken.errors.hasPrefix("jwt sign: \(folder.file("broken.der")): "))
        try Data([0xFF, 0xFE]).write(to: URL(filePath: folder.file("binary")))
        try expectRefusal(of: "binary", "not a key in PEM, DER or JWK form")
    }

    @Test(
        "Rejects malformed keys in one line that names the file",
        arguments: [
            "{", "{\"kty\":\"EC\"}", "{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}", "{\"keys\":5}",
            "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n",
            "-----BEGIN EC PRIVATE KEY-----\nc2VjcmV0\n-----END EC PRIVATE KEY-----\n",
            "-----BEGIN PUBLIC KEY-----\nc2VjcmV0\n-----END PUBLIC KEY-----\n", "-----BEGIN secret-----\n",
        ]
    )
    func broken(text: String) throws {
        let path = try folder.write(text, to: "key")
        for (command, arguments) in [("sign", []), ("verify", [try SampleTokens.es256Token()])] {
            let result = try BuiltProgram.jwt.run([command, "--key", path] + arguments)
            #expect(result.status == 2)
            #expect(result.output == "")
            #expect(result.errors.hasPrefix("jwt \(command): \(path): "))
            #expect(result.errors.filter { $0 == "\n" }.count == 1)
            #expect(!result.errors.contains("c2VjcmV0"))
        }
    }

    @Test("Rejects mismatched private and public parts for signing, and ignores the private part for verifying")
    func mismatchedPair() throws {
        let scalar = String(repeating: "A", count: 42) + "E"
        try folder.write(try SampleTokens.es256JWK(["d": scalar]), to: "mixed.jwk")
        let path = folder.file("mixed.jwk")
        let signing = try BuiltProgram.jwt.run(["sign", "--key", path])
        #expect(signing.status == 2)
        #expect(signing.output == "")
        #expect(signing.errors.hasPrefix("jwt sign: \(path): "))
        let verifying = try BuiltProgram.jwt.run(["verify", "--key", path, try SampleTokens.es256Token()])
        // The signature is valid, but the token is old.
        #expect(verifying.status == 1)
        #expect(verifying.errors.contains("the token expired"))
        for result in [signing, verifying] { #expect(!result.errors.contains(scalar)) }
    }

    @Test("Rejects keys that can't sign")
    func publicKeys() throws {
        let script = "jwt keygen --alg ES256 --out key --public-out public && cat public"
        #expect(try BuiltProgram.shell(script, in: folder).status == 0)
        let publicJWK = try SampleTokens.es256JWK(without: "d")
        let cases = [
            (folder.file("public"), "this is a public key; use the private key that belongs to it"),
            (
                try folder.write(publicJWK, to: "public.jwk"),
                "the JWK is a public key; use the private key that belongs to it"
            ),
            (
                try folder.write("{\"keys\":[\(publicJWK)]}", to: "set.jwks"),
                "contains a JWK Set, but signing needs a single key"
            ),
        ]
        for (path, message) in cases {
            let result = try BuiltProgram.jwt.run("sign", "--key", path)
            #expect(result == ProcessResult(status: 2, output: "", errors: "jwt sign: \(path): \(message)\n"))
        }
    }

    @Test("Explains missing algorithms and passwords")
    func otherKinds() throws {
        try folder.write(KeyFixtures.rsa, to: "rsa")
        try folder.write(KeyFixtures.encrypted, to: "encrypted")
        try expectRefusal(
            of: "rsa",
            "a key of kty “RSA” can be used with RS256, RS384, RS512, PS256, PS384, PS512; name the algorithm "
                + "with --alg"
        )
        try expectRefusal(
            of: "encrypted",
            "The private key in line 1 is encrypted: a password is needed; pass it with --password-file FILE or "
                + "--password-env NAME"
        )
    }
}
