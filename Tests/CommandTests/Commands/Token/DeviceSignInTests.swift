import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Signing in to jwt token on another device", .serialized, .limitedConcurrency)
struct DeviceSignInTests {
    private static var quick: MockAuthorizationServer.Configuration {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.deviceInterval = .seconds(1)
        return configuration
    }

    /// Runs the command, and plays the user as soon as the user's code is shown.
    ///
    /// - Returns: What the command did, with the code, as it was shown, in place of itself.
    private func run(
        _ arguments: [String],
        in scene: TokenScene,
        user: (String) throws -> Void
    ) async throws -> ProcessResult {
        let line = (["jwt", "token"] + arguments).joined(separator: " ")
        async let running = scene.shell(#"\#(line) 2> "$HOME/errors""#)
        var code: String?
        while code == nil {
            try await Task.sleep(for: .milliseconds(20))
            let text = (try? scene.home.text(of: "errors")) ?? ""
            guard text.hasSuffix("\n") else { continue }
            code = (text.firstMatch(of: #/\b[A-Z]{4}-[A-Z]{4}\b/#)?.output).map(String.init)
        }
        try user(code ?? "")
        let result = try await running
        let errors = try scene.home.text(of: "errors").replacing(code ?? "", with: "CODE")
        return ProcessResult(status: result.status, output: result.output, errors: errors)
    }

    private static func invitation(_ scene: TokenScene) -> String {
        "to sign in, open \(scene.issuer)/device and enter CODE, or open \(scene.issuer)/device?user_code=CODE\n"
    }

    @Test("the code is shown on standard error alone, and the token when the user has entered it")
    func approved() async throws {
        try await TokenScene.play(Self.quick) { scene in
            let flags = scene.programFlags("device_code") + ["--scope", "read"]
            let result = try await run(flags + ["--sign-in"], in: scene) { code in
                #expect(scene.authorization.approveDevice(userCode: code))
            }
            #expect(result.status == 0)
            #expect(result.errors == Self.invitation(scene))
            #expect(scene.authorization.isActive(TokenScene.token(result)))
            #expect(
                try await scene.jwt(["token"] + flags) == ProcessResult(status: 0, output: result.output, errors: "")
            )
        }
    }

    @Test("--audience goes along")
    func audience() async throws {
        try await TokenScene.play(Self.quick) { scene in
            let flags = scene.programFlags("device_code") + ["--audience", "https://a.example/api", "--sign-in"]
            let result = try await run(flags, in: scene) { code in
                #expect(scene.authorization.approveDevice(userCode: code))
            }
            #expect(result.status == 0, "\(result)")
            let form = try #require(scene.authorization.server.requests(for: "/device_authorization").last)
            #expect(form.formValue("audience") == "https://a.example/api")
        }
    }

    @Test("a profile says it all; --json gives a program the parts")
    func profile() async throws {
        try await TokenScene.play(Self.quick) { scene in
            _ = scene.programFlags("device_code")
            try scene.write(profiles: [
                "me": ["issuer": .string(scene.issuer), "client-id": "cli", "grant": "device_code"]
            ])
            let result = try await run(["--profile", "me", "--sign-in", "--json"], in: scene) { code in
                #expect(scene.authorization.approveDevice(userCode: code))
            }
            #expect(result.status == 0)
            let parts: JSONObject = [
                "signIn": [
                    "verification_uri": .string(scene.issuer + "/device"), "user_code": "CODE",
                    "verification_uri_complete": .string(scene.issuer + "/device?user_code=CODE"),
                ]
            ]
            #expect(result.errors == parts.serialized() + "\n")
            #expect(try JSONObject(parsing: result.output)["token_type"] == "Bearer")
        }
    }

    @Test("whoever refuses is believed: status 1")
    func denied() async throws {
        try await TokenScene.play(Self.quick) { scene in
            let result = try await run(scene.programFlags("device_code") + ["--sign-in"], in: scene) { code in
                #expect(scene.authorization.denyDevice(userCode: code))
            }
            #expect(result.status == 1 && result.output == "")
            let message = "the token endpoint rejected the request: the user has refused [access_denied]"
            #expect(result.errors == Self.invitation(scene) + "jwt token: \(scene.issuer): \(message)\n")
        }
    }

    @Test("whoever does not come in time is not waited for", arguments: ["server", "user"])
    func expired(limit: String) async throws {
        var configuration = Self.quick
        if limit == "server" { configuration.deviceCodeLifetime = .seconds(1) }
        try await TokenScene.play(configuration) { scene in
            let flags = scene.programFlags("device_code") + (limit == "user" ? ["--sign-in-timeout", "1s"] : [])
            let result = try await run(flags + ["--sign-in"], in: scene) { _ in }
            #expect(result.status == 1 && result.output == "")
            let message = "the user didn't authorize the device in time; start again when the user asks for it"
            #expect(result.errors == Self.invitation(scene) + "jwt token: \(scene.issuer): \(message)\n")
        }
    }

    @Test("a token of somebody who has to sign in is exchanged when they have")
    func exchange() async throws {
        try await TokenScene.play(Self.quick) { scene in
            _ = scene.programFlags("device_code")
            try scene.write(profiles: [
                "me": ["issuer": .string(scene.issuer), "client-id": "cli", "grant": "device_code"],
                "service": .object(scene.members.with(["subject-profile": "me"])),
            ])
            let nobody = try await scene.jwt(["token", "--profile", "service"])
            #expect(nobody.status == 1 && nobody.output == "")
            #expect(
                nobody.errors == """
                    jwt token: \(scene.endpoint): nobody has signed in for the token to exchange; jwt token --sign-in \
                    --profile NAME, with the name of --subject-profile, does

                    """
            )
            let me = try await run(["--profile", "me", "--sign-in"], in: scene) { code in
                #expect(scene.authorization.approveDevice(userCode: code))
            }
            #expect(me.status == 0)
            let service = try await scene.jwt(["token", "--profile", "service"])
            #expect(service.status == 0 && service.errors == "", "\(service)")
            let form = try #require(scene.authorization.server.requests(for: "/token").last)
            #expect(form.formValue("subject_token") == TokenScene.token(me))
        }
    }

    @Test("a server that does not know devices is said to be one")
    func missingEndpoint() async throws {
        try await TokenScene.play { scene in
            _ = scene.programFlags("device_code")
            let flags = ["--token-endpoint", scene.endpoint, "--client-id", "cli", "--grant", "device_code"]
            let result = try await scene.jwt(["token", "--sign-in"] + flags)
            let message = """
                the URL of the device authorization endpoint isn't known; --issuer ISSUER looks it up, --device-endpoint \
                URL or --authorization-endpoint URL names it
                """
            #expect(
                result == ProcessResult(status: 2, output: "", errors: "jwt token: \(scene.endpoint): \(message)\n")
            )
            let named = try await run(
                flags + ["--sign-in", "--device-endpoint", scene.issuer + "/device_authorization"],
                in: scene
            ) { #expect(scene.authorization.approveDevice(userCode: $0)) }
            #expect(named.status == 0, "\(named)")
        }
    }
}
