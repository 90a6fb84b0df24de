/// The `jwt key` command group.
enum KeyGroup {
    static let operand = OperandDefinition(
        name: "KEY",
        kind: .file,
        summary: "The key file, or - for standard input; or use --key-env"
    )

    static let definition = CommandDefinition(
        name: "key",
        summary: "Convert, inspect and publish keys",
        discussion: ["Keys are read as PEM, DER, JWK or certificate. The form is detected from the content."],
        examples: [
            "Convert PEM to JWK": "jwt key convert key.pem --to jwk --kid auto",
            "Describe a key": "jwt key inspect key.pem",
            "Add a public key to a JWK Set": "jwt key jwks add keys.jwks key.pem",
        ],
        subcommands: [
            KeyConvertCommand.definition, KeyConvertCommand.publicDefinition, KeyThumbprintCommand.definition,
            KeyInspectCommand.definition, KeySetGroup.definition,
        ],
        hiddenSubcommands: [generate]
    )

    /// The `jwt key generate` command, an alternative spelling of `jwt keygen`.
    private static var generate: CommandDefinition {
        var command = KeygenCommand.definition
        command.name = "generate"
        return command
    }

    /// Returns the key source that the command line specifies.
    static func source(_ arguments: ParsedArguments, operand: Int = 0) throws(UsageError) -> KeySource {
        guard let source = try KeySource(arguments, operand: operand) else {
            throw arguments.usageError("missing key; pass its file, - for standard input, or --key-env NAME")
        }
        return source
    }
}
