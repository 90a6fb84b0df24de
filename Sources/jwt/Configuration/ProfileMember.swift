/// A member that a profile may have: an option of the command line, by its long name.
struct ProfileMember: Sendable {
    let definition: OptionDefinition
    /// Whether the value names a file or a folder, which stands relative to the configuration file.
    let isPath: Bool
    private let read: @Sendable (String) throws(ValueError) -> Void

    /// - Parameter option: The option.
    init<Value>(_ option: Option<Value>) {
        definition = option.definition
        isPath = Value.valueKind == .file
        read = { text throws(ValueError) in _ = try Value(argument: text) }
    }

    /// - Parameter flag: The flag, whose value in a profile is `true` or `false`.
    init(_ flag: Flag) {
        definition = flag.definition
        isPath = false
        read = { _ in }
    }

    /// Checks a value as the option itself would.
    ///
    /// - Throws: ``ValueError``.
    func check(_ text: String) throws(ValueError) { try read(text) }
}
