import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import jwt

@Suite("jwt token --from", .limitedConcurrency, .tokenScene)
struct PlatformTokenTests {
    private var scene: TokenScene { .current }

    private let key: SigningKey

    init() throws { key = try SigningKey.generate(.es256) }

    /// Returns a JWT that the key signs as a platform's.
    private func token(_ subject: String, issuer: String? = nil, audience: String, id: String = "1") throws -> String {
        var claims = RegisteredClaims(issuer: issuer ?? subject, subject: subject, audience: [audience], jwtID: id)
        claims.setTimes(lifetime: .seconds(3_600), issuedAt: Date())
        return try key.sign(claims)
    }

    @Test(
        "Authenticates the client with a token in a file, and caches the access token for its subject",
        .shows("O35", "W11")
    )
    func assertion() async throws {
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

    @Test("Takes the source and the audience from a profile")
    func profile() async throws {
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

    @Test("Exchanges the token with --grant token_exchange, and sends it as a grant with --grant jwt_bearer")
    func grants() async throws {
        scene.authorization.register(.init(id: "cli", authentication: .none))
        scene.authorization.acceptAssertions(of: "https://ci.example", key: key.verificationKey)
        let value = try token("job", issuer: "https://ci.example", audience: scene.issuer)
        let flags = ["token", "--issuer", scene.issuer, "--client-id", "cli", "--from", "gitlab:AS_TOKEN"]
        let bearer = try await scene.jwt(flags + ["--grant", "jwt_bearer"], environment: ["AS_TOKEN": value])
        #expect(bearer.status == 0 && bearer.errors == "", "\(bearer)")
        #expect(scene.authorization.isActive(TokenScene.token(bearer)))

        scene.authorization.misbehave(.response(.json(#"{"error":"invalid_grant"}"#, status: 400)))
        let rejected = try await scene.jwt(flags + ["--grant", "token_exchange"], environment: ["AS_TOKEN": value])
        #expect(rejected.status == 1 && rejected.errors.contains("invalid_grant"), "\(rejected)")
    }

    @Test("Prints the platform's token without an authorization server")
    func noServer() async throws {
        let value = try token("a", audience: "https://as.example")
        let path = try scene.home.write(value, to: "token")
        let flags = ["token", "--from", "file:\(path)"]
        #expect(try await scene.jwt(flags) == .success(value + "\n"))
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

    @Test("Requests a token of GitHub Actions, without the proxy of the environment", .shows("O35", "W10"))
    func gitHubActions() async throws {
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
            #expect(result == .success(value + "\n"))
            let request = try #require(server.requests.first)
            #expect(request.query == "api=2&audience=https%3A%2F%2Fas.example")
            #expect(request.headers["Authorization"] == "Bearer S3cr3t")
            #expect(server.requests.count == 1)
        }
    }

    @Test("Prints the tokens of Google Cloud's and Azure's machines, without a proxy")
    func clouds() async throws {
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
            #expect(google == .success(value + "\n"))
            #expect(server.requests.first?.headers["Metadata-Flavor"] == "Google")
            let variables = [
                "IDENTITY_ENDPOINT": server.url(for: "/msi/token").absoluteString, "IDENTITY_HEADER": "h",
            ]
            let azure = try await scene.jwt(flags + ["azure:client-7"], environment: proxies.merging(variables) { $1 })
            #expect(azure == .success("a.b\n"))
            let query = server.requests.last?.query ?? ""
            #expect(query.contains("resource=https%3A%2F%2Fas.example") && query.contains("client_id=client-7"))
            let missing = try await scene.jwt(["token", "--from", "gcp"])
            #expect(missing.errors.contains("pass --from-audience TEXT"), "\(missing)")
        }
    }

    @Test("Logs in to Vault with another source, as a profile says, and only for Vault", .shows("O39", "W19"))
    func vault() async throws {
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
            #expect(result == .success("hvs.1\n"))
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

    @Test("Names the platform's setting if its token is missing, for another server or expired")
    func failures() async throws {
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

@Suite("jwt whoami", .limitedConcurrency)
struct WhoamiCommandTests {
    private let folder: TemporaryFolder
    private let token: String

    init() throws {
        folder = try TemporaryFolder()
        var claims = RegisteredClaims(
            issuer: "https://ci.example",
            subject: "repo:o/r",
            audience: ["https://as.example", "b"],
            expiration: Date(timeIntervalSince1970: 4_000_000_000)
        )
        claims.jwtID = "S3cr3t"
        token = try SigningKey.generate(.es256).sign(claims)
    }

    @Test("Finds tokens in variables, and shows their claims but never the token", .shows("O35"))
    func found() throws {
        let environment = ["AS_TOKEN": token, "GITLAB_CI": "true", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "S3cr3t"]
        let result = try BuiltProgram.jwt.run(["whoami"], environment: environment)
        #expect(result.status == 0 && result.errors == "", "\(result)")
        #expect(
            result.output.hasSuffix(
                """
                github-actions
                  unusable  ACTIONS_ID_TOKEN_REQUEST_URL isn't set; the job needs “permissions: id-token: write”
                gitlab:AS_TOKEN
                  issuer    https://ci.example
                  subject   repo:o/r
                  audience  https://as.example, b
                  expires   2096-10-02T07:06:40Z

                """
            ),
            "\(result.output)"
        )
        #expect(!result.output.contains("S3cr3t") && !result.output.contains(token.prefix(20)))
    }

    @Test("Shows given sources, with --json, and fails if none is usable")
    func given() throws {
        let path = try folder.write(token, to: "token")
        let result = try BuiltProgram.jwt.run(
            ["whoami", "--json", "--from", "spiffe:\(path)", "--from", "env:MISSING", "--from", "github-actions"],
            environment: [
                "ACTIONS_ID_TOKEN_REQUEST_URL": "https://127.0.0.1:1/", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "t",
            ]
        )
        #expect(result.status == 0 && result.errors == "", "\(result)")
        let sources = try #require(try JSONObject(parsing: result.output)["sources"]?.array?.compactMap(\.object))
        #expect(sources.map { $0["usable"]?.bool } == [true, false, true])
        #expect(sources[0]["sub"] == "repo:o/r")
        #expect(sources[0]["aud"] == ["https://as.example", "b"])
        #expect(sources[1]["message"]?.string?.contains("MISSING isn't set") == true)
        #expect(sources[2]["message"] == "the job can request a token for any audience")

        let none = try BuiltProgram.jwt.run(["whoami", "--from", "file:\(folder.file("none"))"])
        #expect(none.status == 1)
        #expect(none.output.contains("doesn't exist"))
        #expect(none.errors == "jwt whoami: no source has a usable identity\n")
    }

    @Test("Shows what the variables of Azure and Google Cloud tell, without a request")
    func clouds() throws {
        let path = try folder.write(token, to: "azure-token")
        let result = try BuiltProgram.jwt.run(
            ["whoami", "--json"],
            environment: [
                "IDENTITY_ENDPOINT": "http://127.0.0.1:1/", "GCE_METADATA_HOST": "127.0.0.1:1",
                "AZURE_FEDERATED_TOKEN_FILE": path,
            ]
        )
        #expect(result.status == 0 && result.errors == "", "\(result)")
        let sources = try JSONObject(parsing: result.output)["sources"]?.array?.compactMap(\.object) ?? []
        let found = sources.filter { $0["source"] != "kubernetes" }
        #expect(found.map { $0["source"]?.string } == ["azure", "gcp", "file:\(path)"])
        #expect(found.allSatisfy { $0["usable"] == true })
        #expect(found.last?["sub"] == "repo:o/r")
        let unknown = try BuiltProgram.jwt.run(["whoami", "--from", "gcp"])
        #expect(unknown.status == 1 && unknown.output.contains("only a request shows"), "\(unknown)")
    }

    @Test("Shows what Vault gets, without a request")
    func vault() throws {
        let path = try folder.write(token, to: "vault-token")
        let arguments = ["whoami", "--json", "--from", "vault:reports,file:\(path)"]
        let result = try BuiltProgram.jwt.run(arguments, environment: ["VAULT_ADDR": "http://127.0.0.1:1"])
        let source = try JSONObject(parsing: result.output)["sources"]?.array?.first?.object
        #expect(source?["usable"] == true && source?["sub"] == "repo:o/r", "\(result)")
        let unset = try BuiltProgram.jwt.run(arguments)
        #expect(unset.status == 1 && unset.output.contains("VAULT_ADDR isn't set"), "\(unset)")
    }

    @Test("Shows control characters of a token visibly")
    func controlCharacters() throws {
        let claims = RegisteredClaims(issuer: "a\u{1B}[2Jb")
        let token = try SigningKey.generate(.es256).sign(claims)
        let result = try BuiltProgram.jwt.run(["whoami", "--from", "env:T"], environment: ["T": token])
        #expect(result.status == 0)
        #expect(!result.output.contains("\u{1B}"))
    }
}
