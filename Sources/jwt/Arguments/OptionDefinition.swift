/// What there is to know about one option: parsing, help, completions and manual pages are all made from it.
struct OptionDefinition: Sendable {
    /// What the value of an option is, for whoever completes or documents it.
    enum ValueKind: Sendable, Equatable {
        case text
        case file
        case choice([String])
    }

    /// The value an option takes.
    struct Value: Sendable {
        /// How help calls the value, such as `FILE`.
        var name: String
        var kind: ValueKind
    }

    /// The name without its dashes.
    var longName: String
    /// Other long names that mean the same, which help does not show.
    var aliases: [String] = []
    var shortName: Character?
    /// The value taken, `nil` for a flag.
    var value: Value?
    var isRequired = false
    var isRepeatable = false
    /// The heading of help under which the option stands.
    var section: String
    /// What the option does: one or more sentences without a final period.
    var summary: String

    /// The option as the user types it: `--alg`.
    var spelling: String { "--" + longName }

    /// The short form as the user types it: `-h`.
    var shortSpelling: String? { shortName.map { "-\($0)" } }

    /// The option with its value as help shows it: `--alg ALG`.
    var synopsis: String {
        guard let value else { return spelling }
        return spelling + " " + value.name
    }

    /// Every option of every command: shows help.
    static let help = OptionDefinition(
        longName: "help",
        shortName: "h",
        section: defaultSection,
        summary: "Show this help"
    )

    /// Every option of every command that does something: output for programs.
    static let json = OptionDefinition(
        longName: "json",
        section: defaultSection,
        summary: "Print the result as one line of JSON, and errors and warnings, too"
    )

    static let defaultSection = "Options"

    /// Whether the option has this long name.
    func isNamed(_ name: some StringProtocol) -> Bool {
        longName == name || aliases.contains { $0 == name }
    }
}
