import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Failures of jwt token", .serialized, .limitedConcurrency)
struct TokenFailureTests {
    @Test("what the server refuses is status 1, with the server's reason and what to do")
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

    @Test("a server that is not there, or is no authorization server, is status 2")
    func unreachable() async throws {
        try await TokenScene.play { scene in
            // What can't be read is asked for once more.
            scene.authorization.answerNextTokenRequests(with: .text("<h1>Hello</h1>"), .text("<h1>Hello</h1>"))
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

    @Test("a secret or a configuration that others may use draws a warning")
    func permissions() async throws {
        try await TokenScene.play { scene in
            let secret = try scene.home.write(TokenScene.secret, to: "secret", mode: 0o640)
            try scene.write(profiles: ["prod": .object(scene.members)], mode: 0o666)
            let result = try await scene.jwt(["token", "--profile", "prod"])
            #expect(result.status == 0)
            #expect(
                result.errors == """
                    jwt token: warning: \(scene.home.file(".config/jwt/config.json")): other users may change where your secrets \
                    go (mode 666); to stop it: \
                    chmod go-w \(scene.home.file(".config/jwt/config.json"))
                    jwt token: warning: \(secret): other users may use this secret (mode 640); \
                    to stop it: chmod 600 \(secret)

                    """
            )
        }
    }

    @Test("a reader that has left, and a full disk, end it with status 2")
    func closedPipe() async throws {
        try await TokenScene.play { scene in
            let quoted = scene.flags.map { "'\($0)'" }.joined(separator: " ")
            let closed = try await scene.shell("{ jwt token \(quoted); echo $? >&2; } | true")
            #expect(closed.output == "" && ["0\n", "2\n"].contains(closed.errors), "\(closed)")
            let full = try await scene.shell("jwt token \(quoted) > /dev/full")
            #expect(full.status == 2)
            #expect(full.errors == "jwt token: cannot write to standard output: No space left on device\n")
        }
    }

    @Test("a store that others can write to, or that can't be made, is not used")
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
                    jwt token: \(folder): “\(folder)” can be written to by others, who could replace the token store; run chmod \
                    go-w '\(folder)'

                    """
            )
            let nowhere = try await scene.jwt(["token", "--cache-dir", scene.home.file("secret/x")] + scene.flags)
            #expect(nowhere.status == 2)
            #expect(
                nowhere.errors.hasPrefix("jwt token: \(scene.home.file("secret/x")): the directory of the token store")
            )
            #expect(scene.authorization.tokenRequestCount == 0)
        }
    }

    private func chmodIsKept(_ folder: String) -> Bool {
        (try? FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)) != nil
    }

    @Test("without a home there is no place to look", arguments: [[], ["--profile", "prod"]])
    func homeless(extra: [String]) async throws {
        try await TokenScene.play { scene in
            let result = try await scene.jwt(
                ["token"] + extra + (extra.isEmpty ? scene.flags : []),
                environment: ["HOME": ""]
            )
            let (variable, option) =
                extra.isEmpty ? ("XDG_STATE_HOME", "--cache-dir FOLDER") : ("XDG_CONFIG_HOME", "--config FILE")
            let message = "jwt token: HOME is not set to a folder; set it, or give \(variable) or \(option)\n"
            #expect(result == ProcessResult(status: 2, output: "", errors: message))
        }
    }

    private static let base = ["--token-endpoint", "https://x/t", "--client-id", "c"]

    private static let mistakes: [([String], String)] = [
        ([], "where are tokens asked for? --token-endpoint URL, --issuer ISSUER or --profile NAME says it"),
        (["--token-endpoint", "https://x/t"], "who asks? --client-id ID or --profile NAME says it"),
        (
            ["--token-endpoint", "http://x/t"],
            "--token-endpoint must be an https URL; http is for addresses of this machine only"
        ),
        (["--token-endpoint", "x"], "--token-endpoint must be an https URL without a password and a fragment"),
        (
            base,
            """
            how does the client prove who it is? With --client-secret-file FILE, --client-secret-env NAME, --key FILE \
            or --cert FILE
            """
        ),
        (
            base + ["--client-secret-file", "a", "--key", "b"],
            "the client has a secret and a key; leave one of them out"
        ),
        (
            base + ["--client-secret-file", "a", "--client-secret-env", "B"],
            "--client-secret-file and --client-secret-env exclude each other"
        ),
        (base + ["--auth-method", "private_key_jwt"], "private_key_jwt needs a key: --key FILE or --key-env NAME"),
        (
            base + ["--client-secret-env", "S", "--grant", "refresh_token"],
            "--grant refresh_token needs a token: --refresh-token-file FILE or --refresh-token-env NAME"
        ),
        (
            base + ["--client-secret-env", "S", "--refresh-token-env", "R", "--scope", "a"],
            "a refresh token is for what was granted: leave the scope and the service out"
        ),
        (
            base + ["--client-secret-env", "S", "--refresh-token-env", "R", "--no-cache"],
            "--no-cache would lose the refresh token that follows this one; leave it out"
        ),
        (
            base + ["--client-secret-env", "S", "--refresh-token-env", "R", "--subject-token-env", "T"],
            "a refresh token and a token to exchange are two grants; leave one of them out"
        ),
        (
            base + ["--client-secret-env", "S", "--subject-token-type", "jwt"],
            "--subject-token-type is about a token to exchange, and there is none"
        ),
        (
            base + ["--client-secret-file", "-", "--refresh-token-file", "-"],
            "only one key or secret can come from standard input"
        ),
        (["--config", "x"], "--config needs --profile NAME"),
        (["--refresh", "--sign-out"], "--refresh and --sign-out exclude each other"),
        (["--client-secret", "x"], "unknown option --client-secret, did you mean --client-secret-file?"),
    ]

    @Test(
        "contradictions and what is missing are usage errors",
        arguments: mistakes
    )
    func usageErrors(arguments: [String], message: String) throws {
        let result = try BuiltProgram.jwt.run(["token"] + arguments)
        #expect(
            result == ProcessResult(status: 64, output: "", errors: "jwt token: \(message) (see jwt token --help)\n")
        )
    }
}
