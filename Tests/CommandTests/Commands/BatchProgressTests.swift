import Foundation
import TestSupport
import Testing

@Suite("Progress of batches", .limitedConcurrency)
struct BatchProgressTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write(try SampleTokens.es256JWK(), to: "key.jwk")
        try folder.write(String(repeating: "{\"sub\":\"alice\"}\n", count: 3_000), to: "claims.jsonl")
    }

    /// A reader that pauses for more than a second, while the tokens exceed the pipe's buffer.
    private static let slowReader = "{ dd bs=1 count=1 2>/dev/null; sleep 1.2; cat; } > tokens"

    @Test("Shows the progress of a long batch on one line that ends before the next message")
    func shown() throws {
        try folder.write("{\"sub\":\"alice\"}\n{", to: "more.jsonl")
        let script =
            "cat more.jsonl >> claims.jsonl && jwt sign -k key.jwk --batch --claims claims.jsonl | \(Self.slowReader)"
        let result = try BuiltProgram.shell(script, in: folder, errorsAreTerminal: true)
        #expect(try folder.text(of: "tokens").split(separator: "\n").count == 3_002)
        // The terminal inserts a carriage return before a line feed.
        let lines = result.errors.components(separatedBy: "\r\n")
        try #require(lines.count == 3)
        #expect(lines[1] == "jwt sign: 1 of 3002 lines failed" && lines[2].isEmpty)
        let shown = lines[0].components(separatedBy: "\r").dropFirst()
        let first = try #require(shown.first)
        #expect(first.contains("jwt sign [") && first.contains("kB of 48.0 kB") && first.contains("%"))
        #expect(shown.last?.hasSuffix("100% 48.0 kB, completed\u{1B}[K") == true)
        #expect(shown.allSatisfy { $0.hasSuffix("\u{1B}[K") && $0.dropLast(3).count < 80 })
    }

    @Test("Shows no progress without a terminal, with --json, for a pipe and for a short batch")
    func silent() throws {
        let sign = "jwt sign -k key.jwk --batch"
        let file = "\(sign) --claims claims.jsonl | \(Self.slowReader)"
        #expect(try BuiltProgram.shell(file, in: folder) == ProcessResult(status: 0, output: "", errors: ""))
        for script in [
            "\(sign) --json --claims claims.jsonl | \(Self.slowReader)",
            "cat claims.jsonl | \(sign) | \(Self.slowReader)",
            "head -n 5 claims.jsonl > few.jsonl && \(sign) < few.jsonl > tokens",
        ] {
            let result = try BuiltProgram.shell(script, in: folder, errorsAreTerminal: true)
            #expect(result == ProcessResult(status: 0, output: "", errors: ""), "\(script)")
        }
    }
}
