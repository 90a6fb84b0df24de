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
