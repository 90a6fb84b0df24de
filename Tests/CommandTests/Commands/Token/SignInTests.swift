import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Sign-in with a browser in jwt token", .limitedConcurrency, .tokenScene)
struct BrowserSignInTests {
    private var scene: TokenScene { .current }

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
        let command = ["token"] + scene.programFlags("authorization_code") + ["--scope", "read"]
        let nobody = ProcessResult.failure(
            1,
            "jwt token: not signed in; run jwt token --sign-in with the same options in a terminal\n"
        )
        #expect(try await scene.jwt(command) == nobody)
        let first = try await scene.jwt(command + ["--sign-in"], environment: Self.browser)
        #expect(first.status == 0)
        #expect(Self.masked(first.errors) == Self.invitation(scene, scope: "&scope=read"))
        #expect(scene.authorization.isActive(TokenScene.token(first)))
        #expect(try await scene.jwt(command) == .success(first.output))
        let refreshed = try await scene.jwt(command + ["--refresh"])
        #expect(refreshed.status == 0 && refreshed.output != first.output && refreshed.errors == "")
        let signedOut = ProcessResult.success()
        #expect(try await scene.jwt(command + ["--sign-out"]) == signedOut)
        #expect(try await scene.jwt(command) == nobody)
    }

    @Test("Verifies the ID token, and fails the sign-in if it's invalid")
    func idToken() async throws {
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

    @Test("Verifies RS256 with a key without an algorithm, even if the server supports others, and names the cause")
    func keyWithoutAlgorithm() async throws {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.signingAlgorithm = .rs256
        try await TokenScene.play(configuration) { scene in
            let server = scene.authorization
            var metadata = server.metadata.metadata
            metadata["id_token_signing_alg_values_supported"] = ["RS256", "RS512", "PS256", "ES256", "HS256"]
            server.server.on(.get, "/.well-known/openid-configuration", .json(metadata.serialized()))
            let keys = server.keys.keys.map { key in
                var key = key
                key.members["alg"] = nil
                return key
            }
            server.server.on(.get, "/jwks", .json(JWKSet(keys: keys).serialized()))
            let command =
                ["token"] + scene.programFlags("authorization_code") + ["--scope", "openid read", "--sign-in"]
            let good = try await scene.jwt(command, environment: Self.browser)
            #expect(good.status == 0 && server.isActive(TokenScene.token(good)), "\(good)")
            server.misbehave(.signedToken(.wrongAudience))
            let refused = try await scene.jwt(command, environment: Self.browser)
            #expect(refused.status == 2, "\(refused)")
            #expect(refused.errors.contains("the ID token isn't valid: the claim “aud”"), "\(refused)")
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
        let flags = scene.programFlags("authorization_code")
        var tokens: Set<String> = []
        for audience in ["https://a.example/api", "b"] {
            let command = ["token"] + flags + ["--audience", audience]
            let first = try await scene.jwt(command + ["--sign-in"], environment: Self.browser)
            #expect(first.status == 0, "\(first)")
            let encoded = FormURLEncoded.encode([("audience", audience)])
            #expect(Self.masked(first.errors) == Self.invitation(scene, scope: "&" + encoded))
            #expect(try await scene.jwt(command) == .success(first.output))
            tokens.insert(first.output)
        }
        #expect(tokens.count == 2)
        #expect(try await scene.jwt(["token"] + flags).status == 1)
    }

    @Test("Asks the user to sign in once for two concurrent processes")
    func queue() async throws {
        let command = ["token"] + scene.programFlags("authorization_code")
        let script =
            #": > "$HOME/asked"; until [ -e "$HOME/go" ]; do sleep 0.05; done; curl -s -L -o /dev/null "$1""#
        async let first = scene.jwt(command, environment: Self.browser(script), errorsAreTerminal: true)
        #expect(try await eventually { try scene.home.names().contains("asked") })
        async let second = scene.shell(
            #": > "$HOME/second"; exec jwt \#(command.joined(separator: " ")) --token-timeout 10m"#,
            environment: Self.browser("exit 1"),
            errorsAreTerminal: true
        )
        #expect(try await eventually { try scene.home.names().contains("second") })
        try scene.home.write("", to: "go")
        let results = try await [first, second]
        #expect(results.map(\.status) == [0, 0], "\(results)")
        #expect(results[0].output == results[1].output)
        #expect(results[0].errors.hasPrefix("to sign in, open ") && results[1].errors == "")
        #expect(scene.authorization.server.requests(for: "/authorize").count == 1)
        #expect(scene.authorization.tokenRequestCount == 1)
    }

    @Test("Asks the user to sign in again for --refresh without a refresh token")
    func refreshBySigningIn() async throws {
        let command = ["token"] + scene.programFlags("authorization_code")
        let answers = ["one", "two"].map {
            LoopbackResponse.json(#"{"access_token":"\#($0)","token_type":"Bearer","expires_in":3600}"#)
        }
        scene.authorization.misbehave(.response(answers[0]), .response(answers[1]))
        for (options, token) in [([], "one\n"), ([], "one\n"), (["--refresh"], "two\n"), ([], "two\n")] {
            let result = try await scene.jwt(command + options, environment: Self.browser, errorsAreTerminal: true)
            #expect(result.status == 0 && result.output == token, "\(result)")
        }
    }

    @Test("Opens no browser with --no-browser, and prints the address as JSON with --json")
    func noBrowser() async throws {
        let flags = scene.programFlags("authorization_code") + ["--sign-in", "--no-browser", "--json"]
        let line = (["jwt", "token"] + flags).joined(separator: " ")
        async let result = scene.shell(
            #"BROWSER='touch "$HOME/opened"; :' \#(line) 2> "$HOME/errors"; cat "$HOME/errors" >&2"#
        )
        #expect(try await eventually { (try? scene.home.text(of: "errors").hasSuffix("\n")) == true })
        let report = try JSONObject(parsing: scene.home.text(of: "errors"))["signIn"]?.object
        #expect(report?.map(\.name) == ["authorization_uri"])
        let address = report?["authorization_uri"]?.string.flatMap(URL.init(string:))
        let back = try await scene.authorization.visit(#require(address))
        #expect(try await scene.shell("curl -s -o /dev/null '\(back.absoluteString)'").status == 0)
        let finished = try await result
        #expect(finished.status == 0)
        let answer = try JSONObject(parsing: finished.output)
        #expect(answer["cached"] == false)
        #expect(scene.authorization.isActive(answer["access_token"]?.string ?? ""))
        #expect(try !scene.home.names().contains("opened"))
    }

    @Test("Exits with 1 if the user denies the request")
    func denied() async throws {
        scene.authorization.decide { _ in .denied }
        let command = ["token"] + scene.programFlags("authorization_code") + ["--sign-in"]
        let result = try await scene.jwt(command, environment: Self.browser)
        let message = "\(scene.issuer): the user or the server has denied the request [access_denied]"
        let hint = "run the command in a terminal to see the server's text"
        let expected = Self.invitation(scene) + "jwt token: \(message); \(hint)\n"
        #expect(
            ProcessResult(status: result.status, output: result.output, errors: Self.masked(result.errors))
                == .failure(1, expected)
        )
        let report = try await scene.jwt(command + ["--json"], environment: Self.browser)
        let error: JSONObject = [
            "error": [
                "code": "authorizationDenied", "message": .string(message), "serverCode": "access_denied",
            ]
        ]
        #expect(report.status == 1 && report.errors.hasSuffix("\n" + error.serialized() + "\n"), "\(report)")
    }

    @Test("Ignores a redirect with another state")
    func strangersState() async throws {
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

    @Test("Rejects a redirect from another issuer without sending its code")
    func otherIssuer() async throws {
        let script = #"curl -s -o /dev/null "$back?code=theirs&state=$state&iss=https://evil.example""#
        let result = try await scene.jwt(
            ["token", "--sign-in"] + scene.programFlags("authorization_code"),
            environment: Self.browser(script)
        )
        #expect(result.status == 1 && result.output == "")
        let message = """
            the authorization response is from another server (RFC 9207); its code isn't used
            """
        #expect(Self.masked(result.errors) == Self.invitation(scene) + "jwt token: \(scene.issuer): \(message)\n")
        #expect(scene.authorization.tokenRequestCount == 0)
    }

    @Test("Reports a timeout and a port in use")
    func failures() async throws {
        let command = ["token", "--sign-in"] + scene.programFlags("authorization_code")
        let late = try await scene.jwt(command + ["--sign-in-timeout", "1s"])
        #expect(late.status == 1 && late.output == "")
        let message = "received no authorization response within 1.0 seconds"
        #expect(Self.masked(late.errors) == Self.invitation(scene) + "jwt token: \(scene.issuer): \(message)\n")
        let port = String(scene.api.port)
        let taken = try await scene.jwt(command + ["--redirect-port", port])
        #expect(
            taken
                == .failure(
                    2,
                    """
                    jwt token: \(scene.issuer): the program can't listen on port \(port) of 127.0.0.1; another process \
                    may be using it

                    """
                )
        )
    }

    @Test("Asks the user to sign in for jwt request, including with --no-cache")
    func request() async throws {
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

@Suite("Sign-in on another device in jwt token", .limitedConcurrency, .tokenScene { $0.deviceInterval = .seconds(1) })
struct DeviceSignInTests {
    private var scene: TokenScene { .current }

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
        var code = ""
        _ = try await eventually {
            let text = (try? scene.home.text(of: "errors")) ?? ""
            code = text.firstMatch(of: #/\b[A-Z]{4}-[A-Z]{4}\b/#).map { String($0.output) } ?? ""
            return text.hasSuffix("\n") && !code.isEmpty
        }
        try user(code)
        let result = try await running
        let errors = try scene.home.text(of: "errors").replacing(code, with: "CODE")
        return ProcessResult(status: result.status, output: result.output, errors: errors)
    }

    private static func invitation(_ scene: TokenScene) -> String {
        "to sign in, open \(scene.issuer)/device and enter CODE, or open \(scene.issuer)/device?user_code=CODE\n"
    }

    @Test("Prints the code on standard error, and the token once the user enters the code")
    func approved() async throws {
        let flags = scene.programFlags("device_code") + ["--scope", "read"]
        let result = try await run(flags + ["--sign-in"], in: scene) { code in
            #expect(scene.authorization.approveDevice(userCode: code))
        }
        #expect(result.status == 0)
        #expect(result.errors == Self.invitation(scene))
        #expect(scene.authorization.isActive(TokenScene.token(result)))
        #expect(try await scene.jwt(["token"] + flags) == .success(result.output))
    }

    @Test("Sends --audience")
    func audience() async throws {
        let flags = scene.programFlags("device_code") + ["--audience", "https://a.example/api", "--sign-in"]
        let result = try await run(flags, in: scene) { code in
            #expect(scene.authorization.approveDevice(userCode: code))
        }
        #expect(result.status == 0, "\(result)")
        let form = try #require(scene.authorization.server.requests(for: "/device_authorization").last)
        #expect(form.formValue("audience") == "https://a.example/api")
    }

    @Test("Signs in with a profile, and prints the instructions as JSON with --json")
    func profile() async throws {
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

    @Test("Exits with 1 if the user denies the request")
    func denied() async throws {
        let result = try await run(scene.programFlags("device_code") + ["--sign-in"], in: scene) { code in
            #expect(scene.authorization.denyDevice(userCode: code))
        }
        #expect(result.status == 1 && result.output == "")
        let message = """
            the token endpoint rejected the request [access_denied]; run the command in a terminal to see the server's text
            """
        #expect(result.errors == Self.invitation(scene) + "jwt token: \(scene.issuer): \(message)\n")
    }

    @Test("Exits with 1 if the user doesn't sign in in time", arguments: ["server", "user"])
    func expired(limit: String) async throws {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.deviceInterval = .seconds(1)
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

    @Test("Reports a missing device authorization endpoint")
    func missingEndpoint() async throws {
        _ = scene.programFlags("device_code")
        let flags = ["--token-endpoint", scene.endpoint, "--client-id", "cli", "--grant", "device_code"]
        let result = try await scene.jwt(["token", "--sign-in"] + flags)
        let message = """
            the URL of the device authorization endpoint isn't known; pass --issuer ISSUER to discover it, \
            or --device-endpoint URL or --authorization-endpoint URL
            """
        #expect(result == .failure(2, "jwt token: \(scene.endpoint): \(message)\n"))
        let named = try await run(
            flags + ["--sign-in", "--device-endpoint", scene.issuer + "/device_authorization"],
            in: scene
        ) { #expect(scene.authorization.approveDevice(userCode: $0)) }
        #expect(named.status == 0, "\(named)")
    }
}
