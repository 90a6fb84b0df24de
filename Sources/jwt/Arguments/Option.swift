/// An option with a typed value.
struct Option<Value: ArgumentValue>: Sendable {
    let definition: OptionDefinition

    /// Creates an option.
    ///
    /// - Parameters:
    ///   - longName: The name without dashes.
    ///   - aliases: Alternative long names.
    ///   - shortName: The letter for the short form `-x`, if any.
    ///   - value: The placeholder for the value in the help, such as `FILE`.
    ///   - isRequired: A Boolean value that indicates whether the command requires the option.
    ///     The default is `false`.
    ///   - isRepeatable: A Boolean value that indicates whether the option can be repeated. The
    ///     default is `false`.
    ///   - section: The heading for the option in the help.
    ///   - summary: The description, without a final period.
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
