/// A type that an option's value is read into.
protocol ArgumentValue: Sendable {
    /// What completions may offer; plain text unless the type says otherwise.
    static var valueKind: OptionDefinition.ValueKind { get }

    /// Reads what the user typed.
    ///
    /// - Throws: ``ValueError``, whose message says what was expected and never repeats the text: it may be a secret.
    init(argument: String) throws(ValueError)
}

/// Why the text of a value cannot be used, as the end of the sentence "--option …".
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
            throw ValueError(message: "must be " + Self.allCases.map(\.rawValue).joined(separator: " or "))
        }
        self = value
    }
}
