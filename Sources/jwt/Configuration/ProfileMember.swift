/// An option that a profile can set, by its long name.
struct ProfileMember: Sendable {
    let definition: OptionDefinition
    /// A Boolean value that indicates whether the value is a path, which is relative to the
    /// configuration file.
    let isPath: Bool
    private let read: @Sendable (String) throws(ValueError) -> Void

    init<Value>(_ option: Option<Value>) {
        definition = option.definition
        isPath = Value.valueKind == .file
        read = { text throws(ValueError) in _ = try Value(argument: text) }
    }

    /// - Parameter flag: The flag. Its value in a profile is `true` or `false`.
    init(_ flag: Flag) {
        definition = flag.definition
        isPath = false
        read = { _ in }
    }

    /// Validates a value as the option does.
    func check(_ text: String) throws(ValueError) { try read(text) }
}
