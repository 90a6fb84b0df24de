import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

private let hasTools = ["/usr/bin/curl", "/usr/bin/jq"].allSatisfy {
    FileManager.default.isExecutableFile(atPath: $0)
}

/// Runs the unmodified scripts in Docs/Scripts with loopback servers for the vendors.
@Suite("Scripts in Docs", .limitedConcurrency, .enabled(if: hasTools, "curl or jq is not installed"))
struct ScriptTests {
    private static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Docs/Scripts")

    private let temporary: TemporaryFolder

    init() throws {
        temporary = try TemporaryFolder()
        try temporary.write(KeyFixtures.pkcs8, to: "key.pem")
        try temporary.write(KeyFixtures.rsa, to: "rsa.pem")
    }

    private func run(_ name: String, _ environment: [String: String]) async throws -> ProcessResult {
        try await run(name, [], environment)
    }

    private func run(
        _ name: String,
        _ arguments: [String],
        _ environment: [String: String]
    ) async throws -> ProcessResult {
        let path = Self.folder.appending(path: name).path(percentEncoded: false)
        return try await BuiltProgram.sh.runApart([path] + arguments, environment: environment)
    }

    /// Verifies a token as the vendor does.
    private static func claims(
        _ token: Substring?,
        _ key: VerificationKey,
        audience: String? = nil
    ) throws -> VerifiedToken {
        try JWTVerifier(
            key: key,
            policy: ValidationPolicy(issuer: .skipIssuerCheck, audience: audience.map { .contains($0) } ?? .absent)
        ).verify(String(token ?? ""))
    }

    private static func rsaKey() throws -> VerificationKey {
        try SigningKey(pem: KeyFixtures.rsa, algorithm: .rs256).verificationKey
    }

    private static func form(_ request: LoopbackRequest) -> [String: String] {
        let items = URLComponents(string: "?" + String(decoding: request.body, as: UTF8.self))?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { $1 }
    }

    @Test("Gets an installation token of a GitHub App")
    func gitHubApp() async throws {
        try await withLoopbackServer { server in
            server.on(.post, "/app/installations/678/access_tokens", .json(#"{"token":"ghs_secret"}"#, status: 201))
            let result = try await run(
                "github-app.sh",
                [
                    "APP_ID": "12345", "INSTALLATION_ID": "678", "KEY": temporary.file("rsa.pem"),
                    "GITHUB_API_URL": server.origin,
                ]
            )
            #expect(result == .success("ghs_secret\n"))
            let header = try #require(server.requests.first?.headers["Authorization"])
            let token = try Self.claims(header.split(separator: " ").last, try Self.rsaKey())
            #expect(token.registered.issuer == "12345")
            let (issued, expires) = (token.registered.issuedAt, token.registered.expiration)
            #expect(expires?.timeIntervalSince(try #require(issued)) == 600)
        }
    }

    @Test("Sends a client assertion to GOV.UK One Login")
    func oneLogin() async throws {
        try await withLoopbackServer { server in
            server.on(.post, "/token", .json(#"{"access_token":"a"}"#))
            let endpoint = server.origin + "/token"
            let result = try await run(
                "govuk-one-login.sh",
                [
                    "CLIENT_ID": "client", "CODE": "c&d", "REDIRECT_URI": "https://service.example/callback?a=b",
                    "KEY": temporary.file("rsa.pem"), "TOKEN_ENDPOINT": endpoint,
                ]
            )
            #expect(result == .success(#"{"access_token":"a"}"#))
            let form = Self.form(try #require(server.requests.first))
            #expect(form["grant_type"] == "authorization_code")
            #expect(form["code"] == "c&d")
            #expect(form["redirect_uri"] == "https://service.example/callback?a=b")
            #expect(form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
            let policy = ValidationPolicy.clientAssertion(audience: endpoint, clientID: "client")
            let assertion = form["client_assertion"] ?? ""
            #expect(throws: Never.self) { try JWTVerifier(key: try Self.rsaKey(), policy: policy).verify(assertion) }
        }
    }

    @Test("Gets an access token for a Google service account")
    func serviceAccount() async throws {
        try await withLoopbackServer { server in
            server.on(.post, "/token", .json(#"{"access_token":"ya29"}"#))
            let endpoint = server.origin + "/token"
            let account: JSONObject = [
                "private_key": .string(KeyFixtures.rsa), "private_key_id": "k1", "client_email": "a@b.example",
                "token_uri": .string(endpoint),
            ]
            let file = try temporary.write(account.serialized(), to: "account.json")
            let result = try await run("google-service-account.sh", ["ACCOUNT": file, "SCOPE": "x y"])
            #expect(result == .success("ya29\n"))
            let form = Self.form(try #require(server.requests.first))
            #expect(form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer")
            let token = try Self.claims(form["assertion"].map { $0[...] }, try Self.rsaKey(), audience: endpoint)
            #expect(token.header["kid"] == "k1")
            #expect(token.registered.issuer == "a@b.example")
            #expect(token.claims["scope"] == "x y")
        }
    }

    @Test("Sends a request to App Store Connect")
    func appStoreConnect() async throws {
        try await withLoopbackServer { server in
            server.on(.get, "/v1/apps", .json(#"{"data":[]}"#))
            let environment = [
                "ISSUER_ID": "issuer", "KEY_ID": "2X9R4HXF34", "KEY": temporary.file("key.pem"),
                "APP_STORE_CONNECT_URL": server.origin,
            ]
            let result = try await run("app-store-connect.sh", ["/v1/apps"], environment)
            #expect(result == .success(#"{"data":[]}"#))
            let header = try #require(server.requests.first?.headers["Authorization"])
            let key = try SigningKey(pem: KeyFixtures.pkcs8).verificationKey
            let token = try Self.claims(header.split(separator: " ").last, key, audience: "appstoreconnect-v1")
            #expect(token.header["kid"] == "2X9R4HXF34")
            #expect(token.registered.issuer == "issuer")
            // The script fails if the server does.
            #expect(try await run("app-store-connect.sh", ["/v1/other"], environment).status == 22)
        }
    }

    @Test("Sends a push message with a VAPID key")
    func vapid() async throws {
        try await withLoopbackServer { server in
            server.on(.post, "/push/1", .status(201))
            let result = try await run(
                "vapid.sh",
                [server.origin + "/push/1"],
                ["CONTACT": "mailto:ops@example.org", "KEY": temporary.file("key.pem")]
            )
            #expect(result == .success())
            let request = try #require(server.requests.first)
            #expect(request.headers["TTL"] == "60")
            let header = try #require(request.headers["Authorization"])
            let parts = try #require(header.wholeMatch(of: /vapid t=([^,]+), k=(.+)/))
            let key = try SigningKey(pem: KeyFixtures.pkcs8).verificationKey
            let token = try Self.claims(parts.1, key, audience: server.origin)
            #expect(token.registered.subject == "mailto:ops@example.org")
            let point = try ["x", "y"].map { try #require(key.jwk.members[$0]?.string) }
            let octets = try #require(Data(base64URL: String(parts.2)))
            #expect(octets.count == 65 && octets.first == 4)
            #expect(try octets.dropFirst().prefix(32) == #require(Data(base64URL: point[0])))
            #expect(try octets.suffix(32) == #require(Data(base64URL: point[1])))
        }
    }

    @Test("Keeps two keys after a rotation, so that tokens of the previous key stay valid")
    func rotation() async throws {
        let folder = temporary.path + "/keys"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        // A thumbprint can begin with a hyphen.
        try BuiltProgram.jwt.run("key", "jwks", "add", folder + "/keys.jwks", temporary.file("key.pem"), "--kid=-old")
        var tokens: [String] = []
        var names: [String] = []
        for _ in 0..<3 {
            let result = try await run("rotate-key.sh", [folder], [:])
            #expect(result.status == 0 && result.errors == "", "\(result)")
            names.append(result.output.trimmingCharacters(in: .newlines))
            tokens.append(
                try BuiltProgram.jwt.run(
                    [
                        "sign", "-k", folder + "/key.pem", "--kid", "auto", "--iss", "ci", "--aud", "deploy", "--sub",
                        "me",
                    ]
                        + ["--expires-in", "1h"]
                ).output
            )
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["key.pem", "keys.jwks"])
        #expect(
            try JWKSet(parsing: temporary.text(of: "keys/keys.jwks")).keys.compactMap(\.keyID) == Array(names.suffix(2))
        )
        #expect(try temporary.mode(of: "keys/key.pem") == 0o600)
        #expect(try temporary.mode(of: "keys/keys.jwks") == 0o644)
        for (token, status) in zip(tokens, [1, 0, 0] as [Int32]) {
            let result = try BuiltProgram.shell(
                "sh '\(Self.folder.path(percentEncoded: false))/verify-with-jwks.sh'",
                input: token,
                environment: ["JWKS": folder + "/keys.jwks", "ISSUER": "ci", "AUDIENCE": "deploy"]
            )
            #expect(result.status == status)
            #expect(result.output == (status == 0 ? "me\n" : ""))
            #expect(result.errors.hasPrefix(#"{"error":{"code":"unknownKey","#) == (status == 1))
        }
    }

    @Test("Fails without printing a token if the server rejects the request")
    func refusals() async throws {
        try await withLoopbackServer { server in
            server.on(.post, "/app/installations/678/access_tokens", .status(401))
            server.on(.post, "/token", .status(400))
            let key = try String(contentsOfFile: temporary.file("rsa.pem"), encoding: .utf8)
            let account: JSONObject = [
                "token_uri": .string("\(server.origin)/token"), "client_email": "ci@example", "private_key_id": "1",
                "private_key": .string(key),
            ]
            try temporary.write(account.serialized(), to: "account.json")
            let environment = [
                "APP_ID": "12345", "INSTALLATION_ID": "678", "KEY": temporary.file("rsa.pem"),
                "GITHUB_API_URL": server.origin, "ACCOUNT": temporary.file("account.json"), "SCOPE": "read",
            ]
            for script in ["github-app.sh", "google-service-account.sh"] {
                let result = try await run(script, environment)
                #expect(result.status == 22 && result.output.isEmpty, "\(script): \(result)")
            }
            #expect(server.requests.count == 2)
        }
    }

    @Test("Lists every script in Docs/Command.md")
    func listed() throws {
        let page = try String(
            contentsOf: Self.folder.deletingLastPathComponent().appending(path: "Command.md"),
            encoding: .utf8
        )
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path(percentEncoded: false))
        #expect(names.count == 7)
        for name in names { #expect(page.contains("(Scripts/\(name))")) }
    }
}

extension LoopbackServer {
    fileprivate var origin: String { "http://127.0.0.1:\(port)" }
}

extension Data {
    fileprivate init?(base64URL text: String) {
        let padding = String(repeating: "=", count: (4 - text.count % 4) % 4)
        self.init(base64Encoded: text.replacing("-", with: "+").replacing("_", with: "/") + padding)
    }
}

@Suite("Transcripts of the documentation", .limitedConcurrency)
struct TranscriptTests {
    /// A command and its output.
    private struct Step: Equatable {
        var command: String
        var output: String
    }

    private static let publicKey =
        #"echo '{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}'"#

    /// The pages, and the commands that their transcripts begin with.
    private static let pages: [(page: String, commands: [String])] = [
        ("README.md", ["jwt keygen", "jwt sign", "jwt verify"]),
        ("Docs/Command.md", ["jwt keygen", "jwt sign", "jwt verify"]),
        ("Docs/CommandSDJWT.md", ["jwt keygen", "jwt keygen", "jwt sd", "jwt sd", "jwt sd", "jwt sd"]),
        ("Docs/CommandHTTP.md", [publicKey, #"printf '%s\n'"#, "jwt http", "jwt http"]),
    ]

    @Test("Prints the documented output, except for times and random text", arguments: pages)
    func transcript(page: String, commands: [String]) throws {
        let steps = try Self.steps(of: page)
        let found = steps.map { $0.command.split(separator: " ").prefix(2).joined(separator: " ") }
        #expect(found.starts(with: commands))
        let folder = try TemporaryFolder()
        for step in steps {
            let result = try BuiltProgram.shell("{ \(step.command)\n} 2>&1", in: folder)
            #expect(result.status == 0)
            #expect(Self.constant(result.output) == Self.constant(step.output))
        }
    }

    private static func steps(of page: String) throws -> [Step] {
        let file = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: page)
        let text = try String(contentsOf: file, encoding: .utf8)
        // Three backticks, which Swift 6.2 doesn't accept in a literal.
        let block = try #require(text.firstMatch(of: /\x60{3}console\n((?s:.*?))\x60{3}/)).1
        var steps: [Step] = []
        for line in block.split(separator: "\n") {
            if let last = steps.last, last.command.hasSuffix("\\") {
                steps[steps.count - 1].command += "\n" + line
            } else if line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2)), output: ""))
            } else if !steps.isEmpty {
                steps[steps.count - 1].output += line + "\n"
            }
        }
        return steps
    }

    /// Replaces times, and digests and coordinates of 32 bytes.
    private static func constant(_ text: String) -> String {
        text.replacing(/\d{10}/, with: "SECONDS").replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \([^)]*\)/, with: "DATE")
            .replacing(/"[A-Za-z0-9_-]{43}"/, with: "BYTES")
    }
}

@Suite("quickstart", .limitedConcurrency)
struct QuickstartTests {
    @Test("Runs all steps and needs one refresh for 50 calls")
    func steps() throws {
        let result = try BuiltProgram.quickstart.run()
        #expect(result.errors.isEmpty)
        #expect(result.status == 0)
        let lines = result.output.split(separator: "\n")
        let beginnings = [
            "1. generated a P-256 key: {", "2. started an authorization server at http://127.0.0.1:",
            "3. signed a client assertion (RFC 7523): {", "4. got an access token: {",
            #"5. called the API, which responded with {"reports":3}"#, "6. the server revoked the token",
            "7. 50 concurrent calls got a 401; 1 refresh, and all 50 succeeded",
            "done: 101 API requests, 2 token requests, 1 refresh, ",
        ]
        #expect(lines.count == beginnings.count)
        for (line, beginning) in zip(lines, beginnings) {
            #expect(line.hasPrefix(beginning))
        }
    }

    @Test("Shows the contents of tokens, but no private key")
    func contents() throws {
        let output = try BuiltProgram.quickstart.run().output
        #expect(output.contains(#""iss":"quickstart""#))
        #expect(output.contains(#""client_id":"quickstart""#))
        #expect(output.contains(#""scope":"reports.read""#))
        #expect(!output.contains(#""d":"#))
    }

    @Test("Runs every example without errors")
    func examples() async throws {
        let names = try BuiltProgram.quickstart.run("--list").output.split(separator: "\n").map { line in
            String(line.prefix { $0 != ":" })
        }
        let expected = [
            "quickstart", "backend-service", "resource-server", "remote-signer", "token-exchange", "mutual-tls",
            "device-login",
        ]
        #expect(names == expected)
        for name in names {
            let result = try await BuiltProgram.quickstart.runApart([name])
            #expect(result.status == 0, "\(name): \(result.errors)")
            #expect(result.output.split(separator: "\n").count >= 3, "\(name): \(result.output)")
        }
    }

    @Test("Follows the server's polling interval in a device login, and refreshes tokens")
    func deviceLogin() throws {
        let result = try BuiltProgram.quickstart.run("device-login")
        #expect(result.status == 0, "\(result.errors)")
        let expected = [
            /1\. open http:\/\/127\.0\.0\.1:\d+\/device and enter [A-Z]{4}-[A-Z]{4}/,
            /[ ]{3}begun: polling again in 5\.0 seconds; 600\.0 seconds left/,
            /[ ]{3}slowedDown: polling again in 10\.0 seconds; 595\.0 seconds left/,
            /[ ]{3}pending: polling again in 10\.0 seconds; 585\.0 seconds left/,
            /2\. authorized after 3 polls/,
            /3\. called the API: Ada's reports/,
            /4\. called it again with a refreshed token after the first was revoked: Ada's reports/,
        ]
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == expected.count)
        for (line, regex) in zip(lines, expected) { #expect(line.wholeMatch(of: regex) != nil, "\(line)") }
    }

    @Test("The protected API logs why it refuses a request")
    func refusals() throws {
        let lines = try BuiltProgram.quickstart.run("resource-server").output.split(separator: "\n")
        let expected = [
            /1\. with a token: reports for reader/, /[ ]{3}refused: insufficientScope: .+/,
            /403: insufficient scope; Bearer .*scope="reports\.write".*/, /[ ]{3}refused: noToken: .+/,
            /401: no token; Bearer realm="reports", scope="reports\.read"/, /[ ]{3}refused: invalidToken: .+/,
            /401: a token signed with another key; Bearer .*error="invalid_token".*/,
        ]
        #expect(lines.count == expected.count)
        for (line, regex) in zip(lines, expected) { #expect(line.wholeMatch(of: regex) != nil, "\(line)") }
        #expect(!lines.contains { $0.contains("DPoP") })
    }

    @Test("Rejects an unknown example and lists the available ones")
    func unknown() throws {
        let result = try BuiltProgram.quickstart.run("fast-start")
        #expect(result.status == 64)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains("“fast-start”") && result.errors.contains("remote-signer"))
    }
}
