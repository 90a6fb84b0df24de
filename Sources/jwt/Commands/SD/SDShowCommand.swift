import Foundation
import TokenGeneration

/// The `jwt sd show` command: prints the contents of an SD-JWT without verifying them.
struct SDShowCommand {
    static let definition = CommandDefinition(
        name: "show",
        summary: "Print an SD-JWT's contents, UNVERIFIED",
        discussion: [
            """
            Prints the header, the signed payload, every disclosure with its path, value and digest, and the key \
            binding as JSON, and notes on standard error: the times as local dates, the number of digests without a \
            disclosure, and why verifiers would reject the disclosures. No signature is checked: anyone can have \
            written the SD-JWT. Use jwt sd verify before you rely on it.
            """,
            """
            The paths are those that jwt sd present --disclose accepts. A disclosure without a path is one that \
            nothing refers to. The SD-JWT contains the disclosed claims, so keep it as secret as them.
            """,
        ],
        options: [DecodeCommand.time],
        operands: [TokenInput.operand],
        examples: [
            "Inspect an SD-JWT": "jwt sd show < sd-jwt",
            "List the claims that the holder can hide": "jwt sd show --json < sd-jwt | jq -r '.disclosures[].path'",
        ],
        exitCodes: [
            0: "The contents were printed; the SD-JWT may still be invalid",
            1: "The input isn't an SD-JWT",
            2: "A file or pipe can't be read or written",
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let times = TimeNotes(now: try DecodeCommand.now(arguments))
        let input = try SDInput(TokenInput(arguments), insteadOf: "jwt decode")
        let token = try CommandFailure.reporting(.rejected) { try input.unverified() }
        let members = members(of: token)
        if console.writesJSON { return try console.print(JSONObject(members)) }
        console.note("UNVERIFIED: no signature was checked; anyone can have written this")
        for note in notes(about: token, times) { console.note(note) }
        try console.show(OrderedJSON.text(members))
    }

    private static func notes(about token: UnverifiedSDJWT, _ times: TimeNotes) -> [String] {
        var notes = times.lines(in: token.unverifiedPayload)
        if let claims = token.keyBinding?.claims { notes += times.lines(in: claims).map { "key binding: \($0)" } }
        switch token.undisclosedCount {
        case 0: break
        case 1: notes.append("1 digest without a disclosure: a hidden claim or a decoy")
        case let count: notes.append("\(count) digests without a disclosure: hidden claims or decoys")
        }
        for (index, disclosure) in token.disclosures.enumerated() where disclosure.path == nil {
            notes.append("disclosure \(index) is \(disclosure.value == nil ? "malformed" : "unreferenced")")
        }
        return notes + token.problems.map { "verifiers reject this: \($0.message)" }
    }

    private static func members(of token: UnverifiedSDJWT) -> [(name: String, value: JSONValue)] {
        var members: [(name: String, value: JSONValue)] = [("header", .object(token.unverifiedHeader))]
        // The report has separate members for the disclosures and the key binding.
        let others = token.signatures.map { signature in
            var header = signature.unprotectedHeader
            for name in ["disclosures", "kb_jwt"] { header[name] = nil }
            return (signature.unverifiedProtectedHeader, header)
        }
        if let header = others.first?.1, !header.isEmpty { members.append(("unprotectedHeader", .object(header))) }
        if others.count > 1 {
            let headers = others.dropFirst().map { protected, unprotected in
                JSONValue.object(["header": .object(protected), "unprotectedHeader": .object(unprotected)])
            }
            members.append(("otherSignatures", .array(headers)))
        }
        members.append(("payload", .object(token.unverifiedPayload)))
        members.append(("disclosures", .array(token.disclosures.map { .object(report($0)) })))
        members.append(("undisclosedDigests", .number(JSONNumber(token.undisclosedCount))))
        if let binding = token.keyBinding {
            members.append(
                ("keyBinding", ["header": .object(binding.header), "payload": .object(binding.claims)])
            )
        }
        if !token.problems.isEmpty {
            let problems = token.problems.map { problem in
                JSONValue.object(["code": .string(problem.code.description), "message": .string(problem.message)])
            }
            members.append(("problems", .array(problems)))
        }
        members.append(("verified", false))
        return members
    }

    private static func report(_ disclosure: UnverifiedSDJWT.Disclosed) -> JSONObject {
        var report: JSONObject = ["path": .null, "digest": .null]
        if let digest = disclosure.digest { report["digest"] = .string(digest) }
        report["value"] = disclosure.value
        if let path = disclosure.path {
            report["path"] = .string(ClaimPathArgument.text(of: path))
        } else {
            report["name"] = disclosure.name.map(JSONValue.string)
            report["problem"] = disclosure.value == nil ? "malformed" : "unreferenced"
        }
        return report
    }
}
