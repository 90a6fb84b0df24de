import TokenGeneration

/// The `jwt manual` command: prints the manual page.
struct ManualCommand {
    static let definition = CommandDefinition(
        name: "manual",
        summary: "Print the manual page",
        discussion: ["The page is generated from the same definitions as the help, in the format of man."],
        examples: [
            "Read the manual": "jwt manual | man -l -",
            "Install the manual": "jwt manual > /usr/local/share/man/man1/jwt.1",
        ],
        exitCodes: [
            0: "The page was printed",
            2: "Standard output is closed",
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let page = ManualPage(root: Program.definition, version: Program.version).text
        try console.print(page, terminator: "", as: "page")
    }
}
