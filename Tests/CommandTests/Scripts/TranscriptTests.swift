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

    private static let publicKey =
        #"echo '{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}'"#

    /// The pages, and the commands that their transcripts begin with.
    private static let pages: [(page: String, commands: [String])] = [
        ("README.md", ["jwt keygen", "jwt sign", "jwt verify"]),
        ("Docs/Command.md", ["jwt keygen", "jwt sign", "jwt verify"]),
        ("Docs/CommandSDJWT.md", ["jwt keygen", "jwt keygen", "jwt sd", "jwt sd", "jwt sd", "jwt sd"]),
        ("Docs/CommandHTTP.md", [publicKey, #"printf '%s\n'"#, "jwt http", "jwt http"]),
    ]

    @Test("Prints the documented output, except for times and random text", arguments: pages)
    func transcript(page: String, commands: [String]) throws {
        let steps = try Self.steps(of: page)
        let found = steps.map { $0.command.split(separator: " ").prefix(2).joined(separator: " ") }
        #expect(found.starts(with: commands))
        let folder = try TemporaryFolder()
        for step in steps {
            let result = try BuiltProgram.shell("{ \(step.command)\n} 2>&1", in: folder)
            #expect(result.status == 0)
            #expect(Self.constant(result.output) == Self.constant(step.output))
        }
    }

    private static func steps(of page: String) throws -> [Step] {
        let file = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: page)
        let text = try String(contentsOf: file, encoding: .utf8)
        // Three backticks, which Swift 6.2 doesn't accept in a literal.
        let block = try #require(text.firstMatch(of: /\x60{3}console\n((?s:.*?))\x60{3}/)).1
        var steps: [Step] = []
        for line in block.split(separator: "\n") {
            if let last = steps.last, last.command.hasSuffix("\\") {
                steps[steps.count - 1].command += "\n" + line
            } else if line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2)), output: ""))
            } else if !steps.isEmpty {
                steps[steps.count - 1].output += line + "\n"
            }
        }
        return steps
    }

    /// Replaces times, and digests and coordinates of 32 bytes.
    private static func constant(_ text: String) -> String {
        text.replacing(/\d{10}/, with: "SECONDS").replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \([^)]*\)/, with: "DATE")
            .replacing(/"[A-Za-z0-9_-]{43}"/, with: "BYTES")
    }
}
