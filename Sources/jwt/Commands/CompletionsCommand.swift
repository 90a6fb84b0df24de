import TokenGeneration

/// The `jwt completions` command: prints a shell's completion script.
struct CompletionsCommand {
    private static let shells = ["bash", "zsh", "fish"]

    static let definition = CommandDefinition(
        name: "completions",
        summary: "Print the completion script for a shell",
        discussion: ["Generated from the same definitions as the help, so it always matches this version."],
        operands: [
            OperandDefinition(
                name: "SHELL",
                isRequired: true,
                kind: .choice(shells),
                summary: "bash, zsh or fish"
            )
        ],
        examples: [
            "In this bash": "source <(jwt completions bash)",
            "In zsh": "jwt completions zsh > ~/.zfunc/_jwt  # with ~/.zfunc in fpath",
            "In every fish": "jwt completions fish > ~/.config/fish/completions/jwt.fish",
        ],
        exitCodes: [
            0: "The script is printed",
            2: "Standard output is closed",
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let script: String
        switch arguments.operands.first {
        case "bash": script = BashCompletion(root: Program.definition).script
        case "zsh": script = ZshCompletion(root: Program.definition).script
        case "fish": script = FishCompletion(root: Program.definition).script
        default: throw arguments.usageError("SHELL must be one of " + shells.joined(separator: ", "))
        }
        try console.print(script, terminator: "", as: "script")
    }
}
