import TokenGeneration

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

    static let help = Flag("help", short: "h", "Show this help")
    static let json = Flag("json", "Print the result and all messages as lines of JSON")

    static func section(_ name: String, _ options: [any CommandOption]) -> [OptionDefinition] {
        options.flatMap(\.definitions).section(name)
    }

    /// Returns options with their summaries, or with those of their definitions for `nil`.
    static func table(_ options: KeyValuePairs<any CommandOption, String?>) -> [OptionDefinition] {
        options.flatMap { option, summary in option.definitions.changing { $0.summary = summary ?? $0.summary } }
    }

    func isNamed(_ name: some StringProtocol) -> Bool { longName == name || aliases.contains { $0 == name } }
}

protocol CommandOption: Sendable {
    var definitions: [OptionDefinition] { get }
}

extension [OptionDefinition]: CommandOption {
    var definitions: [OptionDefinition] { self }

    func section(_ name: String) -> Self { changing { $0.section = name } }

    /// Returns the options with other descriptions, by long name.
    func describing(_ summaries: [String: String]) -> Self {
        changing { $0.summary = summaries[$0.longName] ?? $0.summary }
    }

    /// Returns the options, of which the help shows only those with a short summary.
    func showing(_ briefs: [String: String]) -> Self {
        changing { option in
            option.brief = briefs[option.longName]
            if option.brief == nil { option.visibility = .manual }
        }
    }

    fileprivate func changing(_ change: (inout OptionDefinition) -> Void) -> Self {
        map { option in
            var option = option
            change(&option)
            return option
        }
    }

    func without(_ other: any CommandOption) -> Self {
        let names = other.definitions.map(\.longName)
        return filter { !names.contains($0.longName) }
    }
}

struct Option<Value: Sendable>: CommandOption {
    let definition: OptionDefinition
    let parse: @Sendable (String) throws(ValueError) -> Value

    var definitions: [OptionDefinition] { [definition] }
    var spelling: String { definition.spelling }
    var synopsis: String { definition.synopsis }

    init(
        _ longName: String,
        aliases: [String] = [],
        short shortName: Character? = nil,
        value: String,
        kind: OptionDefinition.ValueKind = .text,
        isRepeatable: Bool = false,
        _ summary: String = "",
        parse: @escaping @Sendable (String) throws(ValueError) -> Value
    ) {
        self.parse = parse
        definition = OptionDefinition(
            longName: longName,
            aliases: aliases,
            shortName: shortName,
            value: OptionDefinition.Value(name: value, kind: kind) { text throws(ValueError) in _ = try parse(text) },
            isRepeatable: isRepeatable,
            summary: summary
        )
    }
}

extension Option where Value: ArgumentValue {
    init(
        _ longName: String,
        aliases: [String] = [],
        short shortName: Character? = nil,
        value: String = Value.placeholder,
        isRepeatable: Bool = false,
        _ summary: String = ""
    ) {
        self.init(
            longName,
            aliases: aliases,
            short: shortName,
            value: value,
            kind: Value.valueKind,
            isRepeatable: isRepeatable,
            summary,
            parse: Value.init(argument:)
        )
    }
}

extension Option {
    init(_ longName: String, value: String? = nil, choices: KeyValuePairs<String, Value>, _ summary: String = "") {
        let names = choices.map(\.key)
        self.init(longName, value: value ?? names.joined(separator: "|"), kind: .choice(names), summary) {
            text throws(ValueError) in
            guard let choice = choices.first(where: { $0.key == text }) else { throw ValueError(expecting: names) }
            return choice.value
        }
    }
}

extension Option<Int> {
    init(
        _ longName: String,
        value: String = "NUMBER",
        noun: String = "number",
        in range: ClosedRange<Int>,
        _ summary: String = ""
    ) {
        self.init(longName, value: value, summary) { text throws(ValueError) in
            guard text.utf8.allSatisfy(\.isDigit), let number = Int(text), range.contains(number) else {
                let end = range.upperBound == .max ? "" : " to \(range.upperBound)"
                throw ValueError(message: "must be a \(noun) from \(range.lowerBound)\(end)")
            }
            return number
        }
    }
}

typealias Flag = OptionDefinition

extension Flag {
    init(_ longName: String, short shortName: Character? = nil, _ summary: String = "") {
        self.init(longName: longName, shortName: shortName, summary: summary)
    }
}
