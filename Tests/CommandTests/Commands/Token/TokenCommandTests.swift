import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("jwt token", .serialized, .limitedConcurrency)
struct TokenCommandTests {
    @Test("a token is printed alone, kept for its owner, and printed again without asking")
    func keeps() async throws {
        try await TokenScene.play { scene in
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
    }

    @Test("--json has the members of the server's answer, and whether it was kept")
    func json() async throws {
        try await TokenScene.play { scene in
            for isCached in [false, true] {
                let result = try await scene.jwt(
                    ["token", "--json", "--scope", "read", "--scope", "write"] + scene.flags
                )
                #expect(result.status == 0 && result.errors == "", "\(result)")
                let object = try JSONObject(parsing: result.output)
                #expect(object.map(\.name).sorted() == ["access_token", "cached", "expires_in", "scope", "token_type"])
                #expect(object["token_type"] == "Bearer")
                #expect(object["scope"] == "read write")
                #expect(object["cached"] == .bool(isCached))
                let seconds = try #require(object["expires_in"]?.number?.double)
                #expect((1...300).contains(seconds))
            }
        }
    }

    @Test("twenty shells that ask at once ask the server once", arguments: [false, true])
    func twentyAtOnce(hasOldToken: Bool) async throws {
        try await TokenScene.play { scene in
            try scene.write(profiles: ["prod": .object(scene.members)])
            if hasOldToken {
                scene.authorization.answerNextTokenRequests(
                    with: .json(#"{"access_token":"old","token_type":"Bearer","expires_in":20}"#)
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
    }

    @Test("curl calls an API with it, as the documentation says")
    func curl() async throws {
        try await TokenScene.play { scene in
            try scene.write(profiles: ["prod": .object(scene.members)])
            scene.api.on(.get, "/reports", scene.authorization.protecting { _ in .json("[1]") })
            let line = #"curl -sS -f -H "Authorization: Bearer $(jwt token --profile prod)" "$ORIGIN/reports""#
            #expect(try await scene.shell(line) == ProcessResult(status: 0, output: "[1]", errors: ""))
        }
    }

    @Test("--refresh replaces a good token, --sign-out drops it")
    func refreshAndSignOut() async throws {
        try await TokenScene.play { scene in
            let first = try await scene.jwt(["token"] + scene.flags)
            let second = try await scene.jwt(["token", "--refresh"] + scene.flags)
            #expect(second.status == 0 && second.output != first.output)
            #expect(try await scene.jwt(["token"] + scene.flags) == second)
            #expect(
                try await scene.jwt(["token", "--sign-out"] + scene.flags)
                    == ProcessResult(status: 0, output: "", errors: "")
            )
            #expect(try await scene.jwt(["token"] + scene.flags).output != second.output)
            #expect(scene.authorization.tokenRequestCount == 3)
            let again = try await scene.jwt(["token", "--sign-out", "--json"] + scene.flags)
            #expect(again == ProcessResult(status: 0, output: "{\"signedOut\":true}\n", errors: ""))
        }
    }

    @Test("without a place to keep it, each call asks")
    func withoutCache() async throws {
        try await TokenScene.play { scene in
            for _ in 0..<2 {
                let result = try await scene.jwt(["token", "--no-cache"] + scene.flags)
                #expect(result.status == 0, "\(result)")
            }
            #expect(scene.authorization.tokenRequestCount == 2)
            #expect(try scene.home.names() == ["secret"])
        }
    }

    @Test("the store is where the user wants it, and encrypted if there is a key")
    func store() async throws {
        try await TokenScene.play { scene in
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
    }

    @Test("refresh tokens that are replaced are kept, also when twenty come at once, and none is used twice")
    func rotation() async throws {
        try await TokenScene.play { scene in
            let first = scene.authorization.issueRefreshToken(
                clientID: TokenScene.clientID,
                subject: "ada",
                scope: "read"
            )
            try scene.home.write(first.expose { $0 }, to: "refresh")
            let command = ["token", "--refresh-token-file", scene.home.file("refresh")] + scene.flags
            let results = try await withThrowingTaskGroup(of: ProcessResult.self) { group in
                for number in 0..<20 {
                    // Every fourth wants a token of its own.
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
                    jwt token: \(scene.endpoint): the refresh token is not accepted (any more) [invalid_grant]; get a new one \
                    and put it into the place of the old one

                    """
            )
        }
    }

    @Test("a token of a file, or of another profile, is exchanged")
    func exchange() async throws {
        try await TokenScene.play { scene in
            try scene.write(profiles: [
                "user": .object(scene.members.with(["scope": "all"])),
                "service": .object(scene.members.with(["subject-profile": "user", "scope": ["read"]])),
            ])
            let result = try await scene.jwt(["token", "--profile", "service", "--json"])
            #expect(result.status == 0 && result.errors == "", "\(result)")
            #expect(try JSONObject(parsing: result.output)["scope"] == "read")
            #expect(scene.authorization.tokenRequestCount == 2)
            // The user's token has been kept, too.
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
    }

    @Test("a client proves itself with a key, and the server's clock may differ")
    func privateKeyJWT() async throws {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.clockOffset = .seconds(-300)
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
                    == "jwt token: warning: \(path): other users may use this private key (mode 644); to stop it: chmod 600 \(path)\n"
            )
            let request = try #require(scene.authorization.server.requests(for: "/token").last)
            let assertion = try UnverifiedToken(try #require(request.formValue("client_assertion")))
            #expect(assertion.unverifiedClaims["aud"] == .string(scene.endpoint))
            #expect(assertion.unverifiedHeader["kid"] == .string(key.verificationKey.thumbprint))
        }
    }

    @Test("a token bound to a key of the user's is proved by jwt dpop")
    func dpop() async throws {
        try await TokenScene.play { scene in
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
            #expect(try await scene.shell(script) == ProcessResult(status: 0, output: "[1]", errors: ""))
            let result = try await scene.jwt(["token", "--dpop"] + scene.flags)
            #expect(result.status == 0)
            #expect(result.errors.hasPrefix("jwt token: warning: the token is bound to a key that is kept with it"))
        }
    }

    @Test("while the server fails, a token that is about to expire is still used, with a warning")
    func staleToken() async throws {
        try await TokenScene.play { scene in
            scene.authorization.answerNextTokenRequests(
                with: .json(#"{"access_token":"old","token_type":"Bearer","expires_in":25}"#),
                .status(400),
                .json(#"{"error":"temporarily_unavailable"}"#, status: 503, headers: ["Retry-After": "3600"])
            )
            #expect(try await scene.jwt(["token"] + scene.flags).output == "old\n")
            // What is no failure of the moment is reported.
            let refused = try await scene.jwt(["token"] + scene.flags)
            #expect(refused.status == 2)
            let stale = try await scene.jwt(["token"] + scene.flags)
            #expect(stale.status == 0 && stale.output == "old\n", "\(stale)")
            #expect(
                stale.errors == """
                    jwt token: warning: \(scene.endpoint): no new token, so the kept one is used, which is about to expire: the \
                    token endpoint has failed temporarily

                    """
            )
            let forced = try await scene.jwt(["token"] + scene.flags + ["--min-valid", "0"])
            #expect(forced == ProcessResult(status: 0, output: "old\n", errors: ""))
        }
    }
}
