import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Failures of jwt token", .limitedConcurrency)
struct TokenFailureTests {
    @Test("Exits with 1 and the server's reason if the server rejects the client")
    func refused() async throws {
        try await TokenScene.play { scene in
            try scene.home.write("guessed", to: "secret")
            let message = """
                \(scene.endpoint): the token endpoint rejects the client's authentication; check the client ID and key: \
                the client's identifier or secret is wrong [invalid_client]
                """
            let result = try await scene.jwt(["token"] + scene.flags)
            #expect(result == ProcessResult(status: 1, output: "", errors: "jwt token: \(message)\n"))
            let report = try await scene.jwt(["token", "--json"] + scene.flags)
            let expected: JSONObject = [
                "error": [
                    "code": "invalidClient", "message": .string(message), "serverCode": "invalid_client", "status": 401,
                ]
            ]
            #expect(report == ProcessResult(status: 1, output: "", errors: expected.serialized() + "\n"))
            #expect(!report.errors.contains("guessed"))
        }
    }

    @Test("Exits with 2 for a server that is unreachable or isn't an authorization server")
    func unreachable() async throws {
        try await TokenScene.play { scene in
            // The client retries once after a malformed response.
            scene.authorization.misbehave(.response(.text("<h1>Hello</h1>")), .response(.text("<h1>Hello</h1>")))
            let html = try await scene.jwt(["token"] + scene.flags)
            #expect(
                html
                    == ProcessResult(
                        status: 2,
                        output: "",
                        errors: """
                            jwt token: \(scene.endpoint): the token endpoint's response isn't a JSON object; check the endpoint's URL

                            """
                    )
            )
            await scene.authorization.stop()
            let gone = try await scene.jwt(["token", "--json", "--token-timeout", "2s"] + scene.flags)
            #expect(gone.status == 2 && gone.output == "")
            #expect(
                gone.errors.hasPrefix(
                    #"{"error":{"code":"serverUnreachable","message":"\#(scene.endpoint): the token endpoint couldn't be reached: "#
                ),
                "\(gone)"
            )
        }
    }

    @Test("Warns about a secret or a configuration that other users can access")
    func permissions() async throws {
        try await TokenScene.play { scene in
            let secret = try scene.home.write(TokenScene.secret, to: "secret", mode: 0o640)
            try scene.write(profiles: ["prod": .object(scene.members)], mode: 0o666)
            let result = try await scene.jwt(["token", "--profile", "prod"])
            #expect(result.status == 0)
            #expect(
                result.errors == """
                    jwt token: warning: \(scene.home.file(".config/jwt/config.json")): other users can change where \
                    your secrets are sent (mode 666); fix: chmod go-w \(scene.home.file(".config/jwt/config.json"))
                    jwt token: warning: \(secret): other users can access this secret (mode 640); fix: chmod 600 \
                    \(secret)

                    """
            )
        }
    }

    @Test("Exits with 2 if the reader has exited or the disk is full")
    func closedPipe() async throws {
        try await TokenScene.play { scene in
            let quoted = scene.flags.map { "'\($0)'" }.joined(separator: " ")
            let closed = try await scene.shell("{ jwt token \(quoted); echo $? >&2; } | true")
            #expect(closed.output == "" && ["0\n", "2\n"].contains(closed.errors), "\(closed)")
            let full = try await scene.shell("jwt token \(quoted) > /dev/full")
            #expect(full.status == 2)
            #expect(full.errors == "jwt token: can't write to standard output: No space left on device\n")
        }
    }

    @Test("Rejects a store that is writable by other users or can't be created")
    func store() async throws {
        try await TokenScene.play { scene in
            let folder = scene.home.file("open")
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o777]
            )
            #expect(chmodIsKept(folder))
            let result = try await scene.jwt(["token", "--cache-dir", folder] + scene.flags)
            #expect(result.status == 2 && result.output == "")
            #expect(
                result.errors == """
                    jwt token: \(folder): “\(folder)” is writable by other users, who could replace the token store; run chmod \
                    go-w '\(folder)'

                    """
            )
            let nowhere = try await scene.jwt(["token", "--cache-dir", scene.home.file("secret/x")] + scene.flags)
            #expect(nowhere.status == 2)
            #expect(
                nowhere.errors.hasPrefix("jwt token: \(scene.home.file("secret/x")): the token store's directory")
            )
            #expect(scene.authorization.tokenRequestCount == 0)
        }
    }

    private func chmodIsKept(_ folder: String) -> Bool {
        (try? FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)) != nil
    }

    @Test("Reports a missing home folder", arguments: [[], ["--profile", "prod"]])
    func homeless(extra: [String]) async throws {
        try await TokenScene.play { scene in
            let result = try await scene.jwt(
                ["token"] + extra + (extra.isEmpty ? scene.flags : []),
                environment: ["HOME": ""]
            )
            let (variable, option) =
                extra.isEmpty ? ("XDG_STATE_HOME", "--cache-dir FOLDER") : ("XDG_CONFIG_HOME", "--config FILE")
            let message = "jwt token: HOME isn't set to an absolute path; set it, or use \(variable) or \(option)\n"
            #expect(result == ProcessResult(status: 2, output: "", errors: message))
        }
    }

    private static let base = ["--token-endpoint", "https://x/t", "--client-id", "c"]

    private static let mistakes: [([String], String)] = [
        ([], "missing authorization server; pass --token-endpoint URL, --issuer ISSUER or --profile NAME"),
        (["--token-endpoint", "https://x/t"], "missing client ID; pass --client-id ID or --profile NAME"),
        (
            ["--token-endpoint", "http://x/t"],
            "--token-endpoint must be an https URL; http is allowed only for this machine"
        ),
        (["--token-endpoint", "x"], "--token-endpoint must be an https URL without a password or fragment"),
        (
            base,
            """
            missing client credentials; pass --client-secret-file FILE, --client-secret-env NAME, --key FILE, \
            --cert FILE or --from SOURCE
            """
        ),
        (
            base + ["--client-secret-file", "a", "--key", "b"],
            "the client can have a secret or a key, but not both"
        ),
        (
            base + ["--client-secret-file", "a", "--client-secret-env", "B"],
            "--client-secret-file and --client-secret-env can't be combined"
        ),
        (base + ["--auth-method", "private_key_jwt"], "private_key_jwt needs a key: --key FILE or --key-env NAME"),
        (
            base + ["--client-secret-env", "S", "--grant", "refresh_token"],
            "--grant refresh_token needs a token: --refresh-token-file FILE or --refresh-token-env NAME"
        ),
        (
            base + ["--client-secret-env", "S", "--refresh-token-env", "R", "--scope", "a"],
            "a refresh token keeps its original grant; remove --scope, --audience and --resource"
        ),
        (
            base + ["--client-secret-env", "S", "--refresh-token-env", "R", "--no-cache"],
            "--no-cache would lose the rotated refresh token; remove it"
        ),
        (
            base + ["--client-secret-env", "S", "--refresh-token-env", "R", "--subject-token-env", "T"],
            "a refresh token and a token to exchange can't be combined; remove one of them"
        ),
        (
            base + ["--client-secret-env", "S", "--subject-token-type", "jwt"],
            "--subject-token-type requires a token to exchange"
        ),
        (
            base + ["--client-secret-file", "-", "--refresh-token-file", "-"],
            "only one key or secret can come from standard input"
        ),
        (["--config", "x"], "--config needs --profile NAME"),
        (["--refresh", "--sign-out"], "--refresh and --sign-out can't be combined"),
        (["--client-secret", "x"], "unknown option --client-secret, did you mean --client-secret-file?"),
    ]

    @Test(
        "Rejects contradictory and missing options",
        arguments: mistakes
    )
    func usageErrors(arguments: [String], message: String) throws {
        let result = try BuiltProgram.jwt.run(["token"] + arguments)
        #expect(
            result == ProcessResult(status: 64, output: "", errors: "jwt token: \(message) (see jwt token --help)\n")
        )
    }
}
