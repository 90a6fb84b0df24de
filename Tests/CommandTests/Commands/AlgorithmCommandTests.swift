import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Algorithms of the jwt command", .limitedConcurrency)
struct AlgorithmCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("Signs with a key for each algorithm and verifies with its public part", arguments: JWSAlgorithm.implemented)
    func everyAlgorithm(algorithm: JWSAlgorithm) throws {
        let files = algorithm.isSymmetric ? "--out key" : "--format jwk --out key --public-out public"
        let script = """
            jwt keygen --alg \(algorithm) \(files) && jwt sign -k key --sub alice --expires-in 1h > token && \
            jwt verify -k key < token && jwt verify -k \(algorithm.isSymmetric ? "key" : "public") < token | grep -q alice
            """
        let result = try BuiltProgram.shell(script, in: folder)
        #expect(result.status == 0)
        #expect(result.errors == "")
        #expect(try SampleTokens.header(of: folder.text(of: "token")).contains("\"alg\":\"\(algorithm)\""))
    }

    @Test(
        "Uses an RSA key in PEM only with the algorithm in --alg",
        arguments: ["RS256", "PS512"]
    )
    func named(algorithm: String) throws {
        let script = """
            jwt keygen --alg \(algorithm) --out key --public-out public && \
            jwt sign -k key --alg \(algorithm) --expires-in 1h > token && jwt verify -k public --alg \(algorithm) < token
            """
        #expect(try BuiltProgram.shell(script, in: folder).status == 0)
        let other = try BuiltProgram.shell("jwt verify -k public --alg RS384 < token", in: folder)
        #expect(other.status == 1)
        #expect(other.errors == "jwt verify: “alg” of the header is “\(algorithm)”, but the key is for RS384\n")
        let unnamed = try BuiltProgram.shell("jwt verify -k public < token", in: folder)
        #expect(unnamed.status == 2)
        #expect(unnamed.errors.hasSuffix("name the algorithm with --alg\n"))
        let wrong = try BuiltProgram.shell("jwt sign -k key --alg ES256", in: folder)
        #expect(wrong.status == 2)
        #expect(wrong.errors.contains("ES256 can't use a key"))
    }

    @Test("Uses --alg for a key set whose keys don't state an algorithm")
    func namedForSet() throws {
        let key = try SigningKey.generate(.ps256)
        var jwk = key.verificationKey.jwk
        jwk.members["alg"] = nil
        try folder.write(JWKSet(keys: [jwk]).serialized(), to: "set")
        try folder.write(key.pem(), to: "key")
        #expect(try BuiltProgram.shell("jwt sign -k key --alg PS256 --expires-in 1h > token", in: folder).status == 0)
        #expect(try BuiltProgram.shell("jwt verify -k set --alg PS256 < token", in: folder).status == 0)
        #expect(try BuiltProgram.shell("jwt verify -k set < token", in: folder).status == 1)
    }

    @Test("Verifies with the public key of a certificate")
    func certificate() throws {
        try folder.write(KeyFixtures.certificate, to: "certificate.pem")
        let result = try BuiltProgram.jwt.run(
            "verify",
            "-k",
            folder.file("certificate.pem"),
            try SampleTokens.es256Token()
        )
        #expect(result.status == 1)
        #expect(result.errors == "jwt verify: the signature doesn't verify with this key\n")
    }

    @Test("Requires --key for HMAC, and generates a key for the algorithm in --alg")
    func withoutKey() throws {
        let secret = try BuiltProgram.jwt.run("sign", "--alg", "HS256")
        #expect(secret.status == 64)
        #expect(secret.errors.hasPrefix("jwt sign: --alg HS256 needs --key"))
        let made = try BuiltProgram.jwt.run("sign", "--alg", "Ed25519", "--expires-in", "1h")
        #expect(made.status == 0)
        #expect(try VerificationKey(jwk: JWK(parsing: made.errors)).algorithm == .ed25519)
    }

    @Test("Rejects a secret that is too short, with the reason")
    func refused() throws {
        try folder.write(#"{"kty":"oct","alg":"HS256","k":"c2VjcmV0"}"#, to: "short")
        let short = try BuiltProgram.jwt.run("sign", "-k", folder.file("short"))
        #expect(short.status == 2)
        #expect(short.errors.contains("the secret has 6 bytes, but HS256 needs at least 32"))
        #expect(!short.errors.contains("c2VjcmV0"))
    }
}
