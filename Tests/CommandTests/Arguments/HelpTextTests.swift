import TestSupport
import Testing

@testable import jwt

@Suite("HelpText", .limitedConcurrency)
struct HelpTextTests {
    private static let definition = CommandDefinition(
        name: "try",
        summary: "Try something",
        discussion: [String(repeating: "word ", count: 20) + "end."],
        options: [
            Option<NonEmptyText>("name", short: "n", value: "TEXT", isRequired: true, "A name").definition,
            Option<NonEmptyText>("a-rather-long-name", value: "TEXT", isRepeatable: true, "Another name").definition,
            Flag("deep", section: "Depth", String(repeating: "word ", count: 12) + "end").definition,
        ],
        operands: [OperandDefinition(name: "FILE", isRequired: true, summary: "A file")],
        examples: [.init(purpose: "Try it", line: "jwt try -n x file")],
        exitStatuses: [.init(code: 0, meaning: "Fine"), .init(code: 64, meaning: "Not fine")]
    )

    @Test("Shows every part of the definition")
    func wholeText() {
        #expect(
            HelpText(path: ["jwt", "try"], command: Self.definition).text == """
                Usage: jwt try --name TEXT [OPTIONS] FILE

                Try something.

                word word word word word word word word word word word word word word word word
                word word word word end.

                Arguments:
                  FILE                  A file

                Options:
                  -n, --name TEXT       A name
                  --a-rather-long-name TEXT
                                        Another name (repeatable)
                  -h, --help            Show this help

                Depth:
                  --deep                word word word word word word word word word word word
                                        word end

                Examples:
                  # Try it
                  jwt try -n x file

                Exit codes:
                  0   Fine
                  64  Not fine

                """
        )
    }

    @Test("Lists the commands of a group")
    func group() {
        let group = CommandDefinition(name: "jwt", summary: "Do things", subcommands: [Self.definition])
        #expect(
            HelpText(path: ["jwt"], command: group).text == """
                Usage: jwt COMMAND

                Do things.

                Commands:
                  try                   Try something

                Options:
                  -h, --help            Show this help

                Use “jwt COMMAND --help” for more about a command.

                """
        )
    }

    @Test(
        "Keeps the help of every command within 80 columns",
        arguments: CommandNode.all(in: Program.definition).map(\.words)
    )
    func width(words: String) throws {
        let node = try #require(CommandNode.all(in: Program.definition).first { $0.words == words })
        let lines = HelpText(path: node.path, command: node.command).text.split(separator: "\n")
        // Examples aren't wrapped.
        let examples = Set(node.command.examples.map { "  \($0.line)" })
        #expect(lines.filter { $0.count > 80 && !examples.contains(String($0)) } == [])
    }
}
