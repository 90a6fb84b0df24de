import TokenGeneration

/// `jwt manual`: prints the manual page.
struct ManualCommand {
    static let definition = CommandDefinition(
        name: "manual",
        summary: "Print the manual page",
        discussion: ["It is made from the same definitions as the help, for man to read."],
        examples: [
            .init(purpose: "Read it", line: "jwt manual | man -l -"),
            .init(purpose: "Install it", line: "jwt manual > /usr/local/share/man/man1/jwt.1"),
        ],
        exitStatuses: [
            .init(code: 0, meaning: "The page is printed"),
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
