import Foundation
import Testing

@Suite("Shell completions", .enabled(if: Interop.isPrepared, Interop.hint))
struct CompletionInteropTests {
    @Test("zsh and fish parse their scripts without errors", arguments: [("zsh", "-n"), ("fish", "--no-execute")])
    func syntax(shell: String, option: String) async throws {
        let folder = try PrivateFolder()
        let script = try await CommandRun.output(["completions", shell])
        let file = try folder.write(Data(script.utf8), to: "completions")
        let run = try await ChildProcess.run(Interop.required("INTEROP_" + shell.uppercased()), [option, file])
        #expect(run.status == 0)
        #expect(run.errors == "" && run.output == "")
    }

    @Test(
        "fish completes commands, options and choices",
        arguments: [
            ("jwt key j", ["jwks"]), ("jwt sign --key-e", ["--key-env"]), ("jwt sign --alg ES25", ["ES256", "ES256K"]),
            ("jwt tok", ["token"]), ("jwt token --gra", ["--grant"]),
        ]
    )
    func fish(line: String, expected: [String]) async throws {
        let folder = try PrivateFolder()
        let script = try await CommandRun.output(["completions", "fish"])
        let file = try folder.write(Data(script.utf8), to: "completions")
        let run = try await ChildProcess.run(
            Interop.required("INTEROP_FISH"),
            ["--no-config", "-c", "source '\(file)'; complete -C '\(line)'"]
        )
        #expect(run.status == 0 && run.errors == "", "\(run.errors)")
        let words = run.output.split(separator: "\n").compactMap { $0.split(separator: "\t").first.map(String.init) }
        #expect(words.sorted() == expected)
    }
}
