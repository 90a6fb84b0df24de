/// What there is to know about a command: parsing, help, completions and manual pages are all made from it.
struct CommandDefinition: Sendable {
    /// A use that help shows.
    struct Example: Sendable {
        /// What it achieves.
        var purpose: String
        /// The line to type.
        var line: String
    }

    /// A code the command can exit with.
    struct ExitStatus: Sendable {
        var code: Int32
        var meaning: String

        /// What every command can end with.
        static let usage = Self(code: Program.usageStatus, meaning: "The command line is wrong")
    }

    /// What the command does when it is run.
    typealias Action = @Sendable (ParsedArguments, Console) throws -> Void

    var name: String
    /// One sentence without a final period.
    var summary: String
    /// More paragraphs for help.
    var discussion: [String] = []
    /// The options, without `--help`, which every command has.
    var options: [OptionDefinition] = []
    var operands: [OperandDefinition] = []
    var examples: [Example] = []
    var exitStatuses: [ExitStatus] = []
    var subcommands: [CommandDefinition] = []
    /// Other spellings of commands, which help doesn't show.
    var hiddenSubcommands: [CommandDefinition] = []
    /// `nil` for a command that only groups others.
    var action: Action?

    /// The options with those that every command has.
    var allOptions: [OptionDefinition] { options + (action == nil ? [.help] : [.json, .help]) }
}
