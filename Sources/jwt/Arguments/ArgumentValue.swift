/// A type that parses an option's value.
protocol ArgumentValue: Sendable {
    /// The kind of value, for completions (plain text by default).
    static var valueKind: OptionDefinition.ValueKind { get }

    /// The usual placeholder in the help, such as `FILE`.
    static var placeholder: String { get }

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
    static var placeholder: String { "TEXT" }
}

/// A value that the user chooses by its name.
protocol NamedValue: ArgumentValue, RawRepresentable<String> {
    /// The names in display order.
    static var names: [String] { get }
}

extension NamedValue {
    static var valueKind: OptionDefinition.ValueKind { .choice(names) }
    static var placeholder: String { names.joined(separator: "|") }

    init(argument: String) throws(ValueError) {
        guard let value = Self(rawValue: argument) else { throw Self.unknownName }
        self = value
    }

    static var unknownName: ValueError { ValueError(message: "must be one of " + names.joined(separator: ", ")) }
}

extension NamedValue where Self: CaseIterable {
    static var names: [String] { allCases.map(\.rawValue) }
}
