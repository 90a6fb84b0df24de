import Foundation
import TokenGeneration

enum SDGroup {
    static let definition = CommandDefinition(
        name: "sd",
        summary: "Issue, present and verify SD-JWTs",
        discussion: [
            """
            An SD-JWT (RFC 9901) is a signed token whose holder shows each verifier only some of the claims. The issuer \
            signs digests of the claims that can be hidden, and gives the holder the claims as disclosures. The holder \
            presents the token with a selection of them, and can prove with a key binding that it's the holder.
            """
        ],
        examples: [
            "Issue an SD-JWT for a holder's key": """
            jwt sd issue -k issuer.pem --holder-key holder.pub --claims claims.json --disclosable name > sd-jwt
            """,
            "Present the name to a verifier": """
            jwt sd present --verify-key issuer.pub --disclose name -k holder.pem --nonce "$N" --kb-aud shop < sd-jwt
            """,
            "Verify the presentation": "jwt sd verify -k issuer.pub --nonce \"$N\" --kb-aud shop < presentation",
            "Print the contents without verifying them": "jwt sd show < sd-jwt",
        ],
        subcommands: [
            SDIssueCommand.definition, SDPresentCommand.definition, SDVerifyCommand.definition,
            SDShowCommand.definition,
        ]
    )
}

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
        options: [DecodeCommand.time, DecodeCommand.insecure],
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
            members.append(("keyBinding", ["header": .object(binding.header), "payload": .object(binding.claims)]))
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

struct SDInput {
    static let verificationAdvice = "verify it with jwt sd verify"

    let text: String

    init(_ token: TokenInput, insteadOf command: String) throws(CommandFailure) {
        text = try token.read()
        guard !isJSON, !text.utf8.contains(UInt8(ascii: "~")) else { return }
        let advice =
            switch text.utf8.count(where: { $0 == UInt8(ascii: ".") }) {
            case 2: "this is a plain signed token, not an SD-JWT, which has a “~” after the signature; use \(command)"
            case 4: "the token is encrypted, a JWE; decrypt it with jwt decrypt"
            default: "not an SD-JWT, which has a “~” after the signature"
            }
        throw CommandFailure(.rejected, TokenError(.malformedToken, advice))
    }

    var isJSON: Bool { text.utf8.first == UInt8(ascii: "{") }
    var data: Data { Data(text.utf8) }

    func unverified() throws(TokenError) -> UnverifiedSDJWT {
        isJSON ? try UnverifiedSDJWT(json: data) : try UnverifiedSDJWT(text)
    }

    /// Returns whether the text has the form of an SD-JWT: a signed token and `~`, or JSON with
    /// disclosures or a key binding
    /// ([RFC 9901 §8.1](https://www.rfc-editor.org/rfc/rfc9901#section-8.1)).
    static func isSDJWT(_ text: String) -> Bool {
        if text.utf8.first == UInt8(ascii: "{") {
            let jws = try? UnverifiedJWS(json: text, limits: JWSLimits(size: TokenInput.sizeLimit))
            let header = jws?.unverifiedSignatures.first?.unprotectedHeader
            return header?["disclosures"] != nil || header?["kb_jwt"] != nil
        }
        let token = text.utf8.prefix { $0 != UInt8(ascii: "~") }
        return token.endIndex < text.utf8.endIndex && token.count { $0 == UInt8(ascii: ".") } == 2
    }

    static func refusal(_ text: String, _ advice: String) -> TokenError? {
        isSDJWT(text) ? TokenError(.malformedToken, "the token is an SD-JWT; \(advice)") : nil
    }
}

enum SDForm: String, CaseIterable, NamedValue {
    case compact
    case json

    private static let option = Option<SDForm>("format")

    static let options = OptionDefinition.table([
        option: "A single line of the signed token and its disclosures (default), or flattened JSON"
    ]).section(SignatureForm.section)

    static func form(_ arguments: ParsedArguments) -> SDForm { arguments.value(of: option) ?? .compact }

    func print(_ token: SDJWT, on console: Console) throws(CommandFailure) {
        let value: JSONValue = self == .json ? .object(token.flattenedJSON()) : .string(token.compact)
        try SignatureForm.print(value, as: "token", on: console)
    }
}

/// The path of a claim, such as `address.locality`, `nationalities[0]` or `nationalities[*]`.
///
/// Names with a period or brackets need the form of a JSON array, in which `null` is every element.
struct ClaimPathArgument: ArgumentValue {
    static let placeholder = "PATH"

    let path: ClaimPath

    private static let brackets = (open: UInt8(ascii: "["), close: UInt8(ascii: "]"))
    private static let period = UInt8(ascii: ".")

    init(argument: String) throws(ValueError) {
        // No path begins with an index, because the claims are an object.
        let isJSON = argument.utf8.first == Self.brackets.open
        guard let path = isJSON ? Self.pointer(argument) : Self.plain(argument) else {
            throw ValueError(
                message: """
                    must be a path such as name, address.locality, nationalities[0] or nationalities[*], or a JSON \
                    array such as '["a.b",0,null]'
                    """
            )
        }
        self.path = path
    }

    /// Returns the text that is the argument for a path.
    static func text(of path: ClaimPath) -> String {
        var text = ""
        for step in path.pointer.array ?? [] {
            switch step {
            case .string(let name) where isPlain(name): text += text.isEmpty ? name : ".\(name)"
            case .number(let index) where !text.isEmpty: text += "[\(index)]"
            case .null where !text.isEmpty: text += "[*]"
            // Only objects have a serialization.
            default: return String(JSONObject([("", path.pointer)]).serialized().dropFirst(4).dropLast())
            }
        }
        return text
    }

    private static func pointer(_ text: String) -> ClaimPath? {
        guard let path = JSONValue(text: text).flatMap(ClaimPath.init(pointer:)),
            path.pointer.array?.first?.string != nil
        else { return nil }
        return path
    }

    private static func plain(_ text: String) -> ClaimPath? {
        var elements: [ClaimPath.Element] = []
        var rest = Array(text.utf8)[...]
        while true {
            let name = rest.prefix { !isSpecial($0) }
            guard !name.isEmpty else { return nil }
            elements.append(.name(String(decoding: name, as: UTF8.self)))
            rest = rest[name.endIndex...]
            while rest.first == brackets.open {
                let content = rest.dropFirst().prefix { $0 != brackets.close }
                guard content.endIndex < rest.endIndex, let element = element(content) else { return nil }
                elements.append(element)
                rest = rest[(content.endIndex + 1)...]
            }
            guard let next = rest.popFirst() else { return ClaimPath(elements) }
            guard next == period else { return nil }
        }
    }

    private static func element(_ content: ArraySlice<UInt8>) -> ClaimPath.Element? {
        if content.elementsEqual("*".utf8) { return .everyElement }
        // Nine digits exceed the size of any token.
        guard (1...9).contains(content.count), content.allSatisfy(\.isDigit) else { return nil }
        return Int(String(decoding: content, as: UTF8.self)).map { .index($0) }
    }

    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte == period || byte == brackets.open || byte == brackets.close
    }

    private static func isPlain(_ name: String) -> Bool { !name.isEmpty && !name.utf8.contains(where: isSpecial) }
}
