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

    func contains(_ flag: Flag) -> Bool {
        contains(flag.definition)
    }

    func usageError(_ message: String) -> UsageError {
        UsageError(path: path, message: message)
    }

    func contains(_ option: OptionDefinition) -> Bool {
        contains(optionNamed: option.longName)
    }

    func contains(optionNamed name: String) -> Bool {
        texts[name] != nil
    }

    mutating func add(_ text: String, to option: OptionDefinition) {
        texts[option.longName, default: []].append(text)
    }

    mutating func add(operand: String) {
        operands.append(operand)
    }
}
