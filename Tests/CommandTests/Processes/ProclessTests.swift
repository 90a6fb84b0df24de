import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

/// A mount namespace in which /proc is empty.
private enum ProclessNamespace {
    /// The start of a command line that hides /proc from the rest of it: with the rights of root,
    /// or with a user namespace.
    static let start = ["unshare --mount", "unshare --map-root-user --mount"]
        .map { $0 + #" sh -ec 'mount -t tmpfs none /proc; [ ! -e /proc/self ]; exec "$@"' sh"# }
        .first { (try? BuiltProgram.shell($0 + " true").status) == 0 }

    static let hasAddressSanitizer = unsafe dlsym(nil, "__asan_init") != nil
}

@Suite(
    "Without /proc",
    .limitedConcurrency,
    .enabled(if: ProclessNamespace.start != nil, "requires unshare and a kernel that allows mount namespaces"),
    .enabled(if: !ProclessNamespace.hasAddressSanitizer, "AddressSanitizer reads /proc")
)
struct ProclessTests {
    private func run(_ line: String, in scene: TokenScene) async throws -> ProcessResult {
        try await scene.shell("cd '\(scene.home.path)' && \(ProclessNamespace.start ?? "false") \(line)")
    }

    @Test("jwt generates keys, signs, verifies and decodes")
    func tokens() async throws {
        try await TokenScene.play { scene in
            let keygen = try await run("jwt keygen --alg ES256 --out key.pem --public-out public.pem", in: scene)
            #expect(keygen == ProcessResult(status: 0, output: "", errors: ""))
            let sign = try await run("jwt sign --key key.pem --sub ada --expires-in 1h", in: scene)
            #expect(sign.status == 0 && sign.errors == "", "\(sign)")
            try scene.home.write(sign.output, to: "token")
            for line in ["jwt verify --key public.pem < token", "jwt decode < token"] {
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

    @Test("Commands that send requests fail before they start tasks, which Dispatch can't run")
    func requests() async throws {
        try await TokenScene.play { scene in
            let flags = scene.flags.map { "'\($0)'" }.joined(separator: " ")
            _ = try await run("jwt keygen --alg ES256 --out key.pem", in: scene)
            try scene.home.write(
                try await run("jwt sign --key key.pem --sub ada --expires-in 1h", in: scene).output,
                to: "token"
            )
            for line in [
                "jwt token \(flags)", "jwt request GET \(scene.origin)/reports \(flags)",
                "jwt verify --discover \(scene.issuer) --aud api < token",
                "jwt pin https://127.0.0.1:\(scene.api.port)",
            ] {
                let result = try await run(line, in: scene)
                #expect(result.status == 2 && result.output == "", "\(line): \(result)")
                #expect(result.errors.contains("requests need /proc, which isn't mounted"), "\(line): \(result)")
            }
            #expect(scene.authorization.server.requestCount == 0 && scene.api.requestCount == 0)
        }
    }

    @Test("quickstart lists the examples, and doesn't start them")
    func examples() async throws {
        try await TokenScene.play { scene in
            let list = try await run("quickstart --list", in: scene)
            #expect(list.status == 0 && list.output.hasPrefix("quickstart: "), "\(list)")
            let result = try await run("quickstart token-exchange", in: scene)
            let message = "token-exchange needs /proc, which isn't mounted; mount it as container engines do\n"
            #expect(result == ProcessResult(status: 1, output: "", errors: message))
            #expect(try await run("quickstart unknown", in: scene).status == 64)
        }
    }
}
