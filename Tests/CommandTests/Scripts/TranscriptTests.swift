import Foundation
import TestSupport
import Testing

@Suite("Transcripts of the documentation", .limitedConcurrency)
struct TranscriptTests {
    /// A command and its output.
    private struct Step: Equatable {
        var command: String
        var output: String
    }

    @Test("Prints the documented output, except for times", arguments: ["README.md", "Docs/Command.md"])
    func transcript(page: String) throws {
        let steps = try Self.steps(of: page)
        let commands = steps.map { $0.command.split(separator: " ").prefix(2).joined(separator: " ") }
        #expect(commands.starts(with: ["jwt keygen", "jwt sign", "jwt verify"]))
        let folder = try TemporaryFolder()
        for step in steps {
            let result = try BuiltProgram.shell("{ \(step.command)\n} 2>&1", in: folder)
            #expect(result.status == 0)
            #expect(Self.withoutTimes(result.output) == Self.withoutTimes(step.output))
        }
    }

    private static func steps(of page: String) throws -> [Step] {
        let file = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: page)
        let text = try String(contentsOf: file, encoding: .utf8)
        let block = try #require(text.firstMatch(of: /```console\n((?s:.*?))```/)).1
        var steps: [Step] = []
        for line in block.split(separator: "\n") {
            if line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2)), output: ""))
            } else if !steps.isEmpty {
                steps[steps.count - 1].output += line + "\n"
            }
        }
        return steps
    }

    private static func withoutTimes(_ text: String) -> String {
        text.replacing(/\d{10}/, with: "SECONDS").replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \([^)]*\)/, with: "DATE")
    }
}
