import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt keygen for encryption", .limitedConcurrency)
struct EncryptionKeygenTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func jwk(_ arguments: String...) throws -> JWK {
        let result = try BuiltProgram.jwt.run(["keygen", "--format", "jwk"] + arguments)
        #expect(result.status == 0 && result.errors == "")
        return try JWK(parsing: result.output)
    }

    @Test("Generates a key on each curve", arguments: ["P-256", "P-384", "P-521", "X25519", "X448"])
    func curves(name: String) throws {
        let jwk = try jwk("--use", "enc", "--curve", name)
        #expect(jwk.curve == name && jwk.use == "enc" && jwk.algorithm == "ECDH-ES+A256KW")
        #expect(try jwk.keyID == jwk.thumbprint)
        #expect(try DecryptionKey(jwk: jwk).encryptionKey.jwk.curve == name)
        let pem = try BuiltProgram.jwt.run("keygen", "--alg", "ECDH-ES", "--curve", name).output
        #expect(try DecryptionKey(pem: pem, algorithm: .ecdhES).encryptionKey.jwk.curve == name)
    }

    @Test(
        "Generates a secret with the size of each algorithm",
        arguments: [
            ("A128KW", nil, "A128KW", 16), ("A192KW", nil, "A192KW", 24), ("A256KW", nil, "A256KW", 32),
            ("A128GCMKW", nil, "A128GCMKW", 16), ("A192GCMKW", nil, "A192GCMKW", 24),
            ("A256GCMKW", nil, "A256GCMKW", 32), ("dir", nil, "A256GCM", 32), ("dir", "A128GCM", "A128GCM", 16),
            ("dir", "A192GCM", "A192GCM", 24), ("dir", "A128CBC-HS256", "A128CBC-HS256", 32),
            ("dir", "A192CBC-HS384", "A192CBC-HS384", 48), ("dir", "A256CBC-HS512", "A256CBC-HS512", 64),
        ] as [(String, String?, String, Int)]
    )
    func secrets(algorithm: String, encryption: String?, stated: String, size: Int) throws {
        let options = encryption.map { ["--enc", $0] } ?? []
        let result = try BuiltProgram.jwt.run(["keygen", "--alg", algorithm] + options)
        let jwk = try JWK(parsing: result.output)
        #expect(jwk.keyType == "oct" && jwk.use == "enc" && jwk.algorithm == stated)
        #expect(try Base64URL.decode(#require(jwk.members["k"]?.string)).count == size)
        #expect(try DecryptionKey(jwk: jwk).algorithm.rawValue == algorithm)
    }

    @Test("Generates RSA keys", arguments: ["RSA-OAEP", "RSA-OAEP-256", "RSA-OAEP-384", "RSA-OAEP-512"])
    func rsa(name: String) throws {
        let jwk = try jwk("--use", "enc", "--alg", name)
        #expect(jwk.keyType == "RSA" && jwk.use == "enc" && jwk.algorithm == name)
        #expect(try DecryptionKey(jwk: jwk).algorithm.rawValue == name)
    }

    @Test("Writes the public key for senders, and both keys as JSON")
    func publicKey() throws {
        let result = try BuiltProgram.shell(
            """
            jwt keygen --use enc --curve X448 --kid k --format jwk --out key.jwk --public-out public.jwk
            echo hello | jwt encrypt -k public.jwk | jwt decrypt -k key.jwk
            """,
            in: folder
        )
        #expect(result == .success("hello\n"))
        let jwk = try JWK(parsing: folder.text(of: "public.jwk"))
        #expect(!jwk.isPrivate && jwk.keyID == "k" && jwk.use == "enc" && jwk.algorithm == "ECDH-ES+A256KW")
        #expect(try folder.mode(of: "key.jwk") == 0o600)
        let report = try JSONObject(parsing: BuiltProgram.jwt.run("keygen", "--use", "enc", "--json").output)
        #expect(report.map(\.name).sorted() == ["kid", "privateKey", "publicKey", "thumbprint"])
    }

    @Test("Encrypts the private key with a password")
    func password() throws {
        try folder.write("secret", to: "password")
        let script = "jwt keygen --use enc --curve X25519 --password-file password"
        let pem = try BuiltProgram.shell(script, in: folder).output
        #expect(try DecryptionKey(pem: pem, password: "secret", algorithm: .ecdhES).encryptionKey.jwk.curve == "X25519")
    }

    @Test("States the use of a key for signatures if asked")
    func signatures() throws {
        let jwk = try jwk("--use", "sig", "--alg", "ES256")
        #expect(jwk.use == "sig" && jwk.algorithm == "ES256")
    }
}

@Suite("jwt key with keys for encryption", .limitedConcurrency)
struct EncryptionKeyCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func shell(_ script: String) throws -> ProcessResult {
        try BuiltProgram.shell(script, in: folder)
    }

    @Test("Converts keys for encryption, and writes their public part", arguments: ["P-256", "X25519", "X448"])
    func convert(curve: String) throws {
        let result = try shell(
            """
            jwt keygen --use enc --curve \(curve) --format jwk --out key.jwk --public-out public.jwk
            jwt key public key.jwk --to jwk | cmp - public.jwk
            jwt key convert key.jwk --out key.pem && jwt key public key.pem --out public.pem
            jwt key public public.jwk | cmp - public.pem
            echo hello | jwt encrypt -k public.pem | jwt decrypt -k key.pem
            """
        )
        #expect(result == .success("hello\n"))
    }

    @Test("Describes keys for encryption")
    func inspect() throws {
        let result = try shell(
            """
            jwt keygen --use enc --curve X25519 --kid k --format jwk --out key.jwk; jwt key inspect key.jwk --json
            jwt keygen --alg dir | jwt key inspect - --json
            """
        )
        let reports = try result.output.split(separator: "\n").map { try JSONObject(parsing: String($0)) }
        try #require(reports.count == 2)
        #expect(reports[0]["part"] == "private" && reports[0]["curve"] == "X25519" && reports[0]["use"] == "enc")
        #expect(reports[0]["algorithm"] == "ECDH-ES+A256KW" && reports[0]["kid"] == "k")
        #expect(try reports[0]["thumbprint"] == .string(JWK(parsing: folder.text(of: "key.jwk")).thumbprint))
        #expect(reports[1]["part"] == "secret" && reports[1]["algorithm"] == "A256GCM")
        #expect(reports[1]["thumbprint"] == nil)
    }

    @Test("Adds keys for encryption to a set and lists them as usable")
    func keySet() throws {
        let result = try shell(
            """
            jwt keygen --use enc --curve X25519 --kid a --format jwk --out key.jwk
            jwt keygen --use enc --curve X25519 --out key.pem
            jwt key jwks add keys.jwks key.jwk && jwt key jwks add keys.jwks key.pem --kid b
            jwt key jwks list keys.jwks; echo hello | jwt encrypt --jwks keys.jwks --kid a | jwt decrypt -k key.jwk
            """
        )
        #expect(result.status == 0 && result.errors == "")
        let lines = result.output.split(separator: "\n")
        #expect(lines.prefix(2) == ["a", "b"] && lines.last == "hello")
        #expect(!result.output.contains("not usable"))
        let set = try JWKSet(parsing: folder.text(of: "keys.jwks"))
        #expect(set.keys.allSatisfy { !$0.isPrivate && $0.use == "enc" })
        #expect(set.keys.map(\.algorithm) == ["ECDH-ES+A256KW", nil])
    }
}
