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
            Option<NonEmptyText>("name", short: "n", isRequired: true, "A name"),
            Option<NonEmptyText>("a-rather-long-name", isRepeatable: true, "Another name"),
            OptionDefinition.section("Depth", [Flag("deep", String(repeating: "word ", count: 12) + "end")]),
        ],
        operands: [OperandDefinition(name: "FILE", isRequired: true, summary: "A file")],
        examples: ["Try it": "jwt try -n x file"],
        exitCodes: [0: "Fine", 1: "Not fine"]
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
                  1   Not fine
                  64  The command line is invalid

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
        let examples = Set(node.command.examples.map { "  \($0.value)" })
        #expect(lines.filter { $0.count > 80 && !examples.contains(String($0)) } == [])
    }
}
