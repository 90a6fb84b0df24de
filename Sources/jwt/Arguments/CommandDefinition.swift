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

/// The definition of a positional argument.
struct OperandDefinition: Sendable {
    /// The name in the help, such as `TOKEN`.
    var name: String
    var isRequired = false
    var kind = OptionDefinition.ValueKind.text
    /// The description, without a final period.
    var summary: String

    /// The operand as it appears in the usage line.
    var synopsis: String { isRequired ? name : "[\(name)]" }
}

/// The definition of an option, used for parsing, help, completions and manual pages.
struct OptionDefinition: CommandOption {
    /// The kind of an option's value, for completions and documentation.
    enum ValueKind: Sendable, Equatable {
        case text
        case file
        case choice([String])
    }

    struct Value: Sendable {
        /// The placeholder in the help, such as `FILE`.
        var name: String
        var kind: ValueKind
        /// Validates a value as the option does.
        var check: @Sendable (String) throws(ValueError) -> Void
    }

    /// The name without dashes.
    var longName: String
    /// Alternative long names, omitted from the help.
    var aliases: [String] = []
    var shortName: Character?
    /// The value, or `nil` for a flag.
    var value: Value?
    var isRequired = false
    var isRepeatable = false
    /// The heading for the option in the help.
    var section = "Options"
    /// The description: one or more sentences, without a final period.
    var summary: String

    var definitions: [OptionDefinition] { [self] }

    /// The option as the user types it, such as `--alg`.
    var spelling: String { "--" + longName }

    /// The short form as the user types it, such as `-h`.
    var shortSpelling: String? { shortName.map { "-\($0)" } }

    /// The option and its value as they appear in the help, such as `--alg ALG`.
    var synopsis: String {
        guard let value else { return spelling }
        return spelling + " " + value.name
    }

    /// The `--help` option, common to all commands.
    static let help = OptionDefinition(longName: "help", shortName: "h", summary: "Show this help")

    /// The `--json` option, common to all commands with an action.
    static let json = OptionDefinition(
        longName: "json",
        summary: "Print the result as one line of JSON, and errors and warnings as JSON, too"
    )

    /// Returns options under a heading of the help.
    static func section(_ name: String, _ options: [any CommandOption]) -> [OptionDefinition] {
        options.flatMap(\.definitions).map { option in
            var option = option
            option.section = name
            return option
        }
    }

    func isNamed(_ name: some StringProtocol) -> Bool {
        longName == name || aliases.contains { $0 == name }
    }
}

/// Options that belong together, or a single one.
protocol CommandOption: Sendable {
    var definitions: [OptionDefinition] { get }
}

extension [OptionDefinition]: CommandOption {
    var definitions: [OptionDefinition] { self }

    /// Returns the options with other descriptions, by long name.
    func describing(_ summaries: [String: String]) -> Self {
        map { option in
            var option = option
            option.summary = summaries[option.longName] ?? option.summary
            return option
        }
    }

    /// Returns the options without one of them.
    func without(_ other: any CommandOption) -> Self {
        let names = other.definitions.map(\.longName)
        return filter { !names.contains($0.longName) }
    }
}

/// An option with a typed value.
struct Option<Value: ArgumentValue>: CommandOption {
    let definition: OptionDefinition

    var definitions: [OptionDefinition] { [definition] }

    /// Creates an option.
    ///
    /// The value is the placeholder in the help. The summary has no final period.
    init(
        _ longName: String,
        aliases: [String] = [],
        short shortName: Character? = nil,
        value: String = Value.placeholder,
        isRequired: Bool = false,
        isRepeatable: Bool = false,
        _ summary: String
    ) {
        definition = OptionDefinition(
            longName: longName,
            aliases: aliases,
            shortName: shortName,
            value: OptionDefinition.Value(name: value, kind: Value.valueKind) { text throws(ValueError) in
                _ = try Value(argument: text)
            },
            isRequired: isRequired,
            isRepeatable: isRepeatable,
            summary: summary
        )
    }
}

/// An option without a value.
struct Flag: CommandOption {
    let definition: OptionDefinition

    var definitions: [OptionDefinition] { [definition] }

    /// Creates a flag, whose summary has no final period.
    init(_ longName: String, short shortName: Character? = nil, _ summary: String) {
        definition = OptionDefinition(longName: longName, shortName: shortName, summary: summary)
    }
}
