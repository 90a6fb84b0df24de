import Foundation
import Testing
import TokenGeneration

/// Exchanges encrypted tokens with the `jose` command (José, packaged by Debian), for every
/// algorithm that it has.
@Suite("Interoperability: jose", .enabled(if: Interop.isPrepared, Interop.hint))
struct JoseCommandInteropTests {
    /// The algorithms of the packaged version, which doesn't have RSA-OAEP.
    private static let algorithms = JWEAlgorithm.implemented.filter { !$0.rawValue.hasPrefix("RSA") }
    private static let password = "correct horse"

    private let folder: PrivateFolder

    init() throws {
        folder = try PrivateFolder()
        try folder.write(Data("Ünï 😀\n".utf8), to: "content")
    }

    private func jose(_ arguments: [String]) async throws -> String {
        let run = try await ChildProcess.run(Interop.required("INTEROP_JOSE"), arguments)
        try #require(run.status == 0, "jose \(arguments.prefix(2).joined(separator: " ")): \(run.errors)")
        return run.output
    }

    @Test("Has every algorithm but RSA-OAEP, so the other tests are complete")
    func list() async throws {
        let names = try await jose(["alg"]).split(separator: "\n").map(String.init)
        #expect(JWEAlgorithm.implemented.filter { names.contains($0.rawValue) } == Self.algorithms)
        #expect(JWEEncryption.implemented.allSatisfy { names.contains($0.rawValue) })
    }

    @Test("Exchanges tokens in both directions and forms, with every content encryption", arguments: algorithms)
    func exchange(algorithm: JWEAlgorithm) async throws {
        let usesPassword = algorithm.rawValue.hasPrefix("PBES2")
        for encryption in JWEEncryption.implemented {
            for curve in algorithm.rawValue.hasPrefix("ECDH") ? ["P-256", "P-384", "P-521"] : ["P-256"] {
                let key = try usesPassword ? writePassword() : await generate(algorithm, encryption, curve)
                try await encrypt(algorithm, encryption, key)
                try await decrypt(algorithm, encryption, key)
            }
        }
    }

    /// The options for a key or a password.
    private struct Key {
        var jose: String
        var options: [String]
    }

    private func writePassword() throws -> Key {
        try folder.write(Data(Self.password.utf8), to: "password")
        // jose reads a password from the terminal, or as a JWK.
        let secret = Data(Self.password.utf8).base64EncodedString().replacing("=", with: "")
        let jwk = #"{"kty":"oct","k":"\#(secret)"}"#
        return Key(
            jose: try folder.write(Data(jwk.utf8), to: "password.jwk"),
            options: ["--password-file", folder.path("password")]
        )
    }

    private func generate(_ algorithm: JWEAlgorithm, _ encryption: JWEEncryption, _ curve: String) async throws -> Key {
        var options = ["keygen", "--alg", algorithm.rawValue, "--format", "jwk"]
        if algorithm == .dir { options += ["--enc", encryption.rawValue] }
        if algorithm.rawValue.hasPrefix("ECDH") { options += ["--curve", curve] }
        let path = try folder.write(Data(await CommandRun.output(options).utf8), to: "key.jwk")
        return Key(jose: path, options: ["--key", path])
    }

    /// Encrypts with `jwt encrypt` and decrypts with `jose`.
    private func encrypt(_ algorithm: JWEAlgorithm, _ encryption: JWEEncryption, _ key: Key) async throws {
        // jose rejects the recommended number of iterations.
        let iterations = algorithm.rawValue.hasPrefix("PBES2") ? ["--iterations", "2000"] : []
        for form in ["compact", "json", "general"] {
            let token = try await CommandRun.text(
                ["encrypt", "--alg", algorithm.rawValue, "--enc", encryption.rawValue, "--format", form]
                    + key.options + iterations + [folder.path("content")]
            )
            // It also rejects a line break after a compact token.
            let path = try folder.write(Data(token.utf8), to: "jwe")
            let content = try await jose(["jwe", "dec", "-i", path, "-k", key.jose])
            #expect(content == "Ünï 😀\n", "\(algorithm) \(encryption) \(form)")
        }
    }

    /// Encrypts with `jose` and decrypts with `jwt decrypt`.
    private func decrypt(_ algorithm: JWEAlgorithm, _ encryption: JWEEncryption, _ key: Key) async throws {
        let template = #"{"protected":{"alg":"\#(algorithm)","enc":"\#(encryption)"}}"#
        for form in [["-c"], []] {
            let token = try await jose(
                ["jwe", "enc", "-i", template, "-I", folder.path("content"), "-k", key.jose] + form
            )
            let content = try await CommandRun.output(
                ["decrypt", "--alg", algorithm.rawValue, "--enc", encryption.rawValue] + key.options,
                input: token
            )
            #expect(content == "Ünï 😀\n", "\(algorithm) \(encryption) \(form)")
        }
    }

    @Test(
        "Uses keys that jose generates",
        arguments: ["A128KW", "A256GCMKW", "ECDH-ES", "ECDH-ES+A256KW", "A256GCM", "A128CBC-HS256"]
    )
    func generatedKey(name: String) async throws {
        let jwk = try await jose(["jwk", "gen", "-i", #"{"alg":"\#(name)"}"#])
        let path = try folder.write(Data(jwk.utf8), to: "key.jwk")
        let ours = try await CommandRun.text(["encrypt", "-k", path, folder.path("content")])
        let file = try folder.write(Data(ours.utf8), to: "jwe")
        #expect(try await jose(["jwe", "dec", "-i", file, "-k", path]) == "Ünï 😀\n")
        let theirs = try await jose(["jwe", "enc", "-i", "{}", "-I", folder.path("content"), "-k", path])
        #expect(try await CommandRun.output(["decrypt", "-k", path], input: theirs) == "Ünï 😀\n")
    }
}
