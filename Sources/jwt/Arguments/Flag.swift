/// An option without a value.
struct Flag: Sendable {
    let definition: OptionDefinition

    /// Describes the flag.
    ///
    /// - Parameters:
    ///   - longName: The name without dashes.
    ///   - shortName: A letter for `-x`, if there is one.
    ///   - section: The heading of help under which it stands.
    ///   - summary: What it does, without a final period.
    init(
        _ longName: String,
        short shortName: Character? = nil,
        section: String = OptionDefinition.defaultSection,
        _ summary: String
    ) {
        definition = OptionDefinition(longName: longName, shortName: shortName, section: section, summary: summary)
    }
}
