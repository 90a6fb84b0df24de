import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Sign-in with a browser in jwt token", .limitedConcurrency)
struct BrowserSignInTests {
    /// A browser that only follows redirects.
    private static let browser = ["BROWSER": "curl -s -L -o /dev/null"]

    /// A browser that runs a script with the redirect URI in `$back` and the expected state in
    /// `$state`.
    private static func browser(_ script: String) -> [String: String] {
        let parameter = { (name: String) in
            #"$(printf %s "$1" | sed 's/.*[?&]\#(name)=\([^&]*\).*/\1/; s/%3A/:/g; s/%2F/\//g')"#
        }
        return ["BROWSER": "f() { back=\(parameter("redirect_uri")); state=\(parameter("state")); \(script); }; f"]
    }

    /// Replaces random values in the messages with placeholders.
    private static func masked(_ errors: String) -> String {
        let random = ["state": "[A-Za-z0-9_-]{43}", "code_challenge": "[A-Za-z0-9_-]{43}"]
        return random.reduce(errors.replacing(#/127\.0\.0\.1%3A[0-9]+/#, with: "127.0.0.1%3APORT")) { text, parameter in
            text.replacingOccurrences(
                of: "([?&]\(parameter.key)=)\(parameter.value)(&|\n)",
                with: "$1RANDOM$2",
                options: .regularExpression
            )
        }
    }

    /// The instructions for signing in.
    private static func invitation(_ scene: TokenScene, scope: String = "") -> String {
        """
        to sign in, open \(scene.issuer)/authorize?response_type=code&client_id=cli&\
        redirect_uri=http%3A%2F%2F127.0.0.1%3APORT%2Fcallback&state=RANDOM&code_challenge=RANDOM&\
        code_challenge_method=S256\(scope)

        """
    }

    @Test("Caches and refreshes the token after a single sign-in")
    func once() async throws {
        try await TokenScene.play { scene in
            let command = ["token"] + scene.programFlags("authorization_code") + ["--scope", "read"]
            let nobody = ProcessResult(
                status: 1,
                output: "",
                errors: "jwt token: not signed in; run jwt token --sign-in with the same options in a terminal\n"
            )
            #expect(try await scene.jwt(command) == nobody)
            let first = try await scene.jwt(command + ["--sign-in"], environment: Self.browser)
            #expect(first.status == 0)
            #expect(Self.masked(first.errors) == Self.invitation(scene, scope: "&scope=read"))
            #expect(scene.authorization.isActive(TokenScene.token(first)))
            #expect(try await scene.jwt(command) == ProcessResult(status: 0, output: first.output, errors: ""))
            let refreshed = try await scene.jwt(command + ["--refresh"])
            #expect(refreshed.status == 0 && refreshed.output != first.output && refreshed.errors == "")
            let signedOut = ProcessResult(status: 0, output: "", errors: "")
            #expect(try await scene.jwt(command + ["--sign-out"]) == signedOut)
            #expect(try await scene.jwt(command) == nobody)
        }
    }

    @Test("Verifies the ID token, and fails the sign-in if it's invalid")
    func idToken() async throws {
        try await TokenScene.play { scene in
            let command = ["token"] + scene.programFlags("authorization_code") + ["--scope", "openid read"]
            for fault in [MockAuthorizationServer.IDTokenFault.wrongAudience, .wrongNonce, .mixedUpKeys] {
                scene.authorization.misbehave(.signedToken(fault))
                let refused = try await scene.jwt(command + ["--sign-in"], environment: Self.browser)
                #expect(refused.status != 0)
                #expect(refused.output == "")
                #expect(refused.errors.contains("ID token"), "\(refused)")
                #expect(try await scene.jwt(command).status == 1)
            }
            let good = try await scene.jwt(command + ["--sign-in"], environment: Self.browser)
            #expect(good.status == 0 && scene.authorization.isActive(TokenScene.token(good)), "\(good)")
        }
    }

    @Test("Pushes the authorization request if the server requires it")
    func pushed() async throws {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.requiresPushedAuthorizationRequests = true
        try await TokenScene.play(configuration) { scene in
            let command = ["token", "--sign-in"] + scene.programFlags("authorization_code")
            let result = try await scene.jwt(command, environment: Self.browser)
            #expect(result.status == 0 && scene.authorization.isActive(TokenScene.token(result)), "\(result)")
            let invitation = #/to sign in, open (.+)/authorize\?client_id=cli&request_uri=[^&\n]+\n/#
            let said = try #require(result.errors.wholeMatch(of: invitation), "\(result)")
            #expect(said.1 == scene.issuer)
            #expect(scene.authorization.server.requests(for: "/par").count == 1)
        }
    }

    @Test("Sends --audience, and caches tokens separately for each audience")
    func audience() async throws {
        try await TokenScene.play { scene in
            let flags = scene.programFlags("authorization_code")
            var tokens: Set<String> = []
            for audience in ["https://a.example/api", "b"] {
                let command = ["token"] + flags + ["--audience", audience]
                let first = try await scene.jwt(command + ["--sign-in"], environment: Self.browser)
                #expect(first.status == 0, "\(first)")
                let encoded = FormURLEncoded.encode([("audience", audience)])
                #expect(Self.masked(first.errors) == Self.invitation(scene, scope: "&" + encoded))
                #expect(try await scene.jwt(command) == ProcessResult(status: 0, output: first.output, errors: ""))
                tokens.insert(first.output)
            }
            #expect(tokens.count == 2)
            #expect(try await scene.jwt(["token"] + flags).status == 1)
        }
    }

    @Test("Asks the user to sign in once for two concurrent processes")
    func queue() async throws {
        try await TokenScene.play { scene in
            let command = ["token"] + scene.programFlags("authorization_code")
            let script =
                #": > "$HOME/asked"; until [ -e "$HOME/go" ]; do sleep 0.05; done; curl -s -L -o /dev/null "$1""#
            async let first = scene.jwt(command, environment: Self.browser(script), errorsAreTerminal: true)
            while try !scene.home.names().contains("asked") { try await Task.sleep(for: .milliseconds(20)) }
            async let second = scene.jwt(command, environment: Self.browser("exit 1"), errorsAreTerminal: true)
            try await Task.sleep(for: .milliseconds(500))
            try scene.home.write("", to: "go")
            let results = try await [first, second]
            #expect(results.map(\.status) == [0, 0], "\(results)")
            #expect(results[0].output == results[1].output)
            #expect(results[0].errors.hasPrefix("to sign in, open ") && results[1].errors == "")
            #expect(scene.authorization.server.requests(for: "/authorize").count == 1)
            #expect(scene.authorization.tokenRequestCount == 1)
        }
    }

    @Test("Asks the user to sign in again for --refresh without a refresh token")
    func refreshBySigningIn() async throws {
        try await TokenScene.play { scene in
            let command = ["token"] + scene.programFlags("authorization_code")
            let answers = ["one", "two"].map {
                LoopbackResponse.json(#"{"access_token":"\#($0)","token_type":"Bearer","expires_in":300}"#)
            }
            scene.authorization.misbehave(.response(answers[0]), .response(answers[1]))
            for (options, token) in [([], "one\n"), ([], "one\n"), (["--refresh"], "two\n"), ([], "two\n")] {
                let result = try await scene.jwt(
                    command + options,
                    environment: Self.browser,
                    errorsAreTerminal: true
                )
                #expect(result.status == 0 && result.output == token, "\(result)")
            }
        }
    }

    @Test("Opens no browser with --no-browser, and prints the address as JSON with --json")
    func noBrowser() async throws {
        try await TokenScene.play { scene in
            let flags = scene.programFlags("authorization_code") + ["--sign-in", "--no-browser", "--json"]
            let line = (["jwt", "token"] + flags).joined(separator: " ")
            async let result = scene.shell(
                #"BROWSER='touch "$HOME/opened"; :' \#(line) 2> "$HOME/errors"; cat "$HOME/errors" >&2"#
            )
            var address: URL?
            while address == nil {
                try await Task.sleep(for: .milliseconds(20))
                let text = (try? scene.home.text(of: "errors")) ?? ""
                guard text.hasSuffix("\n") else { continue }
                let report = try JSONObject(parsing: text)["signIn"]?.object
                #expect(report?.map(\.name) == ["authorization_uri"])
                address = report?["authorization_uri"]?.string.flatMap(URL.init(string:))
            }
            let back = try await scene.authorization.visit(#require(address))
            #expect(try await scene.shell("curl -s -o /dev/null '\(back.absoluteString)'").status == 0)
            let finished = try await result
            #expect(finished.status == 0)
            let answer = try JSONObject(parsing: finished.output)
            #expect(answer["cached"] == false)
            #expect(scene.authorization.isActive(answer["access_token"]?.string ?? ""))
            #expect(try !scene.home.names().contains("opened"))
        }
    }

    @Test("Exits with 1 if the user denies the request")
    func denied() async throws {
        try await TokenScene.play { scene in
            scene.authorization.decide { _ in .denied }
            let command = ["token"] + scene.programFlags("authorization_code") + ["--sign-in"]
            let result = try await scene.jwt(command, environment: Self.browser)
            let message =
                "\(scene.issuer): the user or the server has denied the request: the user's decision [access_denied]"
            let expected = Self.invitation(scene) + "jwt token: \(message)\n"
            #expect(
                ProcessResult(status: result.status, output: result.output, errors: Self.masked(result.errors))
                    == ProcessResult(status: 1, output: "", errors: expected)
            )
            let report = try await scene.jwt(command + ["--json"], environment: Self.browser)
            let error: JSONObject = [
                "error": [
                    "code": "authorizationDenied", "message": .string(message), "serverCode": "access_denied",
                ]
            ]
            #expect(report.status == 1 && report.errors.hasSuffix("\n" + error.serialized() + "\n"), "\(report)")
        }
    }

    @Test("Ignores a redirect with another state")
    func strangersState() async throws {
        try await TokenScene.play { scene in
            let script = """
                curl -s -o /dev/null -w '%{http_code}' "$back?code=theirs&state=x$state" > "$HOME/stranger"; \
                curl -s -L -o /dev/null "$1"
                """
            let result = try await scene.jwt(
                ["token", "--sign-in"] + scene.programFlags("authorization_code"),
                environment: Self.browser(script)
            )
            #expect(result.status == 0, "\(result)")
            #expect(scene.authorization.isActive(TokenScene.token(result)))
            #expect(try scene.home.text(of: "stranger") == "400")
            #expect(scene.authorization.tokenRequestCount == 1)
        }
    }

    @Test("Rejects a redirect from another issuer without sending its code")
    func otherIssuer() async throws {
        try await TokenScene.play { scene in
            let script = #"curl -s -o /dev/null "$back?code=theirs&state=$state&iss=https://evil.example""#
            let result = try await scene.jwt(
                ["token", "--sign-in"] + scene.programFlags("authorization_code"),
                environment: Self.browser(script)
            )
            #expect(result.status == 1 && result.output == "")
            let message = """
                the authorization response is from another server (RFC 9207); its code isn't used
                """
            #expect(
                Self.masked(result.errors) == Self.invitation(scene) + "jwt token: \(scene.issuer): \(message)\n"
            )
            #expect(scene.authorization.tokenRequestCount == 0)
        }
    }

    @Test("Reports a timeout and a port in use")
    func failures() async throws {
        try await TokenScene.play { scene in
            let command = ["token", "--sign-in"] + scene.programFlags("authorization_code")
            let late = try await scene.jwt(command + ["--sign-in-timeout", "1s"])
            #expect(late.status == 1 && late.output == "")
            let message = "received no authorization response within 1.0 seconds"
            #expect(Self.masked(late.errors) == Self.invitation(scene) + "jwt token: \(scene.issuer): \(message)\n")
            let port = String(scene.api.port)
            let taken = try await scene.jwt(command + ["--redirect-port", port])
            #expect(
                taken
                    == ProcessResult(
                        status: 2,
                        output: "",
                        errors: """
                            jwt token: \(scene.issuer): the program can't listen on port \(port) of 127.0.0.1; another process \
                            may be using it

                            """
                    )
            )
        }
    }

    @Test("Asks the user to sign in for jwt request, including with --no-cache")
    func request() async throws {
        try await TokenScene.play { scene in
            scene.api.on(.get, "/reports", scene.authorization.protecting { _ in .json("[1]") })
            let flags = scene.programFlags("authorization_code")
            let command = ["request", "GET", scene.origin + "/reports", "--no-cache"] + flags
            let nobody = try await scene.jwt(command)
            #expect(nobody.status == 1 && nobody.output == "" && nobody.errors.contains("not signed in"))
            for _ in 0..<2 {
                let result = try await scene.jwt(command, environment: Self.browser, errorsAreTerminal: true)
                #expect(result.status == 0 && result.output == "[1]", "\(result)")
                #expect(result.errors.hasPrefix("to sign in, open "))
            }
            #expect(scene.authorization.tokenRequestCount == 2)
            #expect(try scene.home.names() == ["secret"])
        }
    }
}
