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
