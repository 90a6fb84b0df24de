import Foundation
import MockNetworking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Profiles of jwt token", .limitedConcurrency)
struct ProfileTests {
    @Test("Resolves paths in a profile relative to the file and to the home folder")
    func paths() async throws {
        try await TokenScene.play { scene in
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
    }

    @Test("Overrides the profile, including mutually exclusive options, on the command line")
    func precedence() async throws {
        try await TokenScene.play { scene in
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
        #expect(result == ProcessResult(status: 2, output: "", errors: "jwt token: \(path): \(message)\n"))
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
            "token",
            "--profile",
            "prod",
            environment: ["HOME": folder.path, "XDG_CONFIG_HOME": ""]
        )
        #expect(
            missing
                == ProcessResult(
                    status: 2,
                    output: "",
                    errors:
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
        try await TokenScene.play { scene in
            try scene.write(profiles: [
                "a": .object(scene.members.with(["subject-profile": "b"])),
                "b": .object(scene.members.with(["subject-profile": "a"])),
            ])
            let result = try await scene.jwt(["token", "--profile", "a"])
            #expect(
                result
                    == ProcessResult(
                        status: 64,
                        output: "",
                        errors: "jwt token: --subject-profile forms a cycle with profile “a” (see jwt token --help)\n"
                    )
            )
        }
    }
}
