/// The arguments of one command, checked against its definition.
struct ParsedArguments: Sendable {
    /// The names of the commands down to this one.
    let path: [String]
    private(set) var operands: [String] = []
    private var texts: [String: [String]] = [:]

    init(path: [String]) {
        self.path = path
    }

    /// The value of an option, `nil` if it was not given.
    func value<Value>(of option: Option<Value>) throws(UsageError) -> Value? {
        try values(of: option).last
    }

    /// The value of an option that the command cannot do without.
    func requiredValue<Value>(of option: Option<Value>) throws(UsageError) -> Value {
        guard let value = try value(of: option) else {
            throw usageError("\(option.definition.synopsis) is required")
        }
        return value
    }

    /// The values of an option in the order given.
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

    /// Whether the flag was given.
    func contains(_ flag: Flag) -> Bool {
        contains(flag.definition)
    }

    /// A usage error of this command.
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
