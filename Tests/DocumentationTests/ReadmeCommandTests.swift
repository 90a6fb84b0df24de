import Foundation
import TestSupport
import Testing

@Suite("Commands in README.md", .computing)
struct ReadmeCommandTests {
    @Test(
        "The README's commands match the gate's",
        arguments: ["readme_test", "readme_quickstart"]
    )
    func sameAsGate(name: String) throws {
        let gate = try #require(Repository.text(".ci/run"))
        let assignment = try #require(
            gate.split(separator: "\n").first { $0.hasPrefix("\(name)='") && $0.hasSuffix("'") },
            "missing line \(name)='…' in .ci/run"
        )
        let command = assignment.dropFirst("\(name)='".count).dropLast()
        let readme = try #require(Repository.documentation.first { $0.path == "README.md" })
        let lines = readme.blocks.filter { $0.info == "sh" }.flatMap(\.content)
        #expect(lines.contains("sudo \(command)"), "missing line in an sh block of README.md: sudo \(command)")
    }

    @Test("Each executable after `swift run` exists", arguments: Repository.pages)
    func products(file: MarkdownFile) throws {
        let manifest = try #require(Repository.text("Package.swift"))
        // A page's own package has executables, too.
        let excerpts = file.blocks.filter { $0.info == "swift package" }.flatMap(\.content)
            .map { $0.trimmingCharacters(in: .whitespaces) }
        for block in file.blocks where block.info == "sh" {
            for match in block.content.joined(separator: "\n").matches(of: /swift run ([A-Za-z0-9][A-Za-z0-9_-]*)/) {
                #expect(
                    manifest.contains(".executable(name: \"\(match.1)\"")
                        || excerpts.contains("name: \"\(match.1)\","),
                    "\(file.path):\(block.line): unknown executable “\(match.1)”"
                )
            }
        }
    }
}
