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
