import TokenGeneration

/// `jwt decode`: shows what is in a token without checking it.
struct DecodeCommand {
    static let definition = CommandDefinition(
        name: "decode",
        summary: "Show what is in a token, UNVERIFIED",
        discussion: [
            """
            Prints the header and the claims as JSON, whatever the algorithm and whether expired or not, and on \
            standard error the times as dates. Nothing is checked: anyone can have written the token. Use jwt verify \
            before you rely on it.
            """
        ],
        operands: [TokenInput.operand],
        examples: [
            .init(purpose: "See what a token says", line: "jwt decode < token"),
            .init(
                purpose: "Which key is it said to be signed with?",
                line: "jwt decode < token 2>/dev/null | jq -r .header.kid"
            ),
        ],
        exitStatuses: [
            .init(code: 0, meaning: "The contents are printed; that says nothing about the token being good"),
            .init(code: 1, meaning: "It is not a token"),
            .init(code: 2, meaning: "A file or pipe failed"),
            .init(code: 64, meaning: "The command line is wrong"),
        ],
        action: { try DecodeCommand($0).run(on: $1) }
    )

    private let token: TokenInput

    private init(_ arguments: ParsedArguments) throws(UsageError) {
        token = try TokenInput(arguments)
    }

    private func run(on console: Console) throws {
        let text = try token.read()
        let token: UnverifiedToken
        do throws(TokenError) {
            token = try UnverifiedToken(text, maximumSize: TokenInput.sizeLimit)
        } catch {
            throw CommandFailure(.rejected, error.message, cause: error)
        }
        console.note("UNVERIFIED: the signature was not checked; anyone can have written this")
        for line in Self.times(in: token.unverifiedClaims) { console.note(line) }
        try console.print(Self.json(token))
    }

    /// The header comes first, as in the token; the last member says to programs what the warning says to people.
    private static func json(_ token: UnverifiedToken) -> String {
        let parts = [("header", token.unverifiedHeader), ("claims", token.unverifiedClaims)].map { name, object in
            "  \"\(name)\": " + object.prettyPrinted().replacing("\n", with: "\n  ")
        }
        return VisibleText.json("{\n" + parts.joined(separator: ",\n") + ",\n  \"verified\": false\n}")
    }

    private static func times(in claims: JSONObject) -> [String] {
        ["iat", "nbf", "exp"].compactMap { name in
            guard let value = claims[name] else { return nil }
            guard let seconds = value.number?.double else { return "\(name): not a time" }
            return "\(name): " + (Timestamp(secondsSince1970: seconds)?.text ?? "outside the years 1 to 9999")
        }
    }
}
