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
