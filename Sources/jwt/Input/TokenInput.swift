import Glibc
import TokenGeneration

struct TokenInput: Equatable {
    static let operand = OperandDefinition(
        name: "TOKEN",
        summary: "The token; reads standard input, which other users can't see, if it is - or omitted"
    )

    /// The maximum size of a token, in bytes: the claims of the largest ``InputFile`` in base64url,
    /// and the remaining parts.
    static let sizeLimit = 2 * InputFile.sizeLimit

    /// The token on the command line, or `nil` to read standard input.
    let argument: String?

    /// - Throws: ``UsageError`` if the token is missing and standard input is a terminal, because
    ///   the command would appear to hang.
    init(_ arguments: ParsedArguments, name: String = "TOKEN") throws(UsageError) {
        let operand = arguments.operands.first
        let isBatch = arguments.contains(BatchRun.flag)
        argument = operand == "-" ? nil : operand
        try arguments.reject([
            "--batch reads the tokens from standard input; remove \(name)": isBatch && operand != nil,
            "missing token; pass it as an argument, or pass - to type it":
                operand == nil && !isBatch && FileDescriptor.standard(STDIN_FILENO).isTerminal,
        ])
    }

    var isStandardInput: Bool { argument == nil }

    func read(limit: Int = sizeLimit) throws(CommandFailure) -> String {
        let bytes = if let argument { Array(argument.utf8) } else { try Self.readStandardInput(limit) }
        let trimmed = Self.trimmed(bytes)
        guard !trimmed.isEmpty else {
            let place = isStandardInput ? "standard input" : "the argument"
            throw CommandFailure(.rejected, TokenError(.malformedToken, "missing token: \(place) is empty"))
        }
        guard let token = String(validating: trimmed, as: UTF8.self) else {
            throw CommandFailure(.rejected, TokenError(.malformedToken, "not a token: the input isn't valid UTF-8"))
        }
        if let advice = advice(on: token) {
            throw CommandFailure(.rejected, TokenError(.malformedToken, "not a token: \(advice)"))
        }
        return Self.unwrapped(token)
    }

    /// Returns the token in the line that a command prints with `--json` or `--batch`, or the text.
    static func unwrapped(_ text: String) -> String {
        // jwt sign prints the public key of a key that it generated before the token.
        let names = ["token": "token", "publicKey": "token", "jws": "jws", "jwe": "jwe"]
        guard let name = names.first(where: { text.utf8.starts(with: "{\"\($0.key)\":".utf8) })?.value else {
            return text
        }
        // The caller has limited the size.
        var limits = JSONLimits.document
        limits.size = text.utf8.count
        let value = (try? JSONObject(parsing: Array(text.utf8), limits: limits))?[name]
        return value?.string ?? value?.object?.serialized() ?? text
    }

    private func advice(on text: String) -> String? {
        if String(decoding: text.utf8.prefix(7), as: UTF8.self).isExactlyIgnoringASCIICase("bearer ") {
            return "it starts with “Bearer”, the scheme of the header field; remove that word"
        }
        if String(decoding: text.utf8.prefix(14), as: UTF8.self).isExactlyIgnoringASCIICase("authorization:") {
            return "it starts with “Authorization”, the name of the header field; pass only the token"
        }
        if text.utf8.first == UInt8(ascii: "\"") {
            return "it starts with a quotation mark; remove the quotation marks, as jq -r does"
        }
        if text.utf8.first == UInt8(ascii: "{"),
            let response = try? JSONObject(parsing: Array(text.utf8), limits: .document),
            let member = ["access_token", "id_token"].first(where: { response[$0]?.string != nil })
        {
            return "it's JSON whose member “\(member)” is one; extract it, for example with jq -r .\(member)"
        }
        // Text with three or five segments can be a token even if a file has that name.
        let dots = text.utf8.count { $0 == UInt8(ascii: ".") }
        guard !isStandardInput, dots != 2, dots != 4, unsafe access(text, F_OK) == 0 else { return nil }
        return "the argument is the name of a file; to read the file, precede it with <"
    }

    /// Returns the bytes without white space at either end and without a byte order mark.
    static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        let bytes = bytes.withoutByteOrderMark
        guard let first = bytes.firstIndex(where: { !$0.isBlank }), let last = bytes.lastIndex(where: { !$0.isBlank })
        else { return [] }
        return first == 0 && last == bytes.count - 1 ? bytes : Array(bytes[first...last])
    }

    private static func readStandardInput(_ limit: Int) throws(CommandFailure) -> [UInt8] {
        let bytes = try CommandFailure.reporting(at: "standard input: can't be read") {
            try FileDescriptor.standard(STDIN_FILENO).readAll(limit: limit)
        }
        if let bytes { return bytes }
        throw CommandFailure(.rejected, TokenError(.tooLarge, "not a token: larger than \(limit >> 20) MiB"))
    }
}

enum EncryptedInput {
    /// Returns whether the text has the form of a JWE: five segments, or JSON with a ciphertext
    /// ([RFC 7516 §9](https://www.rfc-editor.org/rfc/rfc7516#section-9)).
    static func isEncrypted(_ text: String) -> Bool {
        if text.utf8.first == UInt8(ascii: "{") { return (try? jwe(text)) != nil }
        // An SD-JWT with a key binding has four periods, too.
        return text.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 4 && !SDInput.isSDJWT(text)
    }

    static func refusal(_ text: String) -> TokenError? {
        guard isEncrypted(text) else { return nil }
        return TokenError(
            .malformedToken,
            "the token is encrypted, a JWE; decrypt and verify it with jwt decrypt --nested"
        )
    }

    static func jwe(
        _ text: String,
        limits: JWELimits = JWELimits(size: TokenInput.sizeLimit)
    ) throws(TokenError) -> UnverifiedJWE {
        text.utf8.first == UInt8(ascii: "{")
            ? try UnverifiedJWE(json: text, limits: limits) : try UnverifiedJWE(compact: text, limits: limits)
    }

    static func report(_ jwe: UnverifiedJWE) -> JSONObject {
        var report: JSONObject = ["encrypted": true, "header": .object(jwe.unverifiedProtectedHeader)]
        if !jwe.unprotectedHeader.isEmpty { report["unprotectedHeader"] = .object(jwe.unprotectedHeader) }
        if jwe.recipientHeaders.contains(where: { !$0.isEmpty }) {
            report["recipientHeaders"] = .array(jwe.recipientHeaders.map(JSONValue.object))
        }
        report["verified"] = false
        return report
    }

    static func advice(_ jwe: UnverifiedJWE) -> String {
        let headers = [jwe.unverifiedProtectedHeader, jwe.unprotectedHeader] + jwe.recipientHeaders
        let algorithms = headers.compactMap { $0["alg"]?.string }
        let source =
            !algorithms.isEmpty && algorithms.allSatisfy { $0.hasPrefix("PBES2-") } ? "--password" : "--key FILE"
        let isNested = headers[0]["cty"]?.string.map { $0.isExactlyIgnoringASCIICase("JWT") } ?? false
        return "jwt decrypt \(source)" + (isNested ? " --nested --verify-key FILE" : "")
    }
}
