/// The definition of a command, used for parsing, help, completions and manual pages.
struct CommandDefinition: Sendable {
    typealias Action = @Sendable (ParsedArguments, Console) throws -> Void

    var name: String
    /// One sentence without a final period.
    var summary: String
    /// Additional paragraphs for the help.
    var discussion: [String] = []
    /// The command's options, without `--json` and `--help`.
    var options: [any CommandOption] = []
    var operands: [OperandDefinition] = []
    /// The command lines for tasks, whose descriptions have no final period.
    var examples: KeyValuePairs<String, String> = [:]
    /// The meanings of the exit codes, without the one for usage errors.
    var exitCodes: KeyValuePairs<Int32, String> = [:]
    var subcommands: [CommandDefinition] = []
    /// Alternative spellings of commands, omitted from the help.
    var hiddenSubcommands: [CommandDefinition] = []
    /// The action, or `nil` for a command group.
    var action: Action?

    /// All options, including `--help` and, for commands with an action, `--json`.
    var allOptions: [OptionDefinition] {
        options.flatMap(\.definitions) + (action == nil ? [.help] : [.json, .help])
    }

    /// The exit codes, including the one for usage errors, which is common to all commands.
    var exitStatuses: [(code: Int32, meaning: String)] {
        exitCodes.isEmpty ? [] : exitCodes.map { ($0, $1) } + [(Program.usageStatus, "The command line is invalid")]
    }
}
