import Foundation
import MockNetworking
import OAuth2
import TestSupport
import Testing

@Suite("jwt token --store", .limitedConcurrency)
struct SharedStoreCommandTests {
    private static let key = ["CACHE_KEY": Data(repeating: 7, count: 32).base64EncodedString()]

    private func rotating(_ scene: TokenScene) throws -> [String] {
        let first = scene.authorization.issueRefreshToken(
            clientID: TokenScene.clientID,
            subject: "ada",
            scope: "read"
        )
        try scene.home.write(first.expose { $0 }, to: "refresh")
        return ["token", "--refresh-token-file", scene.home.file("refresh")] + scene.flags
    }

    @Test("Shares one sign-in between homes, with encrypted tokens, and uses no refresh token twice")
    func shares() async throws {
        try await TokenScene.play { scene in
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
    }

    @Test("Sends no rotating refresh token while the store is out of reach, and says why")
    func unreachable() async throws {
        try await TokenScene.play { scene in
            let store = ["--store", "etcd:http://127.0.0.1:1", "--cache-key-env", "CACHE_KEY"]
            let result = try await scene.jwt(try rotating(scene) + store, environment: Self.key)
            #expect(result.status == 2 && result.output == "", "\(result)")
            #expect(result.errors.contains("the refresh token wasn't sent"))
            #expect(result.errors.contains("--store"))
            #expect(scene.authorization.tokenRequestCount == 0)
        }
    }

    @Test("Rejects options that don't belong together, and addresses that aren't confidential")
    func usage() async throws {
        try await TokenScene.play { scene in
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
}
