import Foundation
import Testing

@Suite("Key files of jwt sign and jwt verify")
struct KeyFileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Both commands refuse the key file as a runtime failure with this message.
    private func expectRefusal(of name: String, _ message: String) throws {
        let path = folder.file(name)
        let token = try SampleTokens.es256Token()
        for (command, arguments) in [("sign", []), ("verify", [token])] {
            let result = try BuiltProgram.jwt.run([command, "--key", path] + arguments)
            #expect(result == ProcessResult(status: 2, output: "", errors: "jwt \(command): \(path): \(message)\n"))
        }
    }

    @Test("a file that is missing or a folder is named with the reason")
    func unreadable() throws {
        try expectRefusal(of: "missing", "cannot be read: No such file or directory")
        try FileManager.default.createDirectory(atPath: folder.file("folder"), withIntermediateDirectories: false)
        try expectRefusal(of: "folder", "cannot be read: Is a directory")
    }

    @Test("a file that holds no key is named with what is wrong")
    func noKey() throws {
        try folder.write("", to: "empty")
        try expectRefusal(of: "empty", "empty, so there is no key in it")
        try folder.write(" \n", to: "blank")
        try expectRefusal(of: "blank", "empty, so there is no key in it")
        try folder.write("secret", to: "text")
        try expectRefusal(of: "text", "neither PEM nor JWK")
        try folder.write("{\"kid\":\"secret\"}", to: "other.json")
        try expectRefusal(of: "other.json", "the JWK has no “kty”, which says what kind of key it is")
        try folder.write(String(repeating: " ", count: 1 << 20) + "{}", to: "large")
        try expectRefusal(of: "large", "larger than 1 MiB")
    }

    @Test("DER is recognized, with the way out")
    func der() throws {
        let base64 = KeyFixtures.pkcs8.split(separator: "\n").dropFirst().dropLast().joined()
        let der = try #require(Data(base64Encoded: base64))
        let path = try folder.write("", to: "key.der")
        try der.write(to: URL(filePath: path))
        try expectRefusal(
            of: "key.der",
            "neither PEM nor JWK; DER becomes PEM with: openssl pkey -inform DER -in FILE"
        )
    }

    @Test(
        "broken keys are refused by both commands in one line that names the file",
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

    @Test("a private and a public part that do not belong together are refused")
    func mismatchedPair() throws {
        let scalar = String(repeating: "A", count: 42) + "E"
        try folder.write(try SampleTokens.es256JWK(["d": scalar]), to: "mixed.jwk")
        let path = folder.file("mixed.jwk")
        for (command, arguments) in [("sign", []), ("verify", [try SampleTokens.es256Token()])] {
            let result = try BuiltProgram.jwt.run([command, "--key", path] + arguments)
            #expect(result.status == 2)
            #expect(result.output == "")
            #expect(result.errors.hasPrefix("jwt \(command): \(path): "))
            #expect(!result.errors.contains(scalar))
        }
    }

    @Test("keys that cannot sign are refused for signing")
    func publicKeys() throws {
        let script = "jwt keygen --alg ES256 --out key --public-out public && cat public"
        #expect(try BuiltProgram.shell(script, in: folder).status == 0)
        let publicJWK = try SampleTokens.es256JWK(without: "d")
        let cases = [
            (folder.file("public"), "the PEM has a public key: give the private key that belongs to it"),
            (
                try folder.write(publicJWK, to: "public.jwk"),
                "the JWK has a public key: give the private key that belongs to it"
            ),
            (
                try folder.write("{\"keys\":[\(publicJWK)]}", to: "set.jwks"),
                "a JWK Set; signing needs a single key"
            ),
        ]
        for (path, message) in cases {
            let result = try BuiltProgram.jwt.run("sign", "--key", path)
            #expect(result == ProcessResult(status: 2, output: "", errors: "jwt sign: \(path): \(message)\n"))
        }
    }

    @Test("keys of other kinds, and encrypted ones, are refused with the reason")
    func otherKinds() throws {
        try folder.write(KeyFixtures.rsa, to: "rsa")
        try folder.write(KeyFixtures.encrypted, to: "encrypted")
        try expectRefusal(of: "rsa", "An EC key is needed, and the algorithm of this one is RSA")
        try expectRefusal(
            of: "encrypted",
            "The private key in line 1 is encrypted: a password is needed; to decrypt it: openssl pkey -in FILE"
        )
    }
}
