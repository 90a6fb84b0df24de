/// `jwt key`: commands about keys.
enum KeyGroup {
    /// The key that a command works on.
    static let operand = OperandDefinition(
        name: "KEY",
        kind: .file,
        summary: "The key's file, - for standard input; or use --key-env"
    )

    static let definition = CommandDefinition(
        name: "key",
        summary: "Convert, inspect and publish keys",
        discussion: ["A key is read from PEM, DER, a JWK or a certificate, told apart by content."],
        examples: [
            .init(purpose: "PEM to JWK", line: "jwt key convert key.pem --to jwk --kid auto"),
            .init(purpose: "What is this file?", line: "jwt key inspect key.pem"),
            .init(purpose: "Publish a key", line: "jwt key jwks add keys.jwks key.pem"),
        ],
        subcommands: [
            KeyConvertCommand.definition, KeyConvertCommand.publicDefinition, KeyThumbprintCommand.definition,
            KeyInspectCommand.definition, KeySetGroup.definition,
        ],
        hiddenSubcommands: [generate]
    )

    /// `jwt key generate`: another spelling of `jwt keygen`.
    private static var generate: CommandDefinition {
        var command = KeygenCommand.definition
        command.name = "generate"
        return command
    }

    /// The key that the command line names.
    ///
    /// - Throws: ``UsageError`` if it names none.
    static func source(_ arguments: ParsedArguments) throws(UsageError) -> KeySource {
        guard let source = try KeySource(arguments, operand: arguments.operands.first) else {
            throw arguments.usageError("a key is needed: its file, - for standard input, or --key-env NAME")
        }
        return source
    }
}
