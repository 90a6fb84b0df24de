/// What there is to know about an argument that is not an option.
struct OperandDefinition: Sendable {
    /// How help calls it, such as `TOKEN`.
    var name: String
    var isRequired = false
    var kind = OptionDefinition.ValueKind.text
    /// What it is for, without a final period.
    var summary: String

    /// The operand as the usage line shows it.
    var synopsis: String { isRequired ? name : "[\(name)]" }
}
