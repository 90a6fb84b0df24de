import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Server metadata in jwt token", .limitedConcurrency)
struct ServerMetadataTests {
    private func flags(_ scene: TokenScene) -> [String] {
        [
            "--issuer", scene.issuer, "--client-id", TokenScene.clientID, "--client-secret-file",
            scene.home.file("secret"),
        ]
    }

    private func lookups(_ scene: TokenScene) -> Int {
        scene.authorization.server.requests.count { $0.path.hasPrefix("/.well-known/") }
    }

    @Test("Fetches metadata once, caches it privately, and fetches it again with --refresh")
    func kept() async throws {
        try await TokenScene.play { scene in
            #expect(try await scene.jwt(["token"] + flags(scene)).status == 0)
            let first = lookups(scene)
            #expect(first > 0)
            #expect(try await scene.jwt(["token", "--scope", "read"] + flags(scene)).status == 0)
            #expect(lookups(scene) == first)
            #expect(scene.authorization.tokenRequestCount == 2)
            #expect(try scene.home.mode(of: ".cache/jwt/servers") == 0o700)
            let name = try #require(
                FileManager.default.contentsOfDirectory(atPath: scene.home.file(".cache/jwt/servers")).first
            )
            #expect(try scene.home.mode(of: ".cache/jwt/servers/" + name) == 0o600)
            #expect(try await scene.jwt(["token", "--refresh"] + flags(scene)).status == 0)
            #expect(lookups(scene) > first)
        }
    }

    @Test("Ignores cached metadata that is damaged or writable by other users", arguments: [0o666, 0o600])
    func distrusted(mode: Int) async throws {
        try await TokenScene.play { scene in
            #expect(try await scene.jwt(["token"] + flags(scene)).status == 0)
            let first = lookups(scene)
            let folder = ".cache/jwt/servers/"
            let name = try #require(
                FileManager.default.contentsOfDirectory(atPath: scene.home.file(folder)).first
            )
            // The metadata determines which server receives the secrets.
            let text = try scene.home.text(of: folder + name)
                .replacingOccurrences(of: "/token\"", with: mode == 0o666 ? "/stolen\"" : "/token")
            try scene.home.write(text, to: folder + name, mode: mode)
            let result = try await scene.jwt(["token", "--scope", "read"] + flags(scene))
            #expect(result.status == 0, "\(result)")
            #expect(lookups(scene) > first)
            #expect(scene.authorization.server.requests(for: "/stolen").isEmpty)
        }
    }

    @Test("Doesn't cache metadata with --no-cache")
    func notKept() async throws {
        try await TokenScene.play { scene in
            let result = try await scene.jwt(["token", "--no-cache"] + flags(scene))
            #expect(result.status == 0, "\(result)")
            #expect(try scene.home.names() == ["secret"])
        }
    }

    @Test("Applies --token-timeout to metadata requests")
    func slow() async throws {
        try await TokenScene.play { scene in
            let metadata = #"{"issuer":"\#(scene.origin)","token_endpoint":"\#(scene.endpoint)"}"#
            for name in ["oauth-authorization-server", "openid-configuration"] {
                scene.api.on(.get, "/.well-known/\(name)", .json(metadata).delayed(by: .seconds(4)))
            }
            let client = [
                "--client-id", TokenScene.clientID, "--client-secret-file", scene.home.file("secret"), "--no-cache",
            ]
            let command = ["token", "--issuer", scene.origin, "--token-timeout"]
            let impatient = try await scene.jwt(command + ["1s"] + client)
            #expect(impatient.status == 2 && impatient.output == "", "\(impatient)")
            #expect(impatient.errors.hasPrefix("jwt token: \(scene.origin): "), "\(impatient)")
            #expect(scene.authorization.tokenRequestCount == 0)
            let patient = try await scene.jwt(command + ["10m"] + client)
            #expect(patient.status == 0 && scene.authorization.tokenRequestCount == 1, "\(patient)")
        }
    }

    @Test("Reports a different issuer and an unreachable issuer")
    func failures() async throws {
        try await TokenScene.play { scene in
            let client = ["--client-id", "a", "--client-secret-file", scene.home.file("secret")]
            let other = try await scene.jwt(["token", "--issuer", scene.issuer + "/"] + client)
            let message = "the server metadata names another issuer; pass the issuer exactly as the server writes it"
            #expect(
                other == ProcessResult(status: 1, output: "", errors: "jwt token: \(scene.issuer)/: \(message)\n")
            )
            let token = try await scene.jwt(["token"] + flags(scene))
            await scene.authorization.stop()
            // Cached metadata and tokens work without the server.
            #expect(try await scene.jwt(["token"] + flags(scene)) == token)
            let gone = try await scene.jwt(["token", "--no-cache", "--json"] + flags(scene))
            #expect(gone.status == 2 && gone.output == "")
            let start = #"{"error":{"code":"serverUnreachable","message":"\#(scene.issuer): "#
            #expect(gone.errors.hasPrefix(start), "\(gone)")
        }
    }
}
