import TokenGeneration

/// The `jwt manual` command: prints the manual page.
struct ManualCommand {
    static let definition = CommandDefinition(
        name: "manual",
        summary: "Print the manual page",
        discussion: ["The page is generated from the same definitions as the help, in the format of man."],
        examples: [
            .init(purpose: "Read the manual", line: "jwt manual | man -l -"),
            .init(purpose: "Install the manual", line: "jwt manual > /usr/local/share/man/man1/jwt.1"),
        ],
        exitStatuses: [
            .init(code: 0, meaning: "The page was printed"),
            .init(code: 2, meaning: "Standard output is closed"),
            .usage,
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let page = ManualPage(root: Program.definition, version: Program.version).text
        guard console.writesJSON else { return try console.print(page, terminator: "") }
        try console.print(["page": .string(page)])
    }
}
