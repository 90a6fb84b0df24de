import Foundation
import TestSupport
import Testing
import TokenGeneration

/// The `jwt` command that the script has built.
enum CommandRun {
    /// Returns the command's standard output if it succeeds.
    static func output(_ arguments: [String], input: String = "") async throws -> String {
        let run = try await ChildProcess.run(Interop.required("JWT_UNDER_TEST"), arguments, input: input)
        try #require(run.status == 0, "jwt \(arguments.prefix(2).joined(separator: " ")): \(run.errors)")
        return run.output
    }

    /// Returns the output without surrounding white space.
    static func text(_ arguments: [String], input: String = "") async throws -> String {
        try await output(arguments, input: input).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

/// Runs a test with a folder that only its owner can read.
final class PrivateFolder {
    private let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "interop-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func path(_ name: String) -> String { url.appending(path: name).path }

    @discardableResult
    func write(_ data: Data, to name: String) throws -> String {
        try data.write(to: URL(filePath: path(name)))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path(name))
        return path(name)
    }
}

@Suite("Interoperability: the jwt command", .enabled(if: Interop.isPrepared, Interop.hint))
struct CommandInteropTests {
    @Test("The peer signs with the command's keys and verifies its tokens", arguments: Peer.allCases)
    func keygenAndSign(peer: Peer) async throws {
        let privateKey = try await CommandRun.output(["keygen", "--alg", "ES256"])
        let spki = try #require(try await peer.describe(.pem(privateKey))["spki"]?.string)
        let token = try await CommandRun.output(
            ["sign", "--key", "-", "--kid", "key-1", "--sub", "alice", "--aud", "api", "--claim", "roles=[1,\"ü\"]"]
                + ["--expires-in", "5m"],
            input: privateKey
        )
        let verdict = try await peer.check(Self.trimmed(token), key: .pem(spki))
        #expect(verdict.isAccepted, "\(verdict.reason)")
        #expect(verdict.header?["kid"] == "key-1")
        #expect(verdict.claims?["sub"] == "alice")
        #expect(verdict.claims?["aud"] == "api")
        #expect(verdict.claims?["roles"] == [1, "ü"])

        let theirs = try await peer.make(
            key: .pem(privateKey),
            header: ["kid": "key-2"],
            claims: ["sub": "bob", "aud": ["api", "other"], "exp": 4_102_444_800]
        )
        let key = try temporaryFile(spki)
        defer { try? FileManager.default.removeItem(atPath: key) }
        let claims = try await CommandRun.output(["verify", "--key", key, "--aud", "api"], input: theirs)
        #expect(try JSONObject(parsing: claims) == ["sub": "bob", "aud": ["api", "other"], "exp": 4_102_444_800])
        let view = try await CommandRun.output(["decode"], input: theirs)
        #expect(view.contains("bob"))
    }

    @Test("The command signs with the peer's private JWK, and the peer verifies the token", arguments: Peer.libraries)
    func theirJWK(peer: Peer) async throws {
        let made = try await peer.generate()
        let jwk = try #require(made["privateJWK"]?.object)
        let token = try await CommandRun.output(["sign", "--key", "-", "--expires-in", "1h"], input: jwk.serialized())
        let verdict = try await peer.check(Self.trimmed(token), key: ["jwk": try #require(made["publicJWK"])])
        #expect(verdict.isAccepted, "\(verdict.reason)")
    }

    @Test("The peer signs with the command's private JWK, and the command verifies", arguments: Peer.libraries)
    func ourJWK(peer: Peer) async throws {
        let jwk = try await CommandRun.output(["keygen", "--alg", "ES256", "--format", "jwk"])
        let token = try await peer.make(
            key: ["jwk": .object(try JSONObject(parsing: Self.trimmed(jwk)))],
            header: [:],
            claims: ["sub": "bob", "exp": 4_102_444_800]
        )
        let claims = try await CommandRun.output(["verify", "--key", "-", token], input: jwk)
        #expect(try JSONObject(parsing: claims)["sub"] == "bob")
    }

    @Test("Rejects a token signed with another key with status 1 and no output")
    func rejected() async throws {
        let key = try await CommandRun.output(["keygen", "--alg", "ES256"])
        let other = try await CommandRun.output(["keygen", "--alg", "ES256"])
        let token = try await Peer.pyJWT.make(key: .pem(other), header: [:], claims: ["exp": 4_102_444_800])
        let run = try await ChildProcess.run(
            Interop.required("JWT_UNDER_TEST"),
            ["verify", "--key", "-", token],
            input: key
        )
        #expect(run.status == 1)
        #expect(run.output.isEmpty)
        #expect(run.errors.split(separator: "\n").count == 1)
    }

    private func temporaryFile(_ text: String) throws -> String {
        let file = FileManager.default.temporaryDirectory.appending(path: "interop-\(UUID().uuidString).pem")
        try Data(text.utf8).write(to: file)
        return file.path
    }

    private static func trimmed(_ text: String) -> String {
        text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

@Suite("Shell completions", .enabled(if: Interop.isPrepared, Interop.hint))
struct CompletionInteropTests {
    @Test("zsh and fish parse their scripts without errors", arguments: [("zsh", "-n"), ("fish", "--no-execute")])
    func syntax(shell: String, option: String) async throws {
        let folder = try PrivateFolder()
        let script = try await CommandRun.output(["completions", shell])
        let file = try folder.write(Data(script.utf8), to: "completions")
        let run = try await ChildProcess.run(Interop.required("INTEROP_" + shell.uppercased()), [option, file])
        #expect(run.status == 0)
        #expect(run.errors == "" && run.output == "")
    }

    @Test(
        "fish completes commands, options and choices",
        arguments: [
            ("jwt key j", ["jwks"]), ("jwt sign --key-e", ["--key-env"]), ("jwt sign --alg ES25", ["ES256", "ES256K"]),
            ("jwt tok", ["token"]), ("jwt token --gra", ["--grant"]),
        ]
    )
    func fish(line: String, expected: [String]) async throws {
        let folder = try PrivateFolder()
        let script = try await CommandRun.output(["completions", "fish"])
        let file = try folder.write(Data(script.utf8), to: "completions")
        let run = try await ChildProcess.run(
            Interop.required("INTEROP_FISH"),
            ["--no-config", "-c", "source '\(file)'; complete -C '\(line)'"]
        )
        #expect(run.status == 0 && run.errors == "", "\(run.errors)")
        let words = run.output.split(separator: "\n").compactMap { $0.split(separator: "\t").first.map(String.init) }
        #expect(words.sorted() == expected)
    }
}

/// The commands of `jwt sd` with sd-jwt-python as the other parties.
@Suite("Interoperability: jwt sd", .enabled(if: Interop.isPrepared, Interop.hint))
struct SDJWTCommandInteropTests {
    private typealias Peer = SDJWTPeer

    private let folder: PrivateFolder
    private let issuerKey: SigningKey
    private let holderKey: SigningKey
    private let binding: SDJWTPeer.Binding

    init() throws {
        folder = try PrivateFolder()
        issuerKey = try SigningKey.generate(.es256)
        holderKey = try SigningKey.generate(.es256)
        binding = SDJWTPeer.Binding(key: holderKey)
        try folder.write(Data(issuerKey.pem().utf8), to: "issuer.pem")
        try folder.write(Data(holderKey.pem().utf8), to: "holder.pem")
    }

    /// Returns the arguments for paths, as claims path pointers.
    private func arguments(_ option: String, _ paths: [[JSONValue]]) -> [String] {
        paths.flatMap { path in
            [option, String(JSONObject([("a", .array(path))]).serialized().dropFirst(5).dropLast())]
        }
    }

    /// The transaction of the key binding.
    private var transaction: [String] { ["--nonce", binding.nonce, "--kb-aud", binding.audience] }

    private func verified(_ presentation: String) async throws -> JSONObject {
        let text = try await CommandRun.output(
            ["sd", "verify", "--key", folder.path("issuer.pem"), "--allow-no-exp"] + transaction,
            input: presentation
        )
        var claims = try JSONObject(parsing: text)
        claims["cnf"] = nil
        return claims
    }

    @Test("jwt sd issue, the peer's holder, jwt sd verify", .shows("RFC 9901 §4–§8"), arguments: SDJWTPeer.Case.all)
    func issue(item: SDJWTPeer.Case) async throws {
        let token = try await CommandRun.text(
            [
                "sd", "issue", "--key", folder.path("issuer.pem"), "--holder-key", folder.path("holder.pem"),
                "--claims", "-",
            ] + arguments("--disclosable", item.disclosable) + (item.disclosable.isEmpty ? [] : ["--decoys", "1-3"]),
            input: item.claims.serialized()
        )
        let presentation = try await Peer.present(token, disclosing: item.disclosed, binding: binding)
        let claims = try await verified(presentation)
        #expect(claims == item.expected)
    }

    @Test(
        "The peer's issuer, jwt sd present, the peer's verifier",
        .shows("RFC 9901 §4–§8"),
        arguments: SDJWTPeer.Case.all
    )
    func present(item: SDJWTPeer.Case) async throws {
        let token = try await Peer.issue(item, key: issuerKey, holder: holderKey.verificationKey)
        let presentation = try await CommandRun.text(
            [
                "sd", "present", "--verify-key", folder.path("issuer.pem"), "--key", folder.path("holder.pem"),
            ] + transaction + arguments("--disclose", item.disclosed),
            input: token
        )
        var claims = try await Peer.verify(presentation, key: issuerKey.verificationKey, binding: binding)
        claims?["cnf"] = nil
        #expect(claims == item.expected)
        let own = try await verified(presentation)
        #expect(own == item.expected)
    }
}

@Suite("Interoperability: jwt jws and jwt dpop", .enabled(if: Interop.isPrepared, Interop.hint))
struct SignatureCommandInteropTests {
    private static let payload = Data("It is true. \u{1F600}\n".utf8)

    private let folder: PrivateFolder
    private let key: SigningKey

    init() throws {
        folder = try PrivateFolder()
        key = try SigningKey.generate(.es256)
        try folder.write(Data(key.pem().utf8), to: "key.pem")
        try folder.write(Self.payload, to: "payload")
    }

    @Test("The peer verifies signatures of jwt jws sign", arguments: JWSPeer.allCases)
    func ours(peer: JWSPeer) async throws {
        let sign = ["jws", "sign", "--key", folder.path("key.pem"), folder.path("payload")]
        var texts = [(try await CommandRun.text(sign), false)]
        if peer != .pyJWT {
            texts.append((try await CommandRun.text(sign + ["--format", "json"]), false))
            texts.append((try await CommandRun.text(sign + ["--detached"]), true))
        }
        for (text, isDetached) in texts {
            let verdict = try await peer.check(
                [text],
                payload: isDetached ? Self.payload : nil,
                key: key.verificationKey.jwk
            )
            #expect(verdict.first?.payload == Self.payload, "\(verdict.first?.reason ?? "")")
        }
    }

    @Test("jwt jws verify accepts the peer's signatures", arguments: JWSPeer.allCases)
    func theirs(peer: JWSPeer) async throws {
        for form in JWSPeer.Form.allCases {
            for placement in [JWSPayloadPlacement.attached, .detached] where peer.writes(form, .base64url, placement) {
                let text = try await peer.make(
                    form,
                    .base64url,
                    placement,
                    payload: Self.payload,
                    keys: [try key.privateJWK()]
                )
                let options = placement == .detached ? ["--payload", folder.path("payload")] : []
                let payload = try await CommandRun.output(
                    ["jws", "verify", "--key", folder.path("key.pem")] + options,
                    input: text
                )
                #expect(Data(payload.utf8) == Self.payload)
            }
        }
    }

    @Test("The peer verifies a proof of jwt dpop with the key in it", arguments: Peer.libraries)
    func dpop(peer: Peer) async throws {
        // RFC 9449 §7.1
        let token = try folder.write(Data("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU".utf8), to: "token")
        let proof = try await CommandRun.text([
            "dpop", "GET", "https://api.example/a?b=c", "--key", folder.path("key.pem"), "--access-token-file", token,
            "--nonce", "n",
        ])
        let header = try JSONObject(parsing: #require(SignedText.octets(proof.prefix { $0 != "." })))
        let jwk = try #require(header["jwk"])
        #expect(jwk.object?["d"] == nil && header["typ"] == "dpop+jwt")
        let verdict = try await peer.check(proof, key: ["jwk": jwk])
        #expect(verdict.isAccepted, "\(verdict.reason)")
        #expect(verdict.claims?["htm"] == "GET")
        #expect(verdict.claims?["htu"] == "https://api.example/a")
        #expect(verdict.claims?["ath"] == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")
        #expect(verdict.claims?["nonce"] == "n")
    }
}
