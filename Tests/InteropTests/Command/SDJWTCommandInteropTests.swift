import Foundation
import Testing
import TokenGeneration

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

    @Test("jwt sd issue, the peer's holder, jwt sd verify", arguments: SDJWTPeer.Case.all)
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

    @Test("The peer's issuer, jwt sd present, the peer's verifier", arguments: SDJWTPeer.Case.all)
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
