import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

/// Tests in a mount namespace in which /proc is empty, as in some containers.
@Suite(
    "Without /proc",
    .limitedConcurrency,
    .enabled(if: namespace != nil, "requires unshare and a kernel that allows mount namespaces"),
    .enabled(if: !hasAddressSanitizer, "AddressSanitizer reads /proc")
)
struct ProclessTests {
    /// The start of a command line that hides /proc from the rest of it: with the rights of root,
    /// or with a user namespace.
    private static let namespace = ["unshare --mount", "unshare --map-root-user --mount"]
        .map { $0 + #" sh -ec 'mount -t tmpfs none /proc; [ ! -e /proc/self ]; exec "$@"' sh"# }
        .first { (try? BuiltProgram.shell($0 + " true").status) == 0 }

    private static let hasAddressSanitizer = unsafe dlsym(nil, "__asan_init") != nil

    private func run(_ line: String, in scene: TokenScene) async throws -> ProcessResult {
        try await scene.shell("cd '\(scene.home.path)' && \(Self.namespace ?? "false") \(line)")
    }

    @Test("jwt generates keys, signs, verifies and decodes")
    func tokens() async throws {
        try await TokenScene.play { scene in
            let keygen = try await run("jwt keygen --alg ES256 --out key.pem --public-out public.pem", in: scene)
            #expect(keygen == ProcessResult(status: 0, output: "", errors: ""))
            let sign = try await run("jwt sign --key key.pem --sub ada --exp 4102444800 --no-iat", in: scene)
            #expect(sign.status == 0 && sign.errors == "", "\(sign)")
            try scene.home.write(sign.output, to: "token")
            for line in ["jwt verify --key public.pem token", "jwt decode --claims token"] {
                let result = try await run(line, in: scene)
                #expect(result.status == 0 && result.output.contains(#""sub": "ada""#), "\(result)")
            }
        }
    }

    @Test("jwt prints usage errors, and rejects an argument that isn't UTF-8")
    func usage() async throws {
        try await TokenScene.play { scene in
            let unknown = try await run("jwt sing", in: scene)
            #expect(unknown.status == 64 && unknown.errors.contains("sing"), "\(unknown)")
            let invalid = try await run(#"jwt decode "$(printf 'a\377')""#, in: scene)
            #expect(invalid.status == 64 && invalid.errors.contains("argument 2 isn't valid UTF-8"), "\(invalid)")
        }
    }

    @Test("jwt gets a token, and sends a request with it and its own name")
    func requests() async throws {
        try await TokenScene.play { scene in
            scene.api.on(.get, "/reports", scene.authorization.protecting { _ in .json("[1]") })
            let flags = (scene.flags + ["--token-timeout", "10m"]).map { "'\($0)'" }.joined(separator: " ")
            let token = try await run("jwt token \(flags)", in: scene)
            #expect(token.status == 0 && token.errors == "", "\(token)")
            #expect(scene.authorization.isActive(TokenScene.token(token)))
            let result = try await run("jwt request GET \(scene.origin)/reports \(flags)", in: scene)
            #expect(result == ProcessResult(status: 0, output: "[1]", errors: ""))
            #expect(scene.api.requests.last?.headers["User-Agent"]?.hasPrefix("jwt/") == true)
        }
    }

    @Test("quickstart runs every example")
    func examples() async throws {
        try await TokenScene.play { scene in
            let names = try await run("quickstart --list", in: scene).output.split(separator: "\n")
                .map { $0.prefix { $0 != ":" } }
            #expect(names.count == 7)
            for name in names {
                let result = try await run("quickstart \(name)", in: scene)
                #expect(result.status == 0 && result.errors == "", "\(name): \(result)")
            }
        }
    }
}
