import Foundation
import TokenGeneration

/// `jwt decode`: shows what is in a token without checking it.
struct DecodeCommand {
    private static let time = Option<Timestamp>(
        "at",
        value: "TIME",
        "Say how long ago times are as if it were this time (default: now)"
    )

    static let definition = CommandDefinition(
        name: "decode",
        summary: "Show what is in a token, UNVERIFIED",
        discussion: [
            """
            Prints the header and the claims as JSON, whatever the algorithm and whether expired or not, and on \
            standard error the times as local dates. Nothing is checked: anyone can have written the token. Use jwt \
            verify before you rely on it.
            """,
            """
            Colors are for terminals only, and not if NO_COLOR is set. With --batch, each line of standard input is a \
            token and becomes one line of JSON, in the same order.
            """,
        ],
        options: [time.definition, BatchRun.flag.definition],
        operands: [TokenInput.operand],
        examples: [
            .init(purpose: "See what a token says", line: "jwt decode < token"),
            .init(
                purpose: "Which key is it said to be signed with?",
                line: "jwt decode < token 2>/dev/null | jq -r .header.kid"
            ),
            .init(purpose: "Who is in these tokens?", line: "jwt decode --batch < tokens | jq -r .claims.sub"),
        ],
        exitStatuses: [
            .init(code: 0, meaning: "The contents are printed; that says nothing about the token being good"),
            .init(code: 1, meaning: "It is not a token; with --batch: at least one line is not"),
            .init(code: 2, meaning: "A file or pipe failed"),
            .usage,
        ],
        action: { try DecodeCommand($0).run(on: $1) }
    )

    private let token: TokenInput
    private let now: Double
    private let isBatch: Bool

    private init(_ arguments: ParsedArguments) throws(UsageError) {
        token = try TokenInput(arguments)
        now = try arguments.value(of: Self.time)?.secondsSince1970 ?? Date().timeIntervalSince1970
        isBatch = arguments.contains(BatchRun.flag)
    }

    private func run(on console: Console) throws {
        if isBatch { return try Self.runBatch(console) }
        let text = try token.read()
        let token: UnverifiedToken
        do throws(TokenError) {
            token = try UnverifiedToken(text, maximumSize: TokenInput.sizeLimit)
        } catch {
            throw CommandFailure(.rejected, error)
        }
        if console.writesJSON { return try console.print(Self.result(token)) }
        console.note("UNVERIFIED: the signature was not checked; anyone can have written this")
        for line in times(in: token.unverifiedClaims) { console.note(line) }
        try console.show(Self.json(token))
    }

    private static func runBatch(_ console: Console) throws {
        try BatchRun(input: .standardInput).run(on: console) { line in
            let token = try BatchRun.token(in: line)
            return .object(result(try UnverifiedToken(token, maximumSize: TokenInput.sizeLimit)))
        }
    }

    private static func result(_ token: UnverifiedToken) -> JSONObject {
        ["header": .object(token.unverifiedHeader), "claims": .object(token.unverifiedClaims), "verified": false]
    }

    /// The header comes first, as in the token; the last member says to programs what the warning says to people.
    private static func json(_ token: UnverifiedToken) -> String {
        let parts = [("header", token.unverifiedHeader), ("claims", token.unverifiedClaims)].map { name, object in
            "  \"\(name)\": " + object.prettyPrinted().replacing("\n", with: "\n  ")
        }
        return "{\n" + parts.joined(separator: ",\n") + ",\n  \"verified\": false\n}"
    }

    private func times(in claims: JSONObject) -> [String] {
        ["iat", "nbf", "exp"].compactMap { name in
            guard let value = claims[name] else { return nil }
            guard let seconds = value.number?.double else { return "\(name): not a time" }
            guard let time = Timestamp(secondsSince1970: seconds) else { return "\(name): outside the years 1 to 9999" }
            return "\(name): \(time.localText) (\(verb(name, seconds)) \(RelativeTime.text(seconds - now)))"
        }
    }

    private func verb(_ name: String, _ seconds: Double) -> String {
        switch name {
        case "exp": seconds > now ? "expires" : "expired"
        case "nbf": seconds > now ? "begins" : "began"
        default: "issued"
        }
    }
}
