import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt token", .limitedConcurrency, .tokenScene)
struct TokenCommandTests {
    private var scene: TokenScene { .current }

    @Test("Prints only the token, caches it privately, and prints it again without a request")
    func keeps() async throws {
        let first = try await scene.jwt(["token"] + scene.flags)
        #expect(first.status == 0 && first.errors == "", "\(first)")
        #expect(first.output.hasSuffix("\n"))
        #expect(scene.authorization.isActive(TokenScene.token(first)))
        #expect(try await scene.jwt(["token"] + scene.flags) == first)
        #expect(scene.authorization.tokenRequestCount == 1)
        #expect(try scene.home.mode(of: ".local/state/jwt/tokens") == 0o700)
        let kept = try FileManager.default.contentsOfDirectory(atPath: scene.home.file(".local/state/jwt/tokens"))
        for name in kept { #expect(try scene.home.mode(of: ".local/state/jwt/tokens/" + name) == 0o600) }
    }

    @Test("Prints the members of the response and the cache state with --json")
    func json() async throws {
        for isCached in [false, true] {
            let result = try await scene.jwt(["token", "--json", "--scope", "read", "--scope", "write"] + scene.flags)
            #expect(result.status == 0 && result.errors == "", "\(result)")
            let object = try JSONObject(parsing: result.output)
            #expect(object.map(\.name).sorted() == ["access_token", "cached", "expires_in", "scope", "token_type"])
            #expect(object["token_type"] == "Bearer")
            #expect(object["scope"] == "read write")
            #expect(object["cached"] == .bool(isCached))
            let seconds = try #require(object["expires_in"]?.number?.double)
            #expect((1...3_600).contains(seconds))
        }
    }

    @Test("Sends one request for twenty concurrent processes", arguments: [false, true])
    func twentyAtOnce(hasOldToken: Bool) async throws {
        try scene.write(profiles: ["prod": .object(scene.members)])
        if hasOldToken {
            scene.authorization.misbehave(
                .response(.json(#"{"access_token":"old","token_type":"Bearer","expires_in":20}"#))
            )
            #expect(try await scene.jwt(["token", "--profile", "prod"]).output == "old\n")
        }
        let before = scene.authorization.tokenRequestCount
        let results = try await withThrowingTaskGroup(of: ProcessResult.self) { group in
            for _ in 0..<20 { group.addTask { try await scene.jwt(["token", "--profile", "prod"]) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.count == 20)
        #expect(Set(results.map(\.output)).count == 1)
        #expect(results.allSatisfy { $0.status == 0 && $0.errors == "" }, "\(results)")
        #expect(scene.authorization.isActive(TokenScene.token(results[0])))
        #expect(scene.authorization.tokenRequestCount == before + 1)
    }

    @Test("Works with curl, as documented")
    func curl() async throws {
        try scene.write(profiles: ["prod": .object(scene.members)])
        scene.api.on(.get, "/reports", scene.authorization.protecting { _ in .json("[1]") })
        let line = #"curl -sS -f -H "Authorization: Bearer $(jwt token --profile prod)" "$ORIGIN/reports""#
        #expect(try await scene.shell(line) == .success("[1]"))
    }

    @Test("Replaces a valid token with --refresh, and removes it with --sign-out")
    func refreshAndSignOut() async throws {
        let first = try await scene.jwt(["token"] + scene.flags)
        let second = try await scene.jwt(["token", "--refresh"] + scene.flags)
        #expect(second.status == 0 && second.output != first.output)
        #expect(try await scene.jwt(["token"] + scene.flags) == second)
        #expect(try await scene.jwt(["token", "--sign-out"] + scene.flags) == .success())
        #expect(try await scene.jwt(["token"] + scene.flags).output != second.output)
        #expect(scene.authorization.tokenRequestCount == 3)
        let again = try await scene.jwt(["token", "--sign-out", "--json"] + scene.flags)
        #expect(again == .success("{\"signedOut\":true}\n"))
    }

    @Test("Requests a token in each call with --no-cache")
    func withoutCache() async throws {
        for _ in 0..<2 {
            let result = try await scene.jwt(["token", "--no-cache"] + scene.flags)
            #expect(result.status == 0, "\(result)")
        }
        #expect(scene.authorization.tokenRequestCount == 2)
        #expect(try scene.home.names() == ["secret"])
    }

    @Test("Uses the specified store, and encrypts it with a key")
    func store() async throws {
        let key = ["CACHE_KEY": Data(repeating: 7, count: 32).base64EncodedString()]
        let flags = scene.flags + ["--cache-dir", scene.home.file("kept"), "--cache-key-env", "CACHE_KEY"]
        let first = try await scene.jwt(["token"] + flags, environment: key)
        #expect(first.status == 0, "\(first)")
        #expect(try await scene.jwt(["token"] + flags, environment: key) == first)
        #expect(try scene.home.mode(of: "kept") == 0o700)
        let name = try #require(
            FileManager.default.contentsOfDirectory(atPath: scene.home.file("kept")).first { $0.hasSuffix(".json") }
        )
        #expect(try !scene.home.text(of: "kept/" + name).contains(TokenScene.token(first)))
        let variable = try await scene.jwt(
            ["token"] + scene.flags,
            environment: ["XDG_STATE_HOME": scene.home.file("x")]
        )
        #expect(variable.status == 0)
        #expect(try scene.home.mode(of: "x/jwt/tokens") == 0o700)
    }

    @Test("Stores rotated refresh tokens and uses none twice, even in twenty concurrent processes")
    func rotation() async throws {
        let first = scene.authorization.issueRefreshToken(clientID: TokenScene.clientID, subject: "ada", scope: "read")
        try scene.home.write(first.expose { $0 }, to: "refresh")
        let command = ["token", "--refresh-token-file", scene.home.file("refresh")] + scene.flags
        let results = try await withThrowingTaskGroup(of: ProcessResult.self) { group in
            for number in 0..<20 {
                // Every fourth process requests a new token.
                group.addTask { try await scene.jwt(command + (number % 4 == 0 ? ["--refresh"] : [])) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.allSatisfy { $0.status == 0 && $0.errors == "" }, "\(results)")
        #expect(scene.authorization.reuseDetectionCount == 0)
        #expect((1...6).contains(scene.authorization.tokenRequestCount))
        scene.authorization.revokeRefreshTokens()
        let refused = try await scene.jwt(command + ["--refresh"])
        #expect(refused.status == 1)
        #expect(
            refused.errors == """
                jwt token: \(scene.endpoint): the server rejected the refresh token [invalid_grant]; get a new \
                one and replace the old one with it; run the command in a terminal to see the server's text

                """
        )
    }

    @Test("Exchanges a token from a file and from another profile")
    func exchange() async throws {
        try scene.write(profiles: [
            "user": .object(scene.members.with(["scope": "all"])),
            "service": .object(scene.members.with(["subject-profile": "user", "scope": ["read"]])),
        ])
        let result = try await scene.jwt(["token", "--profile", "service", "--json"])
        #expect(result.status == 0 && result.errors == "", "\(result)")
        #expect(try JSONObject(parsing: result.output)["scope"] == "read")
        #expect(scene.authorization.tokenRequestCount == 2)
        // The user's token is cached, too.
        let user = try await scene.jwt(["token", "--profile", "user"])
        try scene.home.write(user.output, to: "user-token")
        let flags = ["--subject-token-file", scene.home.file("user-token"), "--audience", "reports"]
        #expect(try await scene.jwt(["token"] + flags + scene.flags).status == 0)
        #expect(scene.authorization.tokenRequestCount == 3)
        let form = try #require(scene.authorization.server.requests(for: "/token").last)
        #expect(form.formValue("audience") == "reports")
        #expect(form.formValue("subject_token") == TokenScene.token(user))
        #expect(form.formValue("subject_token_type") == "urn:ietf:params:oauth:token-type:access_token")
    }

    @Test("Authenticates with a key, even if the server's clock differs")
    func privateKeyJWT() async throws {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.clockOffset = .seconds(-300)
        // Without an issuer, the command uses the token endpoint as audience.
        configuration.assertionAudience = .issuerOrTokenEndpoint
        try await TokenScene.play(configuration) { scene in
            let key = try SigningKey.generate(.es256)
            scene.authorization.register(.init(id: "signer", key: key.verificationKey))
            let path = try scene.home.write(key.pem(), to: "key.pem", mode: 0o644)
            let result = try await scene.jwt([
                "token", "--token-endpoint", scene.endpoint, "--client-id", "signer", "--key", path, "--kid", "auto",
            ])
            #expect(result.status == 0, "\(result)")
            #expect(
                result.errors
                    == "jwt token: warning: \(path): other users can access this private key (mode 644); fix: chmod 600 \(path)\n"
            )
            let request = try #require(scene.authorization.server.requests(for: "/token").last)
            let assertion = try UnverifiedToken(try #require(request.formValue("client_assertion")))
            #expect(assertion.unverifiedClaims["aud"] == .string(scene.endpoint))
            #expect(assertion.unverifiedHeader["kid"] == .string(key.verificationKey.thumbprint))
        }
    }

    @Test("Creates proofs with jwt dpop for a token bound to the user's key")
    func dpop() async throws {
        scene.api.on(.get, "/reports", scene.authorization.protecting { _ in .json("[1]") })
        try scene.home.write(SigningKey.generate(.es256).pem(), to: "dpop.pem")
        try scene.write(profiles: [
            "prod": .object(scene.members.with(["dpop-key": .string(scene.home.file("dpop.pem"))]))
        ])
        let script = #"""
            T=$(jwt token --profile prod); export T
            proof=$(jwt dpop GET "$ORIGIN/reports" --key "$HOME/dpop.pem" --access-token-env T)
            curl -sS -f -H "Authorization: DPoP $T" -H "DPoP: $proof" "$ORIGIN/reports"
            """#
        #expect(try await scene.shell(script) == .success("[1]"))
        let result = try await scene.jwt(["token", "--dpop"] + scene.flags)
        #expect(result.status == 0)
        #expect(result.errors.hasPrefix("jwt token: warning: the token is bound to a key in the token cache"))
    }

    @Test("Uses a token that expires soon, with a warning, while the server is failing")
    func staleToken() async throws {
        scene.authorization.misbehave(
            .response(.json(#"{"access_token":"old","token_type":"Bearer","expires_in":600}"#)),
            .response(.status(400)),
            .response(.json(#"{"error":"temporarily_unavailable"}"#, status: 503, headers: ["Retry-After": "3600"]))
        )
        #expect(try await scene.jwt(["token"] + scene.flags).output == "old\n")
        // Permanent failures are reported.
        let renewal = ["token"] + scene.flags + ["--min-valid", "20m"]
        let refused = try await scene.jwt(renewal)
        #expect(refused.status == 2)
        let stale = try await scene.jwt(renewal)
        #expect(stale.status == 0 && stale.output == "old\n", "\(stale)")
        #expect(
            stale.errors == """
                jwt token: warning: \(scene.endpoint): can't get a new token, so the cached one, which expires \
                soon, is used: the token endpoint has failed temporarily

                """
        )
        let forced = try await scene.jwt(["token"] + scene.flags + ["--min-valid", "0"])
        #expect(forced == .success("old\n"))
    }
}

@Suite("jwt token --store", .limitedConcurrency, .tokenScene)
struct SharedStoreCommandTests {
    private var scene: TokenScene { .current }

    private static let key = ["CACHE_KEY": Data(repeating: 7, count: 32).base64EncodedString()]

    private func rotating(_ scene: TokenScene) throws -> [String] {
        let first = scene.authorization.issueRefreshToken(clientID: TokenScene.clientID, subject: "ada", scope: "read")
        try scene.home.write(first.expose { $0 }, to: "refresh")
        return ["token", "--refresh-token-file", scene.home.file("refresh")] + scene.flags
    }

    @Test("Shares one sign-in between homes, with encrypted tokens, and uses no refresh token twice")
    func shares() async throws {
        let etcd = EtcdGateway(on: scene.api)
        let store = ["--store", "etcd:\(scene.origin)", "--cache-key-env", "CACHE_KEY"]
        let command = try rotating(scene) + store
        let results = try await withThrowingTaskGroup(of: ProcessResult.self) { group in
            for number in 0..<8 {
                group.addTask {
                    let home = ["XDG_STATE_HOME": scene.home.file("home\(number)")]
                    return try await scene.jwt(command, environment: Self.key.merging(home) { $1 })
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.allSatisfy { $0.status == 0 && $0.errors == "" }, "\(results)")
        #expect(Set(results.map(\.output)).count == 1)
        #expect(scene.authorization.tokenRequestCount == 1)
        let next = try await scene.jwt(command + ["--refresh"], environment: Self.key)
        #expect(next.status == 0 && next.output != results[0].output, "\(next)")
        #expect(try await scene.jwt(command, environment: Self.key) == next)
        #expect(scene.authorization.reuseDetectionCount == 0)
        #expect(etcd.values.count == 1)
        for value in etcd.values { #expect(!value.contains(TokenScene.token(next))) }
    }

    @Test("Sends no rotating refresh token while the store is out of reach, and says why")
    func unreachable() async throws {
        let store = ["--store", "etcd:http://127.0.0.1:1", "--cache-key-env", "CACHE_KEY"]
        let result = try await scene.jwt(try rotating(scene) + store, environment: Self.key)
        #expect(result.status == 2 && result.output == "", "\(result)")
        #expect(result.errors.contains("the refresh token wasn't sent"))
        #expect(result.errors.contains("--store"))
        #expect(scene.authorization.tokenRequestCount == 0)
    }

    @Test("Rejects options that don't belong together, and addresses that aren't confidential")
    func usage() async throws {
        let store = ["--store", "etcd:https://etcd.example:2379"]
        let key = ["--cache-key-env", "CACHE_KEY"]
        // Swift 6.2 needs the type of so many.
        let mistakes: [([String], String)] = [
            (store, "--store needs --cache-key-file or --cache-key-env"),
            (store + key + ["--no-cache"], "combined"),
            (store + key + ["--cache-dir", scene.home.file("x")], "can't be combined"),
            (store + key + ["--store-user", "a"], "--store-user needs a password"),
            (["--store-user", "a", "--store-password-env", "P"], "both need --store"),
            (["--store", "redis:https://a.example"] + key, "must be etcd:"),
            (["--store", "etcd:"] + key, "must be etcd:"),
            (["--store", "etcd:http://etcd.example"] + key, "must be an https URL"),
            (["--store", "etcd:https://a.example,"] + key, "must be an https URL"),
            (["--store", "etcd:https://a.example/?x=1"] + key, "must have URLs without a query"),
        ]
        for (options, message) in mistakes {
            let result = try await scene.jwt(["token"] + scene.flags + options, environment: Self.key)
            #expect(result.status == 64 && result.errors.contains(message), "\(options) \(result)")
        }
        #expect(scene.authorization.tokenRequestCount == 0)
    }
}
