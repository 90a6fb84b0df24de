import TokenGeneration

/// `jwt key jwks remove`: takes a key out of a JWK Set.
struct KeySetRemoveCommand {
    static let definition = CommandDefinition(
        name: "remove",
        summary: "Take a key out of a JWK Set",
        discussion: ["Takes out every entry with this kid. Tokens that name it are refused from then on."],
        operands: [
            KeySetGroup.set, OperandDefinition(name: "KID", isRequired: true, summary: "The kid of the key"),
        ],
        examples: [.init(purpose: "End a key's life", line: "jwt key jwks remove keys.jwks 2025-06")],
        exitStatuses: KeySetGroup.exitStatuses,
        action: { try KeySetRemoveCommand($0).run(on: $1) }
    )

    private let file: InputFile
    private let keyID: String

    private init(_ arguments: ParsedArguments) throws(UsageError) {
        file = try KeySetGroup.file(arguments)
        if file.isStandardInput { throw arguments.usageError("SET must be a file: it is written") }
        keyID = arguments.operands.dropFirst().first ?? ""
    }

    private func run(on console: Console) throws {
        let count = try KeySetFile.change(file) { set in
            let doomed = set.indices(of: keyID)
            guard !doomed.isEmpty else {
                throw CommandFailure(
                    .rejected,
                    "\(file.name): has no key of this kid; jwt key jwks list shows those it has",
                    cause: TokenError(.unknownKey, "")
                )
            }
            set.entries = set.entries.enumerated().filter { !doomed.contains($0.offset) }.map(\.element)
            return doomed.count
        }
        if console.writesJSON { try console.print(["removed": .number(JSONNumber(count))]) }
    }
}
