import Foundation
import Testing
import TokenGeneration

/// `jwt key`, `jwt keygen` and `jwt sign` with every algorithm, in both directions.
@Suite("Interoperability: keys of the jwt command", .enabled(if: Interop.isPrepared, Interop.hint))
struct KeyCommandInteropTests {
    private static let claims: JSONObject = ["sub": "Ünï 😀", "exp": 4_102_444_800, "list": [1, nil, true]]

    private static var cases: [(Peer, JWSAlgorithm)] { AlgorithmInteropTests.cases }

    @Test("The peer signs with keys of jwt keygen in every format of jwt key convert", arguments: cases)
    func ours(peer: Peer, algorithm: JWSAlgorithm) async throws {
        let folder = try PrivateFolder()
        let name = algorithm.rawValue
        let key = folder.path("key")
        _ = try await CommandRun.output(["keygen", "--alg", name, "--format", "jwk", "--out", key])
        var forms: [JSONValue] = []
        for form in algorithm.isSymmetric ? ["jwk"] : ["jwk", "pem", "der"] {
            forms.append(try await converted(key, to: form, folder.path("form-" + form)))
        }
        if algorithm.hasTraditionalFormat {
            forms.append(try await converted(key, to: "traditional", folder.path("form-traditional")))
        }
        let made = try await peer.askAlgorithm(
            forms.map { ["do": "make", "alg": .string(name), "key": $0, "claims": .object(Self.claims)] }
        )
        for answer in made {
            let token = try #require(answer["token"]?.string)
            let claims = try await CommandRun.output(["verify", "--key", key, "--alg", name], input: token)
            #expect(try JSONObject(parsing: claims) == Self.claims)
        }
        let token = try await CommandRun.text(
            ["sign", "--key", key, "--claims", "-"],
            input: Self.claims.serialized()
        )
        let publicKey: JSONValue =
            algorithm.isSymmetric
            ? forms[0]
            : ["jwk": .object(try JSONObject(parsing: await CommandRun.text(["key", "public", key, "--to", "jwk"])))]
        let verdict = try await peer.askAlgorithm([
            ["do": "check", "alg": .string(name), "token": .string(token), "key": publicKey]
        ])
        #expect(verdict.first?["accepted"] == true, "\(verdict.first?["reason"]?.string ?? "")")
        #expect(verdict.first?["claims"]?.object == Self.claims)
    }

    @Test(
        "Converts every key format of the peer without loss, and signs tokens for the peer",
        arguments: cases
    )
    func theirs(peer: Peer, algorithm: JWSAlgorithm) async throws {
        let name = algorithm.rawValue
        let forms = try #require(await peer.askAlgorithm([["do": "forms", "alg": .string(name)]]).first)
        let privateForms = try #require(forms["private"]?.object)
        let publicForm = try #require(forms["public"]?.object?["jwk"])
        let folder = try PrivateFolder()
        let password = try folder.write(Data("correct horse\n".utf8), to: "password")
        var thumbprints: Set<String> = []
        var tokens: [String] = []
        for (index, form) in privateForms.map(\.value).enumerated() {
            let file = try folder.write(try Self.octets(form), to: "key\(index)")
            let isEncrypted = try String(decoding: Self.octets(form), as: UTF8.self).contains("ENCRYPTED")
            let isDER = try Self.isDER(form)
            let options = isEncrypted || isDER ? ["--password-file", password] : []
            let jwk = try await CommandRun.text(["key", "convert", file, "--to", "jwk", "--alg", name] + options)
            let members = try JSONObject(parsing: jwk)
            #expect(members["alg"] == .string(name))
            if !algorithm.isSymmetric {
                thumbprints.insert(try await CommandRun.text(["key", "thumbprint", "-"], input: jwk))
            }
            tokens.append(
                try await CommandRun.text(["sign", "--key", "-", "--sub", "ada", "--expires-in", "1h"], input: jwk)
            )
        }
        #expect(thumbprints.count == (algorithm.isSymmetric ? 0 : 1))
        let verdicts = try await peer.askAlgorithm(
            tokens.map { ["do": "check", "alg": .string(name), "token": .string($0), "key": publicForm] }
        )
        for verdict in verdicts { #expect(verdict["accepted"] == true, "\(verdict["reason"]?.string ?? "")") }
    }

    @Test("Computes the same thumbprints as the libraries", arguments: [Peer.joserfc, .jwcrypto])
    func thumbprint(peer: Peer) async throws {
        let key = try await CommandRun.output(["keygen", "--alg", "ES256"])
        let theirs = try await peer.describe(.pem(key))["thumbprint"]?.string
        #expect(try await CommandRun.text(["key", "thumbprint", "-"], input: key) == theirs)
    }

    @Test("The peer verifies with the command's JWK Set")
    func keySet() async throws {
        let folder = try PrivateFolder()
        let key = folder.path("key.pem")
        _ = try await CommandRun.output(["keygen", "--alg", "ES256", "--out", key])
        _ = try await CommandRun.output(["key", "jwks", "add", folder.path("keys.jwks"), key, "--kid", "1"])
        let set = try JSONObject(parsing: Data(contentsOf: URL(filePath: folder.path("keys.jwks"))))
        let jwk = try #require(set["keys"]?.array?.first)
        let token = try await CommandRun.text(["sign", "--key", key, "--kid", "1", "--expires-in", "1h"])
        for peer in Peer.libraries {
            let verdict = try await peer.check(token, key: ["jwk": jwk])
            #expect(verdict.isAccepted, "\(peer): \(verdict.reason)")
        }
    }

    private func converted(_ key: String, to form: String, _ place: String) async throws -> JSONValue {
        _ = try await CommandRun.output(["key", "convert", key, "--to", form, "--out", place])
        let data = try Data(contentsOf: URL(filePath: place))
        switch form {
        case "jwk": return ["jwk": .object(try JSONObject(parsing: data))]
        case "der": return ["der": .string(data.base64EncodedString())]
        default: return .pem(String(decoding: data, as: UTF8.self))
        }
    }

    private static func isDER(_ form: JSONValue) throws -> Bool { try #require(form.object)["der"] != nil }

    /// Returns the contents of a key file.
    private static func octets(_ form: JSONValue) throws -> Data {
        let form = try #require(form.object)
        if let jwk = form["jwk"]?.object { return jwk.serializedData() }
        if let pem = form["pem"]?.string { return Data(pem.utf8) }
        return try #require(form["der"]?.string.flatMap { Data(base64Encoded: $0) })
    }
}

extension Peer {
    /// Calls the program for all algorithms.
    fileprivate func askAlgorithm(_ requests: [JSONObject]) async throws -> [JSONObject] {
        let process = try await ChildProcess.run(
            Interop.required("INTEROP_PYTHON"),
            [Interop.file("algorithm_peer.py"), rawValue],
            input: requests.map { $0.serialized() + "\n" }.joined()
        )
        try #require(process.status == 0, "\(rawValue) failed: \(process.errors.suffix(2000))")
        let answers = try process.output.split(separator: "\n").map { try JSONObject(parsing: String($0)) }
        try #require(answers.count == requests.count)
        return answers
    }
}

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
