import TokenGeneration

/// The serialization of an SD-JWT.
enum SDForm: String, CaseIterable, NamedValue {
    case compact
    case json

    private static let option = Option<SDForm>(
        "format",
        "A single line of the signed token and its disclosures (default), or flattened JSON"
    )

    static let options = OptionDefinition.section(SignatureForm.section, [option])

    static func form(_ arguments: ParsedArguments) throws(UsageError) -> SDForm {
        try arguments.value(of: option) ?? .compact
    }

    /// Prints a token.
    func print(_ token: SDJWT, on console: Console) throws(CommandFailure) {
        let value: JSONValue = self == .json ? .object(token.flattenedJSON()) : .string(token.compact)
        try SignatureForm.print(value, as: "token", on: console)
    }
}
