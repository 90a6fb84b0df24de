/// The definition of a positional argument.
struct OperandDefinition: Sendable {
    /// The name in the help, such as `TOKEN`.
    var name: String
    var isRequired = false
    var kind = OptionDefinition.ValueKind.text
    /// The description, without a final period.
    var summary: String

    /// The operand as it appears in the usage line.
    var synopsis: String { isRequired ? name : "[\(name)]" }
}
