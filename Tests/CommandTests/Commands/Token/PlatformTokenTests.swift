import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import jwt

@Suite("jwt token --from", .limitedConcurrency)
struct PlatformTokenTests {
    private let key: SigningKey

    init() throws { key = try SigningKey.generate(.es256) }

    /// Returns a JWT that the key signs as a platform's.
    private func token(_ subject: String, issuer: String? = nil, audience: String, id: String = "1") throws -> String {
        var claims = RegisteredClaims(issuer: issuer ?? subject, subject: subject, audience: [audience], jwtID: id)
        claims.setTimes(lifetime: .seconds(300), issuedAt: Date())
        return try key.sign(claims)
    }

    @Test("Authenticates the client with a token in a file, and caches the access token for its subject")
    func assertion() async throws {
        try await TokenScene.play { scene in
            scene.authorization.register(.init(id: "workload", key: key.verificationKey))
            let path = try scene.home.write(token("workload", audience: scene.issuer) + "\n", to: "token")
            let flags = [
                "token", "--issuer", scene.issuer, "--client-id", "workload", "--from", "kubernetes:\(path)",
            ]
            let first = try await scene.jwt(flags)
            #expect(first.status == 0 && first.errors == "", "\(first)")
            #expect(scene.authorization.isActive(TokenScene.token(first)))
            #expect(try await scene.jwt(flags) == first)
            // The server accepts each assertion once.
            #expect(scene.authorization.tokenRequestCount == 1)
            let again = try await scene.jwt(flags + ["--refresh"])
            #expect(again.status == 1 && again.errors.contains("invalid_client"), "\(again)")
            // Another subject doesn't get the cached token.
            try scene.home.write(token("other", issuer: "workload", audience: scene.issuer, id: "2"), to: "token")
            #expect(try await scene.jwt(flags).status == 1)
            try scene.home.write(token("workload", audience: scene.issuer, id: "3"), to: "token")
            let renewed = try await scene.jwt(flags + ["--refresh"])
            #expect(renewed.status == 0 && renewed.output != first.output, "\(renewed)")
        }
    }

    @Test("Takes the source and the audience from a profile")
    func profile() async throws {
        try await TokenScene.play { scene in
            scene.authorization.register(.init(id: "workload", key: key.verificationKey))
            let members: JSONObject = [
                "token-endpoint": .string(scene.endpoint), "issuer": .string(scene.issuer), "client-id": "workload",
                "from": "env:PLATFORM_TOKEN", "from-audience": .string(scene.issuer),
            ]
            try scene.write(profiles: ["ci": .object(members)])
            let environment = ["PLATFORM_TOKEN": try token("workload", audience: scene.issuer)]
            let result = try await scene.jwt(["token", "--profile", "ci"], environment: environment)
            #expect(result.status == 0 && result.errors == "", "\(result)")
            #expect(scene.authorization.isActive(TokenScene.token(result)))
        }
    }

    @Test("Exchanges the token with --grant token_exchange, and sends it as a grant with --grant jwt_bearer")
    func grants() async throws {
        try await TokenScene.play { scene in
            scene.authorization.register(.init(id: "cli", authentication: .none))
            scene.authorization.acceptAssertions(of: "https://ci.example", key: key.verificationKey)
            let value = try token("job", issuer: "https://ci.example", audience: scene.issuer)
            let flags = ["token", "--issuer", scene.issuer, "--client-id", "cli", "--from", "gitlab:AS_TOKEN"]
            let bearer = try await scene.jwt(flags + ["--grant", "jwt_bearer"], environment: ["AS_TOKEN": value])
            #expect(bearer.status == 0 && bearer.errors == "", "\(bearer)")
            #expect(scene.authorization.isActive(TokenScene.token(bearer)))

            scene.authorization.misbehave(.response(.json(#"{"error":"invalid_grant"}"#, status: 400)))
            let rejected = try await scene.jwt(
                flags + ["--grant", "token_exchange"],
                environment: ["AS_TOKEN": value]
            )
            #expect(rejected.status == 1 && rejected.errors.contains("invalid_grant"), "\(rejected)")
        }
    }

    @Test("Prints the platform's token without an authorization server")
    func noServer() async throws {
        try await TokenScene.play { scene in
            let value = try token("a", audience: "https://as.example")
            let path = try scene.home.write(value, to: "token")
            let flags = ["token", "--from", "file:\(path)"]
            #expect(try await scene.jwt(flags) == ProcessResult(status: 0, output: value + "\n", errors: ""))
            let json = try await scene.jwt(flags + ["--json", "--from-audience", "https://as.example"])
            let object = try JSONObject(parsing: json.output)
            #expect(object["access_token"]?.string == value)
            #expect(object["token_type"] == "N_A")
            #expect(scene.authorization.tokenRequestCount == 0)
            try scene.home.write(value, to: "token", mode: 0o644)
            let readable = try await scene.jwt(flags)
            #expect(readable.status == 0)
            #expect(readable.errors.contains("other users can read this token"), "\(readable)")
        }
    }

    @Test("Requests a token of GitHub Actions, without the proxy of the environment")
    func gitHubActions() async throws {
        try await TokenScene.play { scene in
            let root = try MockCertificateAuthority(name: "Root")
            var configuration = LoopbackServer.Configuration()
            configuration.tls = LoopbackServer.TLS(
                certificate: try root.issueServerCertificate(hosts: ["localhost"])
            )
            try scene.home.write(root.certificatePEM, to: "root.pem")
            let value = try token("repo:o/r", audience: "https://as.example")
            try await withLoopbackServer(configuration: configuration) { server in
                server.on(.get, "/token", .json(#"{"value":"\#(value)"}"#))
                let environment = [
                    "ACTIONS_ID_TOKEN_REQUEST_URL": "https://localhost:\(server.port)/token?api=2",
                    "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "S3cr3t", "SSL_CERT_FILE": scene.home.file("root.pem"),
                    "https_proxy": "http://127.0.0.1:1", "all_proxy": "http://127.0.0.1:1", "no_proxy": "",
                ]
                let flags = ["token", "--from", "github-actions", "--from-audience", "https://as.example"]
                let result = try await scene.jwt(flags, environment: environment)
                #expect(result == ProcessResult(status: 0, output: value + "\n", errors: ""))
                let request = try #require(server.requests.first)
                #expect(request.query == "api=2&audience=https%3A%2F%2Fas.example")
                #expect(request.headers["Authorization"] == "Bearer S3cr3t")
                #expect(server.requests.count == 1)
            }
        }
    }

    @Test("Prints the tokens of Google Cloud's and Azure's machines, without a proxy")
    func clouds() async throws {
        try await TokenScene.play { scene in
            let value = try token("robot", issuer: "https://accounts.google.com", audience: "https://as.example")
            try await withLoopbackServer { server in
                server.on(.get, "/computeMetadata/v1/instance/service-accounts/default/identity") { _ in
                    .text(value, headers: ["Metadata-Flavor": "Google"])
                }
                let end = Int(Date().timeIntervalSince1970) + 3_600
                server.on(
                    .get,
                    "/msi/token",
                    .json(#"{"access_token":"a.b","expires_on":"\#(end)","token_type":"Bearer"}"#)
                )
                let proxies = ["http_proxy": "http://127.0.0.1:1", "all_proxy": "http://127.0.0.1:1"]
                let flags = ["token", "--from-audience", "https://as.example", "--from"]
                let google = try await scene.jwt(
                    flags + ["gcp"],
                    environment: proxies.merging(["GCE_METADATA_HOST": "127.0.0.1:\(server.port)"]) { $1 }
                )
                #expect(google == ProcessResult(status: 0, output: value + "\n", errors: ""))
                #expect(server.requests.first?.headers["Metadata-Flavor"] == "Google")
                let variables = [
                    "IDENTITY_ENDPOINT": server.url(for: "/msi/token").absoluteString, "IDENTITY_HEADER": "h",
                ]
                let azure = try await scene.jwt(
                    flags + ["azure:client-7"],
                    environment: proxies.merging(variables) { $1 }
                )
                #expect(azure == ProcessResult(status: 0, output: "a.b\n", errors: ""))
                let query = server.requests.last?.query ?? ""
                #expect(query.contains("resource=https%3A%2F%2Fas.example") && query.contains("client_id=client-7"))
                let missing = try await scene.jwt(["token", "--from", "gcp"])
                #expect(missing.errors.contains("pass --from-audience TEXT"), "\(missing)")
            }
        }
    }

    @Test("Logs in to Vault with another source, as a profile says, and only for Vault")
    func vault() async throws {
        try await TokenScene.play { scene in
            let root = try MockCertificateAuthority(name: "Root")
            var configuration = LoopbackServer.Configuration()
            configuration.tls = LoopbackServer.TLS(
                certificate: try root.issueServerCertificate(hosts: ["localhost"])
            )
            let roots = try scene.home.write(root.certificatePEM, to: "root.pem")
            let value = try token("job", issuer: "https://ci.example", audience: "https://vault.example")
            let path = try scene.home.write(value, to: "token")
            try await withLoopbackServer(configuration: configuration) { server in
                server.on(
                    .post,
                    "/v1/auth/ci/jobs/login",
                    .json(#"{"auth":{"client_token":"hvs.1","lease_duration":60,"renewable":true}}"#)
                )
                let environment = [
                    "VAULT_ADDR": "https://localhost:\(server.port)", "VAULT_CACERT": roots, "VAULT_NAMESPACE": "n",
                    "https_proxy": "http://127.0.0.1:1",
                ]
                try scene.write(profiles: [
                    "vault": [
                        "from": .string("vault:ci/jobs/reports,file:\(path)"), "from-audience": "https://vault.example",
                    ]
                ])
                let result = try await scene.jwt(["token", "--profile", "vault"], environment: environment)
                #expect(result == ProcessResult(status: 0, output: "hvs.1\n", errors: ""))
                let request = try #require(server.requests.first)
                #expect(request.headers["X-Vault-Namespace"] == "n")
                #expect(try JSONObject(parsing: request.body) == ["role": "reports", "jwt": .string(value)])
                let missing = try await scene.jwt(["token", "--profile", "vault"])
                #expect(missing.status == 2 && missing.errors.contains("VAULT_ADDR"), "\(missing)")
                let other = try await scene.jwt(
                    ["token", "--profile", "vault", "--issuer", scene.issuer, "--client-id", "c"],
                    environment: environment
                )
                #expect(other.status == 64 && other.errors.contains("for Vault alone"), "\(other)")
                #expect(server.requests.count == 1)
            }
        }
    }

    @Test("Names the platform's setting if its token is missing, for another server or expired")
    func failures() async throws {
        try await TokenScene.play { scene in
            let flags = ["token", "--issuer", scene.issuer, "--client-id", "workload", "--json", "--from"]
            func error(_ source: String, _ environment: [String: String] = [:]) async throws -> (Int32, JSONObject?) {
                let result = try await scene.jwt(flags + [source], environment: environment)
                #expect(result.output == "")
                return (result.status, try JSONObject(parsing: result.errors)["error"]?.object)
            }
            let missing = try await error("gitlab:AS_TOKEN")
            #expect(missing.0 == 2)
            #expect(missing.1?["code"] == "notConfigured")
            #expect(missing.1?["message"]?.string?.contains("id_tokens: { AS_TOKEN: { aud:") == true)
            let other = try await error("env:T", ["T": token("a", audience: "https://other.example")])
            #expect(other.0 == 2)
            #expect(other.1?["code"] == "wrongAudience")
            let github = try await error("github-actions", ["ACTIONS_ID_TOKEN_REQUEST_URL": ""])
            #expect(github.1?["message"]?.string?.contains("id-token: write") == true)
            let path = try scene.home.write(token("a", audience: scene.issuer), to: "token", mode: 0o666)
            #expect(try await error("spiffe:\(path)").1?["code"] == "insecureFile")
            #expect(scene.authorization.tokenRequestCount == 0)
        }
    }

    private static let base = ["--token-endpoint", "https://x/t", "--client-id", "c"]

    /// Options, and the text of the error. Swift 6.2 needs the type of so many.
    private static let unusable: [([String], String)] = [
        (["--from", "ftp"], "--from must be \(PlatformSource.forms)"),
        (["--from", "file:token"], "--from must have an absolute path after the colon"),
        (["--from", "spiffe"], "--from must be \(PlatformSource.forms)"),
        (["--from", "vault:r,kubernetes"], "this --from needs the token's audience; pass --from-audience TEXT"),
        (
            ["--from", "vault:reports"],
            "--from must name a role and a source, such as vault:reports,kubernetes:/path"
        ),
        (["--from", "vault:a,vault:b,gcp"], "--from can't log in to Vault with a token of Vault"),
        (["--from", "kubernetes"], "this --from needs the token's audience; pass --from-audience TEXT"),
        (["--from-audience", "a"] + base + ["--key", "k"], "--from-audience requires --from SOURCE"),
        (
            ["--from", "env:T", "--client-id", "c"],
            "--client-id requires an authorization server; pass --issuer ISSUER or --token-endpoint URL"
        ),
        (
            ["--from", "env:T", "--refresh"],
            "the platform's token isn't cached; pass an authorization server"
        ),
        (
            base + ["--from", "env:T", "--key", "k"],
            """
            --from authenticates the client, like a secret or a key; remove one of them, or use the platform's token \
            with --grant token_exchange or jwt_bearer
            """
        ),
        (
            base + ["--key", "k", "--assertion-type", "jwt-spiffe"],
            "--assertion-type requires --from SOURCE that authenticates the client"
        ),
        (
            base + ["--key", "k", "--grant", "jwt_bearer"],
            "--grant jwt_bearer needs the platform's token: --from SOURCE"
        ),
    ]

    @Test("Rejects unusable combinations", arguments: unusable)
    func mistakes(arguments: [String], message: String) throws {
        let result = try BuiltProgram.jwt.run(["token"] + arguments)
        let errors = "jwt token: \(message) (see jwt token --help)\n"
        #expect(result == ProcessResult(status: 64, output: "", errors: errors))
    }
}
