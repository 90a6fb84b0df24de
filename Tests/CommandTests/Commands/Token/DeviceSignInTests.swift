import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Sign-in on another device in jwt token", .limitedConcurrency)
struct DeviceSignInTests {
    private static var quick: MockAuthorizationServer.Configuration {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.deviceInterval = .seconds(1)
        return configuration
    }

    /// Runs the command, and acts as the user once the user code is printed.
    ///
    /// - Returns: The result of the command, with a placeholder for the user code.
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

    @Test("Prints the code on standard error, and the token once the user enters the code")
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

    @Test("Sends --audience")
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

    @Test("Signs in with a profile, and prints the instructions as JSON with --json")
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

    @Test("Exits with 1 if the user denies the request")
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

    @Test("Exits with 1 if the user doesn't sign in in time", arguments: ["server", "user"])
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

    @Test("Exchanges the token of a profile once its user has signed in")
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
                    jwt token: \(scene.endpoint): not signed in with the profile whose token is exchanged; run jwt \
                    token --sign-in --profile NAME with its name

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

    @Test("Reports a missing device authorization endpoint")
    func missingEndpoint() async throws {
        try await TokenScene.play { scene in
            _ = scene.programFlags("device_code")
            let flags = ["--token-endpoint", scene.endpoint, "--client-id", "cli", "--grant", "device_code"]
            let result = try await scene.jwt(["token", "--sign-in"] + flags)
            let message = """
                the URL of the device authorization endpoint isn't known; pass --issuer ISSUER to discover it, \
                or --device-endpoint URL or --authorization-endpoint URL
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
