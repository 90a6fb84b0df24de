import Foundation
import TestSupport
import Testing
import TokenGeneration

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

    @Test("Finds tokens in variables, and shows their claims but never the token")
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
