/// The definition of a command, used for parsing, help, completions and manual pages.
struct CommandDefinition: Sendable {
    /// An example in the command's help.
    struct Example: Sendable {
        /// The task, without a final period.
        var purpose: String
        var line: String
    }

    struct ExitStatus: Sendable {
        var code: Int32
        var meaning: String

        /// The exit code for usage errors, common to all commands.
        static let usage = Self(code: Program.usageStatus, meaning: "The command line is invalid")
    }

    typealias Action = @Sendable (ParsedArguments, Console) throws -> Void

    var name: String
    /// One sentence without a final period.
    var summary: String
    /// Additional paragraphs for the help.
    var discussion: [String] = []
    /// The command's options, without `--json` and `--help`.
    var options: [OptionDefinition] = []
    var operands: [OperandDefinition] = []
    var examples: [Example] = []
    var exitStatuses: [ExitStatus] = []
    var subcommands: [CommandDefinition] = []
    /// Alternative spellings of commands, omitted from the help.
    var hiddenSubcommands: [CommandDefinition] = []
    /// The action, or `nil` for a command group.
    var action: Action?

    /// All options, including `--help` and, for commands with an action, `--json`.
    var allOptions: [OptionDefinition] { options + (action == nil ? [.help] : [.json, .help]) }
}
