import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import jwt

@Suite("Failures of jwt token", .limitedConcurrency, .tokenScene)
struct TokenFailureTests {
    private var scene: TokenScene { .current }

    @Test("Exits with 1 if the server rejects the client, and shows its words only on a terminal")
    func refused() async throws {
        try scene.home.write("guessed", to: "secret")
        let message = """
            \(scene.endpoint): the token endpoint rejects the client's authentication; check the client ID and secret \
            [invalid_client]
            """
        let result = try await scene.jwt(["token"] + scene.flags)
        let hint = "run the command in a terminal to see the server's text"
        #expect(result == .failure(1, "jwt token: \(message); \(hint)\n"))
        let seen = try await scene.jwt(["token"] + scene.flags, errorsAreTerminal: true)
        #expect(seen.status == 1)
        let text =
            "error_description: the client's identifier or secret is wrong"
        #expect(seen.errors.hasPrefix("jwt token: \(message); the server's text: \(text)"), "\(seen)")
        let report = try await scene.jwt(["token", "--json"] + scene.flags)
        let expected: JSONObject = [
            "error": [
                "code": "invalidClient", "message": .string(message), "serverCode": "invalid_client", "status": 401,
            ]
        ]
        #expect(report == .failure(1, expected.serialized() + "\n"))
        #expect(!report.errors.contains("guessed"))
    }

    @Test("Exits with 2 for a server that is unreachable or isn't an authorization server")
    func unreachable() async throws {
        // The client retries once after a malformed response.
        scene.authorization.misbehave(.response(.text("<h1>Hello</h1>")), .response(.text("<h1>Hello</h1>")))
        let html = try await scene.jwt(["token"] + scene.flags)
        #expect(
            html
                == .failure(
                    2,
                    """
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

    @Test("Warns about a secret or a configuration that other users can access")
    func permissions() async throws {
        let secret = try scene.home.write(TokenScene.secret, to: "secret", mode: 0o640)
        let service = scene.members.with(["subject-profile": "prod"])
        try scene.write(profiles: ["prod": .object(scene.members), "service": .object(service)], mode: 0o666)
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
        // Once, even if two profiles are in the file, or only that of the subject.
        for flags in [["--profile", "service"], ["--subject-profile", "prod"] + scene.flags] {
            let exchanged = try await scene.jwt(["token"] + flags)
            #expect(exchanged.status == 0)
            #expect(exchanged.errors.components(separatedBy: "where your secrets are sent").count == 2, "\(exchanged)")
        }
    }

    @Test("Exits with 2 if the reader has exited or the disk is full")
    func closedPipe() async throws {
        let quoted = scene.flags.map { "'\($0)'" }.joined(separator: " ")
        let closed = try await scene.shell("{ jwt token \(quoted); echo $? >&2; } | true")
        #expect(closed.output == "" && ["0\n", "2\n"].contains(closed.errors), "\(closed)")
        let full = try await scene.shell("jwt token \(quoted) > /dev/full")
        #expect(full == .failure(2, "jwt token: can't write to standard output: No space left on device\n"))
    }

    @Test("Rejects a store that is writable by other users or can't be created")
    func store() async throws {
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
                go-w \(folder)

                """
        )
        let nowhere = try await scene.jwt(["token", "--cache-dir", scene.home.file("secret/x")] + scene.flags)
        #expect(
            nowhere.fails(2, "jwt token: \(scene.home.file("secret/x")): the token store's directory"),
            "\(nowhere)"
        )
        #expect(scene.authorization.tokenRequestCount == 0)
    }

    @Test("Warns if the token can't be cached")
    func uncached() async throws {
        // Nobody can create a folder in a file.
        let file = try scene.home.write("", to: "file")
        let variables = ["XDG_STATE_HOME": file]
        let advice = "choose another folder with --cache-dir FOLDER, or pass --no-cache\n"
        for command in [["token"], ["request", scene.origin + "/a"]] {
            scene.api.on(.get, "/a", scene.authorization.protecting { _ in .text("a") })
            let result = try await scene.jwt(command + scene.flags, environment: variables)
            #expect(result.status == 0 && !result.output.isEmpty, "\(result)")
            let start = "jwt \(command[0]): warning: \(file)/jwt/tokens: the token store's directory can't be created"
            #expect(result.errors == "\(start), so the token isn't cached; \(advice)", "\(result)")
        }
        // The folder exists, but its disk is full.
        let folder = scene.home.file("tokens")
        let quoted = scene.flags.map { "'\($0)'" }.joined(separator: " ")
        let result = try await scene.shell(
            "mkdir -m 700 '\(folder)'; ulimit -f 0; jwt token --cache-dir '\(folder)' \(quoted)"
        )
        #expect(
            result.status == 0 && result.errors == "jwt token: warning: the token can't be cached; \(advice)",
            "\(result)"
        )
    }

    private func chmodIsKept(_ folder: String) -> Bool {
        (try? FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)) != nil
    }

    @Test("Reports a missing home folder", arguments: [[], ["--profile", "prod"]])
    func homeless(extra: [String]) async throws {
        let result = try await scene.jwt(
            ["token"] + extra + (extra.isEmpty ? scene.flags : []),
            environment: ["HOME": ""]
        )
        let (variable, option) =
            extra.isEmpty ? ("XDG_STATE_HOME", "--cache-dir FOLDER") : ("XDG_CONFIG_HOME", "--config FILE")
        let message = "jwt token: HOME isn't set to an absolute path; set it, or use \(variable) or \(option)\n"
        #expect(result == .failure(2, message))
    }
}

@Suite("Profiles of jwt token", .limitedConcurrency, .tokenScene)
struct ProfileTests {
    private var scene: TokenScene { .current }

    @Test("Resolves paths in a profile relative to the file and to the home folder")
    func paths() async throws {
        try scene.write(profiles: [
            "home": .object(scene.members.with(["client-secret-file": "~/secret"])),
            "relative": .object(scene.members.with(["client-secret-file": "../../secret"])),
        ])
        for name in ["home", "relative"] {
            let result = try await scene.jwt(["token", "--no-cache", "--profile", name])
            #expect(result.status == 0 && result.errors == "", "\(result)")
        }
        let folder = scene.home.file("elsewhere/jwt")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.moveItem(
            atPath: scene.home.file(".config/jwt/config.json"),
            toPath: folder + "/config.json"
        )
        let moved = try await scene.jwt(
            ["token", "--no-cache", "--profile", "home"],
            environment: ["XDG_CONFIG_HOME": scene.home.file("elsewhere")]
        )
        #expect(moved.status == 0)
        let named = try await scene.jwt([
            "token", "--no-cache", "--profile", "home", "--config", folder + "/config.json",
        ])
        #expect(named.status == 0)
    }

    @Test("Overrides the profile, including mutually exclusive options, on the command line")
    func precedence() async throws {
        try scene.write(profiles: [
            "prod": .object(scene.members.with(["scope": ["read", "write"], "no-cache": true, "min-valid": 60]))
        ])
        let scope = try await scene.jwt(["token", "--json", "--profile", "prod", "--scope", "less"])
        #expect(try JSONObject(parsing: scope.output)["scope"] == "less")
        let other = try await scene.jwt(
            ["token", "--profile", "prod", "--client-secret-env", "OTHER"],
            environment: ["OTHER": "wrong"]
        )
        #expect(other.status == 1)
        #expect(try scene.home.names() == [".config", "secret"])
        let kept = try await scene.jwt(["token", "--profile", "prod", "--cache-dir", scene.home.file("kept")])
        #expect(kept.status == 0)
        #expect(try scene.home.names() == [".config", "kept", "secret"])
    }

    @Test(
        "Reports errors in the configuration file without sending a request",
        arguments: [
            (
                #"{"profiles":{"prod":{"client-secret":"x"}}}"#,
                #"""
                profile “prod”: unknown member client-secret; secrets don't belong in the configuration: use client-secret-file or \#
                client-secret-env
                """#
            ),
            (
                #"{"profiles":{"prod":{"token-endpint":"x"}}}"#,
                "profile “prod”: unknown member token-endpint, did you mean token-endpoint?"
            ),
            (
                #"{"profiles":{"prod":{"token-endpoint":"ftp://x"}}}"#,
                """
                profile “prod”: token-endpoint must be an https URL without a password or fragment
                """
            ),
            (#"{"profiles":{"prod":{"dpop":"yes"}}}"#, "profile “prod”: dpop must be true or false"),
            (#"{"profiles":{"prod":{"client-id":["a"]}}}"#, "profile “prod”: client-id must be a string"),
            (#"{"profiles":{"prod":{"scope":[1]}}}"#, "profile “prod”: scope must be an array of strings"),
            (
                #"{"profiles":{"prod":{"key":"-"}}}"#,
                """
                profile “prod”: key must name a file, not standard input
                """
            ),
            (#"{"profiles":{"prod":[]}}"#, "profile “prod” must be an object"),
            (#"{"profiles":{"test":{}}}"#, "no profile “prod”; profiles: test"),
            (#"{"profiles":{"prods":{}}}"#, "no profile “prod”; did you mean prods?"),
            (#"{"profiles":{}}"#, "no profile “prod”; the file has no profiles"),
            (#"{"profile":{}}"#, "unknown member profile; the only member is profiles"),
            (#"{"profiles":[]}"#, #"profiles must be an object: {"profiles": {"NAME": {…}}}"#),
        ]
    )
    func mistakes(document: String, message: String) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(document, to: "config.json")
        let result = try BuiltProgram.jwt.run("token", "--profile", "prod", "--config", path)
        #expect(result == .failure(2, "jwt token: \(path): \(message)\n"))
    }

    @Test("Lists all members for an unknown member without a similar one")
    func members() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(#"{"profiles":{"prod":{"x-x-x-x":1}}}"#, to: "config.json")
        let result = try BuiltProgram.jwt.run("token", "--json", "--profile", "prod", "--config", path)
        #expect(result.status == 2)
        for name in ["token-endpoint", "client-secret-file", "scope", "api"] { #expect(result.errors.contains(name)) }
    }

    @Test("Names a configuration file that is missing or invalid")
    func unreadable() throws {
        let folder = try TemporaryFolder()
        let missing = try BuiltProgram.jwt.run(
            ["token", "--profile", "prod"],
            environment: ["HOME": folder.path, "XDG_CONFIG_HOME": ""]
        )
        #expect(
            missing
                == .failure(
                    2,
                    "jwt token: \(folder.file(".config/jwt/config.json")): can't be read: No such file or directory\n"
                )
        )
        for text in ["profiles:", #"{"profiles":{},"profiles":{}}"#] {
            let path = try folder.write(text, to: "config.json")
            let result = try BuiltProgram.jwt.run("token", "--profile", "prod", "--config", path)
            #expect(result.status == 2)
            #expect(result.errors.hasPrefix("jwt token: \(path): not a configuration file: "), "\(result)")
        }
    }

    @Test("Rejects profiles that exchange each other's tokens in a cycle")
    func circle() async throws {
        try scene.write(profiles: [
            "a": .object(scene.members.with(["subject-profile": "b"])),
            "b": .object(scene.members.with(["subject-profile": "a"])),
        ])
        let result = try await scene.jwt(["token", "--profile", "a"])
        #expect(
            result
                == .failure(64, "jwt token: --subject-profile forms a cycle with profile “a” (see jwt token --help)\n")
        )
    }
}

@Suite("Server metadata in jwt token", .limitedConcurrency, .tokenScene)
struct ServerMetadataTests {
    private var scene: TokenScene { .current }

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

    @Test("Ignores cached metadata that is damaged or writable by other users", arguments: [0o666, 0o600])
    func distrusted(mode: Int) async throws {
        #expect(try await scene.jwt(["token"] + flags(scene)).status == 0)
        let first = lookups(scene)
        let folder = ".cache/jwt/servers/"
        let name = try #require(FileManager.default.contentsOfDirectory(atPath: scene.home.file(folder)).first)
        // The metadata determines which server receives the secrets.
        let text = try scene.home.text(of: folder + name)
            .replacingOccurrences(of: "/token\"", with: mode == 0o666 ? "/stolen\"" : "/token")
        try scene.home.write(text, to: folder + name, mode: mode)
        let result = try await scene.jwt(["token", "--scope", "read"] + flags(scene))
        #expect(result.status == 0, "\(result)")
        #expect(lookups(scene) > first)
        #expect(scene.authorization.server.requests(for: "/stolen").isEmpty)
    }

    @Test("Doesn't cache metadata with --no-cache")
    func notKept() async throws {
        let result = try await scene.jwt(["token", "--no-cache"] + flags(scene))
        #expect(result.status == 0, "\(result)")
        #expect(try scene.home.names() == ["secret"])
    }

    @Test("Applies --token-timeout to metadata requests")
    func slow() async throws {
        let metadata = #"{"issuer":"\#(scene.origin)","token_endpoint":"\#(scene.endpoint)"}"#
        let gate = ResponseGate()
        for name in ["oauth-authorization-server", "openid-configuration"] {
            scene.api.on(.get, "/.well-known/\(name)", .json(metadata).gated(by: gate))
        }
        let client = [
            "--client-id", TokenScene.clientID, "--client-secret-file", scene.home.file("secret"), "--no-cache",
        ]
        let command = ["token", "--issuer", scene.origin, "--token-timeout"]
        let impatient = try await scene.jwt(command + ["1s"] + client)
        #expect(impatient.status == 2 && impatient.output == "", "\(impatient)")
        #expect(impatient.errors.hasPrefix("jwt token: \(scene.origin): "), "\(impatient)")
        #expect(scene.authorization.tokenRequestCount == 0)
        gate.open()
        let patient = try await scene.jwt(command + ["10m"] + client)
        #expect(patient.status == 0 && scene.authorization.tokenRequestCount == 1, "\(patient)")
    }

    @Test("Applies --token-timeout to the keys of an ID token")
    func slowKeys() async throws {
        let issuer = "https://as.example"
        let server = try AuthorizationServer(
            metadata: [
                "issuer": .string(issuer), "token_endpoint": .string(issuer + "/token"),
                "device_authorization_endpoint": .string(issuer + "/device"), "jwks_uri": .string(issuer + "/keys"),
                "id_token_signing_alg_values_supported": ["ES256"],
            ],
            issuer: issuer
        )
        let claims: JSONObject = ["iss": .string(issuer), "aud": "cli", "sub": "ada", "exp": 4_000_000_000, "iat": 1]
        let idToken = try JWTGenerator(payload: claims, signingService: SigningKey.generate(.es256)).token()
        let answers = [
            "/device":
                #"{"device_code":"d","user_code":"A","verification_uri":"https://as.example","expires_in":600}"#,
            "/token": #"{"access_token":"a","token_type":"Bearer","id_token":"\#(idToken)"}"#,
        ]
        let transport = MockTransport { request in
            // The keys never arrive.
            guard let answer = answers[request.url.path] else {
                try await Task.sleep(for: .seconds(1_000))
                throw CancellationError()
            }
            return HTTPTransportResponse(
                status: 200,
                headers: ["Content-Type": "application/json"],
                body: Data(answer.utf8)
            )
        }
        let network = NetworkClient(transport: transport)
        // The interval between two polls passes at once, unlike timeouts.
        var time = TimeSource.system
        time.sleep = { if $0 > .seconds(10) { try await Task.sleep(for: $0) } }
        let client = OAuth2Client(
            server: server,
            clientAuthentication: .none(clientID: "cli"),
            client: network,
            timing: .init(timeSource: time)
        )
        let options = SignInOptions(arguments: ParsedArguments(path: []))
        let signIn = SignIn(usesBrowser: false, options: options, scope: "openid", audience: nil, resources: [])
        let error = await #expect(throws: (any Error).self) {
            _ = try await signIn.tokens(client, network, timeout: .milliseconds(1), Console(prefix: "jwt token"))
        }
        #expect(error.map { "\($0)".contains("within 0.001 seconds") } == true, "\(String(describing: error))")
    }

    @Test("Cached metadata is never from the future", arguments: [1_000, 1_000.4, 1_000.5, 1_000.999])
    func fetchTime(now: Double) throws {
        let path = scene.home.file("servers/one.json")
        let issuer = "https://as.example"
        let metadata: JSONObject = ["issuer": .string(issuer), "token_endpoint": "https://as.example/token"]
        ServerMetadata.write(try AuthorizationServer(metadata: metadata, issuer: issuer), fetched: now, to: path)
        let kept = try #require(ServerMetadata.read(path, issuer))
        #expect(kept.fetched <= now && kept.fetched > now - 1)
    }

    @Test("Reports a different issuer and an unreachable issuer")
    func failures() async throws {
        let client = ["--client-id", "a", "--client-secret-file", scene.home.file("secret")]
        let other = try await scene.jwt(["token", "--issuer", scene.issuer + "/"] + client)
        let message = "the server metadata names another issuer; pass the issuer exactly as the server writes it"
        #expect(other == .failure(1, "jwt token: \(scene.issuer)/: \(message)\n"))
        let token = try await scene.jwt(["token"] + flags(scene))
        #expect(token.status == 0, "\(token.errors)")
        await scene.authorization.stop()
        // Cached metadata and tokens work without the server.
        let kept = try await scene.jwt(["token"] + flags(scene))
        #expect(kept == token, "\(kept.errors)")
        let gone = try await scene.jwt(["token", "--no-cache", "--json"] + flags(scene))
        #expect(gone.status == 2 && gone.output == "")
        let start = #"{"error":{"code":"serverUnreachable","message":"\#(scene.issuer): "#
        #expect(gone.errors.hasPrefix(start), "\(gone)")
    }
}
