import Foundation
import TokenGeneration

/// The `jwt decrypt` command: decrypts a token, and verifies the signed token inside.
struct DecryptCommand {
    private static let out = Option<OutputFile>(
        "out",
        aliases: ["output"],
        short: "o",
        "The file for the content, readable only by you (default: standard output)"
    )
    private static let force = Flag("force", short: "f", "Replace an existing file")

    /// The maximum size of a token in bytes: the largest content in base64url, and the other parts.
    private static let sizeLimit = EncryptCommand.contentLimit / 3 * 4 + (1 << 20)

    static let definition = CommandDefinition(
        name: "decrypt",
        summary: "Decrypt a token, and verify the signed token inside",
        discussion: [
            """
            Reads the compact and JSON serializations of a JWE (RFC 7516), and prints the content byte for byte. The \
            key determines the accepted algorithms, never the token. All failures after the key was chosen have the \
            same message.
            """,
            """
            Decryption doesn't prove who wrote the content, unless only you and the sender know the secret. With \
            --nested, the content must be a signed token: its signature and claims are checked as by jwt verify, and \
            the claims are printed. With --json, prints {"header":{…},"content":"…"} with the content in base64url, \
            or the result of jwt verify with --nested.
            """,
        ],
        options: [out, force, DecryptionOptions.options, NestedVerification.options],
        operands: [
            OperandDefinition(name: "JWE", summary: "The encrypted token; reads standard input if it is - or omitted")
        ],
        examples: [
            "Decrypt a file": "jwt decrypt --key private.jwk --out file < file.jwe",
            "Decrypt a nested token and verify it with the keys that an issuer publishes":
                "jwt decrypt --key private.pem --nested --discover https://id.example.org --aud me < token",
            "Accept only some algorithms": "jwt decrypt --key private.pem --alg RSA-OAEP-256 --enc A256GCM < token",
            "Decrypt with a password": "jwt decrypt --password < file.jwe",
        ],
        exitCodes: [
            0: "The token was decrypted and, with --nested, is valid",
            1: "The token was rejected",
            2: VerificationKeys.failure,
        ],
        action: { try DecryptCommand($0).run(on: $1) }
    )

    private let options: DecryptionOptions
    private let nested: NestedVerification?
    private let token: TokenInput
    private let out: OutputFile
    private let force: Bool

    private init(_ arguments: ParsedArguments) throws(UsageError) {
        options = try DecryptionOptions(arguments)
        nested = try NestedVerification(arguments)
        token = try TokenInput(arguments, name: "JWE")
        out = try arguments.value(of: Self.out) ?? .standardOutput
        force = arguments.contains(Self.force)
        try arguments.checkStandardInput(
            [options.takesStandardInput, nested?.takesStandardInput, token.isStandardInput],
            "only one of the keys, the password and the JWE can come from standard input"
        )
    }

    private func run(on console: Console) throws {
        let verifier = try nested.map { nested throws(CommandFailure) in try nested.verifier(console) }
        let jwe = try decrypt(token.read(limit: Self.sizeLimit), console)
        guard let nested, let verifier else { return try write(jwe, console) }
        let verified = try nested.verified(jwe, verifier)
        if !out.isStandardOutput { try save(Data((verified.claims.prettyPrinted() + "\n").utf8)) }
        if console.writesJSON {
            var report = VerifyCommand.result(verified)
            report["encryptionHeader"] = .object(jwe.header)
            try console.print(report)
        } else if out.isStandardOutput {
            try console.show(verified.claims.prettyPrinted())
        }
    }

    private func decrypt(_ text: String, _ console: Console) throws(CommandFailure) -> DecryptedJWE {
        let isJSON = text.utf8.first == UInt8(ascii: "{")
        let limits = JWELimits(size: Self.sizeLimit)
        let token = try CommandFailure.reporting(.rejected) {
            if let error = SDInput.refusal(text, SDInput.verificationAdvice) { throw error }
            if !isJSON, text.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 2 {
                throw TokenError(.malformedToken, "the token is signed, not encrypted; verify it with jwt verify")
            }
            return try EncryptedInput.jwe(text, limits: limits)
        }
        let decrypter = try options.decrypter(for: token, limits, console)
        do throws(TokenError) {
            return isJSON ? try decrypter.decrypt(json: text) : try decrypter.decrypt(compact: text)
        } catch {
            throw CommandFailure(.rejected, options.explained(error, token, decrypter.policy))
        }
    }

    private func write(_ jwe: DecryptedJWE, _ console: Console) throws {
        if !out.isStandardOutput { try save(jwe.plaintext) }
        if console.writesJSON {
            try console.print(report(jwe))
        } else if out.isStandardOutput {
            try console.show(content: jwe.plaintext, "content", advice: "use --out FILE")
        }
    }

    private func save(_ content: Data) throws(CommandFailure) {
        try StagedFile(path: out.path, mode: 0o600, octets: Array(content), replaces: force).commit()
    }

    private func report(_ jwe: DecryptedJWE) -> JSONObject {
        var report: JSONObject = ["header": .object(jwe.header)]
        if !jwe.unprotectedHeader.isEmpty { report["unprotectedHeader"] = .object(jwe.unprotectedHeader) }
        report["recipient"] = .number(JSONNumber(jwe.recipientIndex))
        if let data = jwe.additionalData { report["aad"] = .string(Base64URL.encode(Array(data))) }
        if out.isStandardOutput { report["content"] = .string(Base64URL.encode(Array(jwe.plaintext))) }
        return report
    }
}
