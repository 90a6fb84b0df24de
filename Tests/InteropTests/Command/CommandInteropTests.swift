import Foundation
import Testing
import TokenGeneration

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
