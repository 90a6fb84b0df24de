struct CommandDefinition: Sendable {
    typealias Action = @Sendable (ParsedArguments, Console) throws -> Void

    var name: String
    /// One sentence without a final period.
    var summary: String
    var discussion: [String] = []
    /// Paragraphs that only the manual has.
    var details: [String] = []
    /// The command's options, without `--json` and `--help`.
    var options: [any CommandOption] = []
    var operands: [OperandDefinition] = []
    /// The command lines for tasks, which have no final period.
    var examples: KeyValuePairs<String, String> = [:]
    /// The examples that only the manual has.
    var manualExamples: KeyValuePairs<String, String> = [:]
    /// The meanings of the exit codes, without the one for usage errors.
    var exitCodes: KeyValuePairs<Int32, String> = [:]
    var subcommands: [CommandDefinition] = []
    /// Alternative spellings of commands, omitted from the help.
    var hiddenSubcommands: [CommandDefinition] = []
    /// The action, or `nil` for a command group.
    var action: Action?

    var allOptions: [OptionDefinition] {
        options.flatMap(\.definitions) + (action == nil ? [.help] : [.json, .help])
    }

    var exitStatuses: [(code: Int32, meaning: String)] {
        exitCodes.isEmpty ? [] : exitCodes.map { ($0, $1) } + [(Program.usageStatus, "The command line is invalid")]
    }
}

struct OperandDefinition: Sendable {
    var name: String
    var isRequired = false
    var kind = OptionDefinition.ValueKind.text
    var summary: String

    var synopsis: String { isRequired ? name : "[\(name)]" }
}

struct OptionDefinition: CommandOption {
    enum ValueKind: Sendable, Equatable {
        case text
        case file
        case choice([String])
    }

    /// Where an option is described.
    enum Visibility: Sendable {
        /// In the help, the manual and completions.
        case help
        /// In the manual and completions, to keep the help short.
        case manual
        /// In the manual and completions, for options that other tools' users type.
        case hidden
    }

    struct Value: Sendable {
        var name: String
        var kind: ValueKind
        var check: @Sendable (String) throws(ValueError) -> Void
    }

    var longName: String
    /// Alternative long names, omitted from the help.
    var aliases: [String] = []
    var shortName: Character?
    /// The value, or `nil` for a flag.
    var value: Value?
    var isRequired = false
    var isRepeatable = false
    var section = "Options"
    var visibility = Visibility.help
    /// A shorter summary for the help, which then has the option in its last section.
    var brief: String?
    var summary: String

    var definitions: [OptionDefinition] { [self] }
    var spelling: String { "--" + longName }
    var shortSpelling: String? { shortName.map { "-\($0)" } }

    var synopsis: String {
        guard let value else { return spelling }
        return spelling + " " + value.name
    }

    static let help = OptionDefinition(longName: "help", shortName: "h", summary: "Show this help")

    static let json = OptionDefinition(
        longName: "json",
        summary: "Print the result and all messages as lines of JSON"
    )

    static func section(_ name: String, _ options: [any CommandOption]) -> [OptionDefinition] {
        options.flatMap(\.definitions).map { option in
            var option = option
            option.section = name
            return option
        }
    }

    func isNamed(_ name: some StringProtocol) -> Bool { longName == name || aliases.contains { $0 == name } }
}

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

    /// Returns the options, of which the help shows only those with a short summary.
    func showing(_ briefs: [String: String]) -> Self {
        map { option in
            var option = option
            option.brief = briefs[option.longName]
            if option.brief == nil { option.visibility = .manual }
            return option
        }
    }

    func without(_ other: any CommandOption) -> Self {
        let names = other.definitions.map(\.longName)
        return filter { !names.contains($0.longName) }
    }
}

struct Option<Value: ArgumentValue>: CommandOption {
    let definition: OptionDefinition

    var definitions: [OptionDefinition] { [definition] }

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

struct Flag: CommandOption {
    let definition: OptionDefinition

    var definitions: [OptionDefinition] { [definition] }

    init(_ longName: String, aliases: [String] = [], short shortName: Character? = nil, _ summary: String) {
        definition = OptionDefinition(longName: longName, aliases: aliases, shortName: shortName, summary: summary)
    }
}
