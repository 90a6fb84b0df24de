/// An option without a value.
struct Flag: Sendable {
    let definition: OptionDefinition

    /// Creates a flag.
    ///
    /// - Parameters:
    ///   - longName: The name without dashes.
    ///   - shortName: The letter for the short form `-x`, if any.
    ///   - section: The heading for the flag in the help.
    ///   - summary: The description, without a final period.
    init(
        _ longName: String,
        short shortName: Character? = nil,
        section: String = OptionDefinition.defaultSection,
        _ summary: String
    ) {
        definition = OptionDefinition(longName: longName, shortName: shortName, section: section, summary: summary)
    }
}
