import Foundation
import TokenGeneration

/// The `jwt key jwks list` command: lists the keys of a JWK Set.
struct KeySetListCommand {
    static let definition = CommandDefinition(
        name: "list",
        summary: "List the keys of a JWK Set",
        discussion: [
            """
            Prints one line for each key with tab-separated columns: kid, type, algorithm, use, thumbprint. A - \
            stands for a missing value. If this version can't verify with a key, an additional column explains why.
            """
        ],
        operands: [KeySetGroup.set],
        examples: [
            "List the keys": "jwt key jwks list keys.jwks",
            "List only the kids": "jwt key jwks list keys.jwks | cut -f1",
        ],
        exitCodes: [
            0: "The keys were listed",
            2: "The set is unusable, or a file can't be read",
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let file = try KeySetGroup.file(arguments)
        let content = try file.read()
        let set = try CommandFailure.reporting(at: file.name) { try JWKSet(parsing: Data(content.bytes)) }
        let rows = set.keys.map(row)
        if console.writesJSON {
            try console.print(["keys": .array(rows.map { .object(object($0)) })])
        } else {
            for row in rows { try console.print(line(row)) }
        }
        for rejection in set.rejections {
            console.warn("\(file.name): entry \(rejection.index) isn't a key: \(rejection.reason.message)")
        }
    }

    private struct Row {
        var cells: [(name: String, text: String?)]
        var problem: TokenError?
    }

    private static func row(_ jwk: JWK) -> Row {
        let thumbprint = jwk.keyType == "oct" ? nil : try? jwk.thumbprint
        var problem: TokenError?
        do throws(TokenError) {
            _ = try VerificationKey(jwk: jwk)
        } catch {
            // Keys for encryption are usable, too.
            let isForEncryption = jwk.use != "sig" && (try? EncryptionCandidates(jwk: jwk).encryptionKey()) != nil
            problem = isForEncryption && error.code != .algorithmRequired ? nil : error
        }
        return Row(
            cells: [
                ("kid", jwk.keyID), ("type", ([jwk.keyType] + [jwk.curve].compactMap(\.self)).joined(separator: " ")),
                ("alg", jwk.algorithm), ("use", jwk.use), ("thumbprint", thumbprint),
            ],
            problem: problem
        )
    }

    private static func line(_ row: Row) -> String {
        let problem = row.problem.map { "not usable: \($0.message)" }
        let cells = row.cells.map { $0.text ?? "-" } + [problem].compactMap(\.self)
        // Escape tabs: a tab in a kid would create another column.
        return cells.map(VisibleText.line).joined(separator: "\t")
    }

    private static func object(_ row: Row) -> JSONObject {
        var members = row.cells.compactMap { cell in cell.text.map { (cell.name, JSONValue.string($0)) } }
        if let problem = row.problem { members.append(("problem", .object(CommandFailure(.failed, problem).report))) }
        return JSONObject(members)
    }
}
