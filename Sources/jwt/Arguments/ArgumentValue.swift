/// A type that parses an option's value.
protocol ArgumentValue: Sendable {
    /// The kind of value, for completions (plain text by default).
    static var valueKind: OptionDefinition.ValueKind { get }

    /// Parses the text that the user entered.
    ///
    /// - Throws: ``ValueError`` with a message that describes the expected format. It never
    ///   repeats the text, which may be a secret.
    init(argument: String) throws(ValueError)
}

/// An error for an invalid value, whose message completes the sentence "--option …".
struct ValueError: Error, Equatable {
    var message: String
}

extension ArgumentValue {
    static var valueKind: OptionDefinition.ValueKind { .text }
}

extension ArgumentValue where Self: RawRepresentable<String>, Self: CaseIterable {
    static var valueKind: OptionDefinition.ValueKind { .choice(allCases.map(\.rawValue)) }

    init(argument: String) throws(ValueError) {
        guard let value = Self(rawValue: argument) else {
            throw ValueError(message: "must be one of " + Self.allCases.map(\.rawValue).joined(separator: ", "))
        }
        self = value
    }
}
