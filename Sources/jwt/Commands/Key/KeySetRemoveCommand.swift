import TokenGeneration

/// The `jwt key jwks remove` command: removes a key from a JWK Set.
struct KeySetRemoveCommand {
    static let definition = CommandDefinition(
        name: "remove",
        summary: "Remove a key from a JWK Set",
        discussion: ["Removes every entry with the kid. Verifiers then reject tokens with that kid."],
        operands: [
            KeySetGroup.set,
            OperandDefinition(
                name: "KID",
                isRequired: true,
                summary: "The kid of the key; put -- before one that begins with -"
            ),
        ],
        examples: ["Retire a key": "jwt key jwks remove keys.jwks 2025-06"],
        exitCodes: KeySetGroup.exitCodes,
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let file = try KeySetGroup.file(arguments)
        if file.isStandardInput { throw arguments.usageError("SET must be a file, not standard input") }
        let keyID = arguments.operands.dropFirst().first ?? ""
        let count = try KeySetFile.change(file) { set in
            guard set.contains(keyID) else {
                throw CommandFailure(
                    .rejected,
                    "\(file.name): has no key with this kid; jwt key jwks list shows its keys",
                    cause: TokenError(.unknownKey, "")
                )
            }
            let count = set.entries.count
            set.remove(keyID)
            return count - set.entries.count
        }
        if console.writesJSON { try console.print(["removed": .number(JSONNumber(count))]) }
    }
}
