/// An option with a value of a given type: the definition, and the way to the typed values after parsing.
struct Option<Value: ArgumentValue>: Sendable {
    let definition: OptionDefinition

    /// Describes the option.
    ///
    /// - Parameters:
    ///   - longName: The name without dashes.
    ///   - aliases: Other long names that mean the same.
    ///   - shortName: A letter for `-x`, if there is one.
    ///   - value: How help calls the value, such as `FILE`.
    ///   - isRequired: Whether the command refuses to run without it.
    ///   - isRepeatable: Whether it may be given several times.
    ///   - section: The heading of help under which it stands.
    ///   - summary: What it does, without a final period.
    init(
        _ longName: String,
        aliases: [String] = [],
        short shortName: Character? = nil,
        value: String,
        isRequired: Bool = false,
        isRepeatable: Bool = false,
        section: String = OptionDefinition.defaultSection,
        _ summary: String
    ) {
        definition = OptionDefinition(
            longName: longName,
            aliases: aliases,
            shortName: shortName,
            value: OptionDefinition.Value(name: value, kind: Value.valueKind),
            isRequired: isRequired,
            isRepeatable: isRepeatable,
            section: section,
            summary: summary
        )
    }
}
