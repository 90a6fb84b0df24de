import Foundation
import HTTPSignatures
import Networking
import TokenGeneration

enum HTTPGroup {
    static let definition = CommandDefinition(
        name: "http",
        summary: "Verify signed HTTP messages",
        discussion: [
            """
            HTTP message signatures (RFC 9421) prove who sent a request or response and that its signed parts are \
            unchanged. jwt request --http-signature signs requests.
            """
        ],
        examples: [
            "Verify a recorded request": "jwt http verify -k public.pem --signature-profile standard request.http"
        ],
        subcommands: [HTTPVerifyCommand.definition]
    )
}

struct HTTPVerifyCommand {
    private static let base = Flag(
        "base",
        "Print only the signature base, exactly as it was signed, with the credentials in it; with --json, add it"
    )
    private static let label = Option<String>(
        "label",
        value: "LABEL",
        "The signature whose base is printed, if there are several; requires --base"
    )

    static let definition = CommandDefinition(
        name: "verify",
        summary: "Verify the HTTP message signatures of a recorded request or response",
        discussion: [
            """
            Verifies the signatures (RFC 9421) of a message in a file, and its content if a signature covers the digest. \
            The file is raw text, with LF or CRLF in the head, or a HAR file as browsers save it. Prints for each \
            signature whether it's valid, its parameters, each covered component with its value, and what isn't covered. \
            Credentials are replaced with REDACTED.
            """,
            """
            A signature protects only what it covers, so you must say what is required: a profile or components. Labels \
            aren't signed and don't matter. The key determines the algorithm, never the message. The command doesn't \
            remember nonces, so it can't notice a replay.
            """,
        ],
        options: [VerificationKeys.signatureOptions, SignatureRules.options, MessageSource.options, base, label],
        operands: [MessageSource.operand],
        examples: [
            "Verify a request that was signed with the default profile":
                "jwt http verify -k public.pem --signature-profile standard request.http",
            "Require components, as of the time of the recording": """
            jwt http verify --jwks keys.jwks --require @method --require @target-uri --at 2026-01-31T12:00:00Z \
            request.http
            """,
            "Verify a response in a recording of a browser":
                "jwt http verify -k public.pem --signature-profile standard --response --entry 3 session.har",
            "Print the signature base, to compare it with the signer's":
                "jwt http verify -k public.pem --signature-profile standard --base request.http | xxd",
        ],
        exitCodes: [
            0: "The message is valid",
            1: "The message was rejected, or isn't an HTTP message",
            2: VerificationKeys.failure,
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let keySource = try VerificationKeys(arguments, advice: "pass --key FILE, --key-env NAME or --jwks FILE|URL")
        let rules = try SignatureRules(arguments)
        let source = try MessageSource(arguments)
        let printsBase = arguments.contains(base)
        let label = arguments.value(of: label)
        try arguments.reject([
            "--label requires --base": label != nil && !printsBase,
            "the key and the message can't both come from standard input":
                keySource.takesStandardInput && source.takesStandardInput,
        ])
        let keys = try keySource.signatureKeys(console, at: rules.date, usesThumbprints: rules.usesThumbprints)
        let recorded = try source.read()
        let profile = try rules.profile(for: recorded.message)
        let (findings, rejection) = try outcome(recorded, profile, keys, at: rules.date)
        let report = SignatureReport(
            recorded: recorded,
            findings: findings,
            rejection: rejection,
            tag: profile.tag,
            date: rules.date,
            includesBases: printsBase
        )
        for remark in recorded.remarks where !console.writesJSON { console.note(remark) }
        if console.writesJSON {
            try console.print(report.json)
        } else if printsBase {
            try print(findings, label, on: console)
        } else {
            for line in report.lines { try console.print(line) }
        }
        guard let rejection else { return }
        let parameters = findings.first { finding in
            if case .failure(rejection) = finding.result { finding.isSelected } else { false }
        }?.parameters
        throw CommandFailure(.rejected, rejection.message + rules.advice(for: rejection, parameters), cause: rejection)
    }

    private static func outcome(
        _ recorded: RecordedMessage,
        _ profile: SignatureProfile,
        _ keys: SignatureKeys,
        at date: Date
    ) throws -> (findings: [SignatureFinding], rejection: HTTPSignatureError?) {
        try AsynchronousWork.result {
            // Each with its own nonces, which are used once.
            func verifier() throws(HTTPSignatureError) -> MessageVerifier {
                var verifier = try MessageVerifier(
                    profile: profile,
                    keys: keys,
                    replayCache: profile.nonce == .none ? nil : InMemoryReplayCache()
                )
                verifier.currentDate = { date }
                return verifier
            }
            var rejection: HTTPSignatureError?
            do throws(HTTPSignatureError) {
                _ = try await verifier().verify(recorded: recorded.message, content: recorded.content)
            } catch {
                rejection = recorded.explained(error)
            }
            let findings = try? await verifier().findings(in: recorded.message, content: recorded.content)
            return (recorded.explained(findings ?? []), rejection)
        }
    }

    /// Prints the base of the chosen signature without a line break at the end.
    private static func print(
        _ findings: [SignatureFinding],
        _ label: String?,
        on console: Console
    ) throws(CommandFailure) {
        let candidates =
            label.map { label in findings.filter { $0.label.utf8.elementsEqual(label.utf8) } }
            ?? findings.filter(\.isSelected)
        guard let finding = candidates.first, candidates.count == 1 || label != nil else {
            if findings.isEmpty { return }
            let labels = findings.map(\.label).joined(separator: ", ")
            throw CommandFailure(.failed, "choose a signature with --label: \(labels)")
        }
        guard let base = finding.base else { return }
        try console.show(content: Data(base.text.utf8), "signature base", advice: "use a pipe")
    }
}

extension RecordedMessage {
    fileprivate func explained(_ error: HTTPSignatureError) -> HTTPSignatureError {
        guard error.code == .digestMismatch, mayBeDecoded else { return error }
        return HTTPSignatureError(
            .contentDecoded,
            "the recording has the content without its Content-Encoding, so its digest can't be checked",
            cause: error
        )
    }

    fileprivate func explained(_ findings: [SignatureFinding]) -> [SignatureFinding] {
        findings.map { finding in
            var finding = finding
            if case .failure(let error) = finding.result { finding.result = .failure(explained(error)) }
            return finding
        }
    }
}
