import Foundation
import TokenGeneration

struct DecodeCommand {
    static let time = Option<Timestamp>("at", "Show relative times as of this time (default: now)")

    static let definition = CommandDefinition(
        name: "decode",
        summary: "Print a token's contents, UNVERIFIED",
        discussion: [
            """
            Prints the header and the claims as JSON, and the times as local dates on standard error. Works with any \
            algorithm, with expired tokens, and with the JSON serializations. Nothing is checked: anyone can have written the token. Use jwt \
            verify before you rely on it. Of an encrypted token, only the header is readable, and jwt decrypt \
            decrypts it. SD-JWTs are for jwt sd show.
            """,
            """
            Output is colored only on a terminal, and not if NO_COLOR is set. With --batch, each line of standard \
            input is a token and produces one line of JSON, in the same order.
            """,
        ],
        options: [time, BatchRun.flag, insecure],
        operands: [TokenInput.operand],
        examples: [
            "Inspect a token": "jwt decode < token",
            "Print the key ID that the token claims": "jwt decode < token 2>/dev/null | jq -r .header.kid",
            "List the subjects of many tokens": "jwt decode --batch < tokens | jq -r .claims.sub",
        ],
        exitCodes: [
            0: "The contents were printed; the token may still be invalid",
            1: "The input isn't a token; with --batch: at least one line isn't",
            2: "A file or pipe can't be read or written",
        ],
        action: { try run($0, $1) }
    )

    /// The option of step, where it means that nothing is verified.
    static let insecure = [OptionDefinition(longName: "insecure", visibility: .hidden, summary: "Verify nothing")]

    private static let selectiveAdvice = "print it with jwt sd show"

    static func now(_ arguments: ParsedArguments) throws(UsageError) -> Double {
        arguments.value(of: time)?.secondsSince1970 ?? Date().timeIntervalSince1970
    }

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let input = try TokenInput(arguments)
        let times = TimeNotes(now: try now(arguments))
        if arguments.contains(BatchRun.flag) { return try runBatch(console) }
        let text = try input.read()
        if EncryptedInput.isEncrypted(text) { return try showEncrypted(text, console) }
        if let error = SDInput.refusal(text, selectiveAdvice) { throw CommandFailure(.rejected, error) }
        let token = try CommandFailure.reporting(.rejected) { try contents(of: text) }
        if console.writesJSON { return try console.print(JSONObject(token.members)) }
        console.note("UNVERIFIED: the signature was not checked; anyone can have written this")
        for line in times.lines(in: token.claims) { console.note(line) }
        try console.show(OrderedJSON.text(token.members))
    }

    private static func contents(
        of text: String
    ) throws(TokenError) -> (claims: JSONObject, members: [(name: String, value: JSONValue)]) {
        guard text.utf8.first == UInt8(ascii: "{") else {
            let token = try UnverifiedToken(text, maximumSize: TokenInput.sizeLimit)
            return (
                token.unverifiedClaims,
                [
                    ("header", .object(token.unverifiedHeader)), ("claims", .object(token.unverifiedClaims)),
                    ("verified", false),
                ]
            )
        }
        let jws = try UnverifiedJWS(json: text, limits: JWSLimits(size: TokenInput.sizeLimit))
        guard let payload = jws.unverifiedPayload else {
            throw TokenError(.malformedToken, "the payload is detached; jwt jws verify takes it with --payload FILE")
        }
        let claims: JSONObject
        do throws(TokenError) {
            claims = try JSONObject(parsing: payload)
        } catch {
            throw TokenError(.malformedToken, "the payload isn't a valid JSON object: \(error.message)", cause: error)
        }
        let headers = jws.unverifiedSignatures.map { signature in
            let members: [(String, JSONValue)] = [("header", .object(signature.unverifiedProtectedHeader))]
            let other = signature.unprotectedHeader
            return members + (other.isEmpty ? [] : [("unprotectedHeader", .object(other))])
        }
        var members: [(name: String, value: JSONValue)] = headers.first?.map { ($0.0, $0.1) } ?? []
        if headers.count > 1 {
            members.append(("otherSignatures", .array(headers.dropFirst().map { .object(JSONObject($0)) })))
        }
        return (claims, members + [("claims", .object(claims)), ("verified", false)])
    }

    private static func showEncrypted(_ text: String, _ console: Console) throws {
        let jwe = try CommandFailure.reporting(.rejected) { try EncryptedInput.jwe(text) }
        let report = EncryptedInput.report(jwe)
        if console.writesJSON { return try console.print(report) }
        console.note("UNVERIFIED: anyone can have written this header; the rest of the token is encrypted")
        console.note("To decrypt the token, use: \(EncryptedInput.advice(jwe))")
        try console.show(report.prettyPrinted())
    }

    private static func runBatch(_ console: Console) throws {
        try BatchRun(input: .standardInput).run(on: console) { line in
            let token = try BatchRun.token(in: line)
            if let error = SDInput.refusal(token, selectiveAdvice) { throw error }
            if EncryptedInput.isEncrypted(token) {
                return .object(EncryptedInput.report(try EncryptedInput.jwe(token)))
            }
            return .object(JSONObject(try contents(of: token).members))
        }
    }
}
