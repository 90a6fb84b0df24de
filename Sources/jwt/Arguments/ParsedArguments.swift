struct ParsedArguments: Sendable {
    let path: [String]
    private(set) var operands: [String] = []
    private var texts: [String: [String]] = [:]

    private let options: [OptionDefinition]

    init(path: [String], options: [OptionDefinition] = []) {
        self.path = path
        self.options = options
    }

    /// Returns whether the command has an option, given or not.
    func accepts(_ option: OptionDefinition) -> Bool { options.contains { $0.longName == option.longName } }

    func value<Value>(of option: Option<Value>) -> Value? { values(of: option).last }

    /// Returns the values of an option, which the parser or the profile has checked.
    func values<Value>(of option: Option<Value>) -> [Value] {
        texts[option.definition.longName, default: []].compactMap { try? option.parse($0) }
    }

    func text(of option: OptionDefinition) -> String? { texts[option.longName]?.last }

    func operand<Value: ArgumentValue>(_ index: Int = 0, named name: String) throws(UsageError) -> Value? {
        try operands.dropFirst(index).first.map { text throws(UsageError) in try parse(text, named: name) }
    }

    func parse<Value: ArgumentValue>(_ text: String, named name: String) throws(UsageError) -> Value {
        do throws(ValueError) {
            return try Value(argument: text)
        } catch {
            throw usageError("\(name) \(error.message)")
        }
    }

    /// Rejects the command line with the first message whose rule it breaks.
    func reject(_ rules: KeyValuePairs<String, Bool>) throws(UsageError) {
        if let broken = rules.first(where: \.value) { throw usageError(broken.key) }
    }

    /// The number of options that read standard input, of those whose value is a file.
    func standardInputCount(in options: [OptionDefinition]) -> Int {
        options.count { $0.value?.kind == .file && texts[$0.longName]?.contains("-") == true }
    }

    /// Checks that at most one of several inputs is standard input; `nil` is an absent input.
    func checkStandardInput(_ readers: [Bool?], _ message: String) throws(UsageError) {
        if readers.count(where: { $0 == true }) > 1 { throw usageError(message) }
    }

    func usageError(_ message: String) -> UsageError { UsageError(path: path, message: message) }

    func contains(_ options: any CommandOption) -> Bool {
        options.definitions.contains { texts[$0.longName] != nil }
    }

    mutating func add(_ text: String, to option: OptionDefinition) {
        texts[option.longName, default: []].append(text)
    }

    mutating func add(operand: String) { operands.append(operand) }
}

struct UsageError: Error, Equatable {
    var path: [String]
    var message: String

    var line: String {
        let command = path.joined(separator: " ")
        return "\(command): \(message) (see \(command) --help)"
    }
}

protocol ArgumentValue: Sendable {
    static var valueKind: OptionDefinition.ValueKind { get }
    static var placeholder: String { get }

    /// - Throws: ``ValueError``, which never repeats the text, because it may be a secret.
    init(argument: String) throws(ValueError)
}

/// An error for an invalid value, whose message completes the sentence "--option …".
struct ValueError: Error, Equatable {
    var message: String

    init(message: String) { self.message = message }

    init(expecting names: [String]) { message = "must be one of " + names.joined(separator: ", ") }
}

extension ArgumentValue {
    static var valueKind: OptionDefinition.ValueKind { .text }
    static var placeholder: String { "TEXT" }
}

protocol NamedValue: ArgumentValue, RawRepresentable<String> {
    static var names: [String] { get }
}

extension NamedValue {
    static var valueKind: OptionDefinition.ValueKind { .choice(names) }
    static var placeholder: String { names.joined(separator: "|") }

    init(argument: String) throws(ValueError) {
        guard let value = Self(rawValue: argument) else { throw ValueError(expecting: Self.names) }
        self = value
    }
}

extension NamedValue where Self: CaseIterable {
    static var names: [String] { allCases.map(\.rawValue) }
}
