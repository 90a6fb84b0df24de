/// The arguments of a command, validated against its definition.
struct ParsedArguments: Sendable {
    /// The command names from the root to this command.
    let path: [String]
    private(set) var operands: [String] = []
    private var texts: [String: [String]] = [:]

    init(path: [String]) {
        self.path = path
    }

    /// Returns the value of an option, or `nil` if the option is absent.
    func value<Value>(of option: Option<Value>) throws(UsageError) -> Value? {
        try values(of: option).last
    }

    func requiredValue<Value>(of option: Option<Value>) throws(UsageError) -> Value {
        guard let value = try value(of: option) else {
            throw usageError("\(option.definition.synopsis) is required")
        }
        return value
    }

    /// Returns all values of an option, in order.
    func values<Value>(of option: Option<Value>) throws(UsageError) -> [Value] {
        var values: [Value] = []
        for text in texts[option.definition.longName] ?? [] {
            do throws(ValueError) {
                values.append(try Value(argument: text))
            } catch {
                throw usageError("\(option.definition.spelling) \(error.message)")
            }
        }
        return values
    }

    /// Returns the value of an operand with a name for messages, or `nil` if the operand is absent.
    func operand<Value: ArgumentValue>(_ index: Int = 0, named name: String) throws(UsageError) -> Value? {
        guard let text = operands.dropFirst(index).first else { return nil }
        do throws(ValueError) {
            return try Value(argument: text)
        } catch {
            throw usageError("\(name) \(error.message)")
        }
    }

    /// Checks that at most one of several inputs is standard input; `nil` is an absent input.
    func checkStandardInput(_ readers: [Bool?], _ message: String) throws(UsageError) {
        if readers.count(where: { $0 == true }) > 1 { throw usageError(message) }
    }

    func usageError(_ message: String) -> UsageError {
        UsageError(path: path, message: message)
    }

    /// Returns whether an option, or at least one of several, is present.
    func contains(_ options: any CommandOption) -> Bool {
        options.definitions.contains { texts[$0.longName] != nil }
    }

    mutating func add(_ text: String, to option: OptionDefinition) {
        texts[option.longName, default: []].append(text)
    }

    mutating func add(operand: String) {
        operands.append(operand)
    }
}

/// An invalid command line.
struct UsageError: Error, Equatable {
    /// The path of the command, such as `["jwt", "sign"]`.
    var path: [String]
    /// The problem and the solution, without a final period.
    var message: String

    var line: String {
        let command = path.joined(separator: " ")
        return "\(command): \(message) (see \(command) --help)"
    }
}

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
