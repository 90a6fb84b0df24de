import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt request", .limitedConcurrency, .tokenScene)
struct RequestCommandTests {
    private var scene: TokenScene { .current }

    @Test("Sends a request with a token and prints the body unchanged")
    func get() async throws {
        scene.api.on(.get, "/reports", scene.authorization.protecting { _ in .json("[1]") })
        for method in [["GET"], []] {
            let result = try await scene.jwt(["request"] + method + [scene.origin + "/reports?month=11"] + scene.flags)
            #expect(result == .success("[1]"))
        }
        #expect(scene.authorization.tokenRequestCount == 1)
        let request = try #require(scene.api.requests.last)
        #expect(request.query == "month=11")
        #expect(request.headers["User-Agent"]?.hasPrefix("jwt/") == true)
    }

    @Test("Sends the method, header fields and body from arguments, files and standard input")
    func bodies() async throws {
        scene.api.onAnyMethod("/reports", scene.authorization.protecting { _ in .status(204) })
        try scene.home.write("X-Key: k\r\n\nAccept: text/plain\n", to: "fields")
        let json = try scene.home.write("[1, 2]\n", to: "body.json")
        let url = scene.origin + "/reports"
        for arguments in [
            ["POST", url, "-d", "a=b&c=d", "-H", "X-One: 1", "-H", "@" + scene.home.file("fields")],
            ["PUT", url, "-d", "@" + json, "-H", "Content-Type: application/json"],
            ["PATCH", url, "--json-body", #"{"a":1}"#], [url, "--json-body", "@" + json],
        ] {
            let result = try await scene.jwt(["request"] + arguments + scene.flags)
            #expect(result == .success())
        }
        let flags = scene.flags.map { "'\($0)'" }.joined(separator: " ")
        let piped = try await scene.shell(
            "printf piped | jwt request POST '\(url)' -d @- -H 'Content-Type: text/plain' \(flags)"
        )
        #expect(piped == .success())
        let requests = scene.api.requests
        #expect(requests.map(\.method) == [.post, .put, .patch, .post, .post])
        #expect(
            requests.map { String(decoding: $0.body, as: UTF8.self) } == [
                "a=b&c=d", "[1, 2]\n", #"{"a":1}"#, "[1, 2]\n", "piped",
            ]
        )
        #expect(
            requests.map { $0.headers["Content-Type"] } == [
                "application/x-www-form-urlencoded", "application/json", "application/json", "application/json",
                "text/plain",
            ]
        )
        #expect(requests[0].headers["X-One"] == "1")
        #expect(requests[0].headers["X-Key"] == "k")
        #expect(requests[0].headers["Accept"] == "text/plain")
    }

    @Test("Hides the values of header fields from standard input with --verbose")
    func hiddenInput() async throws {
        scene.api.onAnyMethod("/reports", scene.authorization.protecting { _ in .status(204) })
        let flags = scene.flags.map { "'\($0)'" }.joined(separator: " ")
        let result = try await scene.shell(
            "printf 'X-Key: hidden\\n' | jwt request -v '\(scene.origin)/reports' -H @- \(flags)"
        )
        #expect(result.status == 0, "\(result)")
        #expect(result.errors.contains("> X-Key: REDACTED") && !result.errors.contains("hidden"), "\(result)")
        #expect(scene.api.requests.last?.headers["X-Key"] == "hidden")
    }

    @Test("Shows what was sent and received with --verbose, without secrets")
    func verbose() async throws {
        scene.api.on(
            .post,
            "/reports",
            scene.authorization.protecting { request in
                .json("[1]", headers: ["X-Echo": request.headers["Authorization"] ?? "", "Set-Cookie": "id=hidden"])
            }
        )
        try scene.home.write("X-Key: hidden\n", to: "fields")
        let url = scene.origin + "/reports"
        let fields = ["-H", "@" + scene.home.file("fields"), "-H", "X-One: 1"]
        let result = try await scene.jwt(
            ["request", "-v", "-X", "POST", url + "?access_token=hidden&a=1", "-d", "hidden"] + fields + scene.flags
        )
        #expect(result.status == 0 && result.output == "[1]", "\(result)")
        let lines = result.errors.split(separator: "\n").map(String.init)
        for line in [
            "> POST \(scene.endpoint)", "> Authorization: Basic REDACTED", "> POST \(url)?access_token=REDACTED&a=1",
            "> Authorization: Bearer REDACTED", "> X-Key: REDACTED", "> X-One: 1", "> (6 bytes)",
            "< Set-Cookie: REDACTED",
        ] {
            #expect(lines.contains(line), "\(line): \(result.errors)")
        }
        #expect(lines.count { $0.hasPrefix("< HTTP/1.1 200") } == 2)
        let token = try await TokenScene.token(scene.jwt(["token"] + scene.flags))
        for secret in [token, TokenScene.secret, "hidden"] {
            #expect(!result.errors.contains(secret), "\(result.errors)")
        }
        let json = try await scene.jwt(
            ["request", "--verbose", "--json", "--request=POST", url, "-d", "a"] + scene.flags
        )
        for line in json.errors.split(separator: "\n") {
            #expect(try JSONObject(parsing: String(line)).map(\.name) == ["note"])
        }
    }

    @Test("Replaces a token that the API rejects, and retries the request with its body")
    func refused() async throws {
        scene.api.on(
            .post,
            "/reports",
            scene.authorization.protecting { .text(String(decoding: $0.body, as: UTF8.self)) }
        )
        #expect(try await scene.jwt(["token"] + scene.flags).status == 0)
        scene.authorization.revokeAccessTokens()
        let result = try await scene.jwt(["request", "POST", scene.origin + "/reports", "-d", "again"] + scene.flags)
        #expect(result == .success("again"))
        #expect(scene.authorization.tokenRequestCount == 2)
        #expect(scene.api.requests.map(\.body) == [Data("again".utf8), Data("again".utf8)])
    }

    @Test("Warns once about an API that rejects every token, and fails with --fail")
    func alwaysRefused() async throws {
        scene.api.on(.get, "/never", .json(#"{"no":1}"#, status: 401, headers: ["WWW-Authenticate": "Bearer"]))
        let url = scene.origin + "/never"
        let result = try await scene.jwt(["request", "GET", url] + scene.flags)
        #expect(result.status == 0 && result.output == #"{"no":1}"#)
        #expect(result.errors.hasPrefix("jwt request: warning: "), "\(result)")
        #expect(result.errors.split(separator: "\n").count == 1)
        let count = scene.api.requestCount
        #expect((1...3).contains(count))
        let failed = try await scene.jwt(["request", "GET", url, "--fail", "--json"] + scene.flags)
        #expect(failed.status == 1)
        #expect(
            failed.errors.contains(
                #"{"error":{"code":"serverError","message":"\#(url): the server responded with 401","status":401}}"#
            )
        )
    }

    @Test("Names the missing scope on a terminal")
    func scope() async throws {
        scene.api.on(.get, "/reports", scene.authorization.protecting(scope: "reports.read") { _ in .json("[1]") })
        let result = try await scene.jwt(["request", "GET", scene.origin + "/reports", "-f"] + scene.flags)
        #expect(
            result
                == .failure(
                    1,
                    """
                    jwt request: warning: the token's scope is insufficient; run the command in a terminal to see the scope that the API demands
                    jwt request: \(scene.origin)/reports: the server responded with 403

                    """
                )
        )
        let seen = try await scene.jwt(
            ["request", "GET", scene.origin + "/reports", "-f"] + scene.flags,
            errorsAreTerminal: true
        )
        let words = "the API demands “reports.read”; pass --scope if it may have that"
        #expect(seen.errors.contains("jwt request: warning: the token's scope is insufficient: \(words)"), "\(seen)")
        let wider = try await scene.jwt(
            ["request", "GET", scene.origin + "/reports", "-f", "--scope", "reports.read"] + scene.flags
        )
        #expect(wider == .success("[1]"))
    }

    @Test(
        "Handles a 404 according to --fail and --fail-with-body",
        arguments: [([], 0, "gone\n"), (["--fail"], 1, ""), (["--fail-with-body"], 1, "gone\n")]
            as [([String], Int32, String)]
    )
    func statuses(options: [String], status: Int32, output: String) async throws {
        scene.api.on(.get, "/gone", .text("gone\n", status: 404))
        let result = try await scene.jwt(["request", "GET", scene.origin + "/gone"] + options + scene.flags)
        #expect(result.status == status)
        #expect(result.output == output)
        #expect(
            result.errors
                == (status == 0 ? "" : "jwt request: \(scene.origin)/gone: the server responded with 404\n")
        )
    }

    @Test("Prints the head with -i, and the complete response with --json")
    func heads() async throws {
        scene.api.on(.get, "/a", .text("é", headers: ["X-A": "1"]))
        scene.api.on(.get, "/b", LoopbackResponse(body: Data([0xFF, 0x00])))
        let head = try await scene.jwt(["request", "GET", scene.origin + "/a", "-i"] + scene.flags)
        #expect(head.output.hasPrefix("HTTP/1.1 200\n"))
        #expect(head.output.contains("\nX-A: 1\n") && head.output.hasSuffix("\n\né"))
        let json = try JSONObject(
            parsing: try await scene.jwt(["request", "GET", scene.origin + "/a", "--json"] + scene.flags).output
        )
        #expect(json["status"] == 200 && json["body"] == "é" && json["url"] == .string(scene.origin + "/a"))
        #expect(json["headers"]?.array?.contains(["name": "X-A", "value": "1"]) == true)
        let binary = try JSONObject(
            parsing: try await scene.jwt(["request", "GET", scene.origin + "/b", "--json"] + scene.flags).output
        )
        #expect(binary["bodyBase64"] == "/wA=" && binary["body"] == nil)
    }

    @Test("Escapes terminal commands in a body")
    func terminal() async throws {
        scene.api.on(.get, "/a", .text("one\r\ntwo\t\u{1B}[31mred"))
        scene.api.on(.get, "/b", LoopbackResponse(body: Data([0x61, 0x00])))
        let flags = scene.flags.joined(separator: " ")
        let text = try await scene.shell("script -qec 'jwt request GET \(scene.origin)/a \(flags)' /dev/null")
        #expect(text == .success("one\r\ntwo\t\\u001b[31mred\r\n"))
        let binary = try await scene.shell("script -qec 'jwt request GET \(scene.origin)/b \(flags)' /dev/null")
        let message = "the body isn't text and can't be shown on a terminal; use --out FILE or a pipe"
        #expect(binary == ProcessResult(status: 2, output: "jwt request: \(message)\r\n", errors: ""))
    }

    @Test("Writes only complete files with -o, and replaces a file only with --force")
    func files() async throws {
        scene.api.on(.get, "/a", .text("first"))
        scene.api.on(.get, "/no", .text("no", status: 500))
        let out = scene.home.file("out")
        let command = ["request", "GET", scene.origin + "/a", "-o", out] + scene.flags
        #expect(try await scene.jwt(command) == .success())
        #expect(try scene.home.text(of: "out") == "first")
        let again = try await scene.jwt(command)
        #expect(again == .failure(2, "jwt request: \(out): already exists; use --force to replace it\n"))
        #expect(scene.api.requestCount == 1)
        let failed = try await scene.jwt(
            ["request", "GET", scene.origin + "/no", "-f", "--force", "-o", out] + scene.flags
        )
        #expect(failed.status == 1)
        #expect(try scene.home.text(of: "out") == "first")
        #expect(try scene.home.names().filter { $0.hasSuffix(".tmp") } == [])
    }

    @Test("Fails without a file if the body is truncated")
    func truncated() async throws {
        scene.api.on(.get, "/cut", .text("whole").cut(.afterBody(octets: 2)))
        let out = scene.home.file("out")
        let result = try await scene.jwt(["request", "GET", scene.origin + "/cut", "-o", out] + scene.flags)
        #expect(result.status == 2)
        #expect(result.errors.hasPrefix("jwt request: \(scene.origin)/cut: "), "\(result)")
        #expect(try scene.home.names() == [".local", "secret"])
    }

    @Test("Follows redirects with -L, without the token and the user's header fields for other origins")
    func redirects() async throws {
        try await withLoopbackServer { foreign in
            foreign.on(.get, "/there", .text("there"))
            scene.api.on(.get, "/away", .status(302, headers: ["Location": "http://127.0.0.1:\(foreign.port)/there"]))
            scene.api.on(.get, "/home", .status(302, headers: ["Location": "/here"]))
            scene.api.on(.get, "/here", scene.authorization.protecting { _ in .text("here") })
            let shown = try await scene.jwt(["request", "GET", scene.origin + "/away", "-i"] + scene.flags)
            #expect(shown.status == 0 && shown.output.hasPrefix("HTTP/1.1 302\n"))
            #expect(foreign.requestCount == 0)
            let home = try await scene.jwt(["request", "GET", scene.origin + "/home", "-L"] + scene.flags)
            #expect(home == .success("here"))
            let away = try await scene.jwt(
                ["request", "GET", scene.origin + "/away", "-L", "-H", "X-Key: k", "-H", "Accept: text/plain"]
                    + scene.flags
            )
            #expect(away == .success("there"))
            let request = try #require(foreign.requests.first)
            #expect(request.headers["Authorization"] == nil && request.headers["X-Key"] == nil)
            #expect(request.headers["Accept"] == "text/plain")
        }
    }

    @Test("Sends the token only to the profile's API, and accepts a path")
    func api() async throws {
        scene.api.on(.get, "/reports", scene.authorization.protecting { _ in .json("[1]") })
        try scene.write(profiles: ["prod": .object(scene.members.with(["api": .string(scene.origin)]))])
        let path = try await scene.jwt(["request", "GET", "/reports", "--profile", "prod"])
        #expect(path == .success("[1]"))
        let elsewhere = try await scene.jwt(["request", "GET", "https://evil.example/", "--profile", "prod"])
        #expect(
            elsewhere
                == .failure(
                    64,
                    """
                    jwt request: the token is only for \(scene.origin); use --api URL to allow another API \
                    (see jwt request --help)

                    """
                )
        )
    }

    @Test("Sends DPoP proofs with the nonces of both servers")
    func dpop() async throws {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.dpop = .required
        configuration.requiresNonces = true
        try await TokenScene.play(configuration) { scene in
            scene.api.on(.get, "/reports", scene.authorization.protecting { _ in .json("[1]") })
            for _ in 0..<2 {
                let result = try await scene.jwt(["request", "GET", scene.origin + "/reports", "--dpop"] + scene.flags)
                #expect(result == .success("[1]"))
            }
            #expect(scene.authorization.issuedTokenCount == 1)
        }
    }

    @Test("Retries safe requests with --retry")
    func retries() async throws {
        scene.api.on(.get, "/busy", .status(503, headers: ["Retry-After": "0"]), .text("done"))
        scene.api.on(.post, "/busy", .status(503, headers: ["Retry-After": "0"]), .text("done"))
        let get = try await scene.jwt(["request", "GET", scene.origin + "/busy", "-f", "--retry", "1"] + scene.flags)
        #expect(get == .success("done"))
        let post = try await scene.jwt(["request", "POST", scene.origin + "/busy", "-f", "--retry", "1"] + scene.flags)
        #expect(post.status == 1)
    }

    @Test("Prints only an error with the server's name without a network or a token")
    func failures() async throws {
        try scene.home.write("wrong", to: "other")
        let flags = scene.flags + ["--client-secret-file", scene.home.file("other")]
        let refused = try await scene.jwt(
            [
                "request", "GET", scene.origin, "--token-endpoint", scene.endpoint, "--client-id",
                TokenScene.clientID,
            ]
                + flags.suffix(2)
        )
        #expect(refused.fails(1, "jwt request: \(scene.endpoint): the token endpoint rejects"), "\(refused)")
        #expect(scene.api.requestCount == 0)
        await scene.api.stop()
        let gone = try await scene.jwt(["request", "GET", scene.origin + "/x?secret=1"] + scene.flags)
        #expect(gone.status == 2 && gone.output == "")
        #expect(
            gone.errors.hasPrefix("jwt request: \(scene.origin)/x: ") && !gone.errors.contains("secret=1"),
            "\(gone)"
        )
    }

    @Test("Reports an invalid request before contacting a server")
    func unsendable() async throws {
        let url = scene.origin + "/x"
        for (arguments, message) in [
            (
                ["-H", "authorization: secret"],
                "the command sets Authorization itself; remove this header field"
            ),
            (
                ["-d", "@" + scene.home.file("none")],
                "\(scene.home.file("none")): can't be read: No such file or directory"
            ),
        ] {
            let result = try await scene.jwt(["request", "POST", url] + arguments + scene.flags)
            #expect(result == .failure(2, "jwt request: \(message)\n"))
        }
        let json = try await scene.jwt(["request", "POST", url, "--json-body", "{1}"] + scene.flags)
        #expect(json.status == 2 && json.errors.hasPrefix("jwt request: --json-body: the body isn't valid JSON: "))
        #expect(scene.authorization.tokenRequestCount == 0 && scene.api.requestCount == 0)
    }
}
