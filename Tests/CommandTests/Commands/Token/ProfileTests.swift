import Foundation
import MockNetworking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Profiles of jwt token", .serialized, .limitedConcurrency)
struct ProfileTests {
    @Test("files of a profile are found from the configuration file and from the user's folder")
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

    @Test("options on the command line win over the profile, also those that stand for others")
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
        "what is wrong with the file is said with its name, and nothing is sent",
        arguments: [
            (
                #"{"profiles":{"prod":{"client-secret":"x"}}}"#,
                #"""
                profile “prod”: client-secret is no member: a secret stays where it is; client-secret-file or client-secret-env \#
                names the place
                """#
            ),
            (
                #"{"profiles":{"prod":{"token-endpint":"x"}}}"#,
                "profile “prod”: unknown member token-endpint, did you mean token-endpoint?"
            ),
            (
                #"{"profiles":{"prod":{"token-endpoint":"ftp://x"}}}"#,
                """
                profile “prod”: token-endpoint must be an https URL without a password and a fragment
                """
            ),
            (#"{"profiles":{"prod":{"dpop":"yes"}}}"#, "profile “prod”: dpop must be true or false"),
            (#"{"profiles":{"prod":{"client-id":["a"]}}}"#, "profile “prod”: client-id must be a text"),
            (#"{"profiles":{"prod":{"scope":[1]}}}"#, "profile “prod”: scope must be a list of texts"),
            (
                #"{"profiles":{"prod":{"key":"-"}}}"#,
                """
                profile “prod”: key must name a file: standard input is for the command line
                """
            ),
            (#"{"profiles":{"prod":[]}}"#, "profile “prod” must be an object"),
            (#"{"profiles":{"test":{}}}"#, "no profile “prod”; it has test"),
            (#"{"profiles":{"prods":{}}}"#, "no profile “prod”; did you mean prods?"),
            (#"{"profiles":{}}"#, "no profile “prod”; it has none"),
            (#"{"profile":{}}"#, "unknown member profile; the only one is profiles"),
            (#"{"profiles":[]}"#, #"profiles must be an object: {"profiles": {"NAME": {…}}}"#),
        ]
    )
    func mistakes(document: String, message: String) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(document, to: "config.json")
        let result = try BuiltProgram.jwt.run("token", "--profile", "prod", "--config", path)
        #expect(result == ProcessResult(status: 2, output: "", errors: "jwt token: \(path): \(message)\n"))
    }

    @Test("a member that is nothing like any other lists them all")
    func members() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(#"{"profiles":{"prod":{"x-x-x-x":1}}}"#, to: "config.json")
        let result = try BuiltProgram.jwt.run("token", "--json", "--profile", "prod", "--config", path)
        #expect(result.status == 2)
        for name in ["token-endpoint", "client-secret-file", "scope", "api"] { #expect(result.errors.contains(name)) }
    }

    @Test("a file that is missing, not JSON or has a member twice is named")
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
                        "jwt token: \(folder.file(".config/jwt/config.json")): cannot be read: No such file or directory\n"
                )
        )
        for text in ["profiles:", #"{"profiles":{},"profiles":{}}"#] {
            let path = try folder.write(text, to: "config.json")
            let result = try BuiltProgram.jwt.run("token", "--profile", "prod", "--config", path)
            #expect(result.status == 2)
            #expect(result.errors.hasPrefix("jwt token: \(path): not a configuration: "), "\(result)")
        }
    }

    @Test("profiles whose tokens are exchanged for each other in a circle are refused")
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
                        errors: "jwt token: --subject-profile leads back to the profile “a” (see jwt token --help)\n"
                    )
            )
        }
    }
}
