import Foundation
import TokenGeneration

enum JWSGroup {
    static let payloadLimit = 64 << 20
    /// The maximum size of a JWS in bytes: the largest payload in base64url, and the other parts.
    static let sizeLimit = payloadLimit / 3 * 4 + (4 << 20)

    static let definition = CommandDefinition(
        name: "jws",
        summary: "Sign and verify arbitrary payloads",
        discussion: ["A JWS (RFC 7515) can sign any bytes, such as a document, a webhook body or a separate file."],
        examples: [
            "Sign a file": "jwt jws sign --key key.pem --detached file.tar > file.tar.jws",
            "Verify it": "jwt jws verify --key public.pem --payload file.tar < file.tar.jws > /dev/null",
        ],
        subcommands: [JWSSignCommand.definition, JWSVerifyCommand.definition]
    )
}

struct JWSSignCommand {
    static let definition = CommandDefinition(
        name: "sign",
        summary: "Sign an arbitrary payload",
        discussion: ["Prints only the JWS. The payload is signed byte for byte, including a line break at its end."],
        options: [KeySource.signingOptions, HeaderOptions.options, SignatureForm.options],
        operands: [
            OperandDefinition(
                name: "PAYLOAD",
                kind: .file,
                summary: "The payload file; reads standard input if it is - or omitted"
            )
        ],
        examples: [
            "Sign text": "printf 'It is true.' | jwt jws sign --key key.pem --header cty=text/plain",
            "Create a detached signature for a file": "jwt jws sign --key key.pem --detached file > file.jws",
            "Create a JWS in JSON": "jwt jws sign --key key.pem --format json document.json",
        ],
        exitCodes: [
            0: "The JWS was printed",
            2: "The key or the payload is unusable, or a file can't be read",
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let source = try KeySource.required(arguments)
        let algorithm = arguments.value(of: KeySource.algorithm)
        let header = try HeaderOptions(arguments)
        let form = SignatureForm(arguments)
        let payload: InputFile = try arguments.operand(named: "PAYLOAD") ?? .standardInput
        if source.takesStandardInput, payload.isStandardInput {
            throw arguments.usageError("the key and the payload can't both come from standard input")
        }
        let (key, keyID) = try source.signingKey(for: algorithm, console)
        let service = key.identified(by: header.keyID(of: key, own: keyID))
        let octets = try payload.read(limit: JWSGroup.payloadLimit).bytes
        let tooLarge = CommandFailure(.failed, "\(payload.name): too large for this form; use --detached")
        guard form.minimumSize(of: octets) <= JWSGroup.sizeLimit else { throw tooLarge }
        let signed = try form.sign(Data(octets), header: header.parameters, with: service)
        guard (signed.string ?? signed.object?.serialized() ?? "").utf8.count <= JWSGroup.sizeLimit else {
            throw tooLarge
        }
        try SignatureForm.print(signed, as: "jws", on: console)
    }
}

struct JWSVerifyCommand {
    private static let payload = Option<InputFile>("payload", "The payload of a JWS with a detached payload")
    private static let required = Option<JWSSignaturePolicy>(
        "signatures",
        choices: ["all": .all, "any": .any, "every-key": .everyKey],
        "The signatures in a JSON serialization that must be valid (default: all); every-key requires one by each key in the set"
    )
    private static let understood = Option<String>(
        "crit",
        value: "NAME",
        isRepeatable: true,
        "A critical header parameter that you process; b64 is always supported"
    )

    static let definition = CommandDefinition(
        name: "verify",
        summary: "Verify a JWS and print its payload",
        discussion: [
            """
            Reads the compact and JSON serializations. Prints the payload if the signature is valid, and otherwise \
            one line on standard error. With --json, prints {"valid":true,"header":{…},"payload":"…"} with the \
            payload in base64url.
            """
        ],
        options: [VerificationKeys.options, OptionDefinition.section("Checks", [payload, required, understood])],
        operands: [OperandDefinition(name: "JWS", summary: "The JWS; reads standard input if it is - or omitted")],
        examples: [
            "Verify a signed document": "jwt jws verify --key public.pem < document.jws",
            "Verify a detached signature of a file":
                "jwt jws verify --jwks keys.jwks --payload file < file.jws > /dev/null && install file /srv",
        ],
        exitCodes: [
            0: "The signature is valid",
            1: "The JWS was rejected",
            2: VerificationKeys.failure,
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let keys = try VerificationKeys(arguments)
        let token = try TokenInput(arguments, name: "JWS")
        let payload = arguments.value(of: payload)
        let policy = arguments.value(of: required) ?? .all
        let understood = Set(arguments.values(of: understood))
        try arguments.checkStandardInput(
            [keys.takesStandardInput, token.isStandardInput, payload?.isStandardInput],
            "only one of the key, the JWS and the payload can come from standard input"
        )
        var verifier =
            switch try keys.keys(console) {
            case .one(let key): JWSVerifier(key: key)
            case .set(let set, let selection): JWSVerifier(keys: set, selection: selection)
            }
        verifier.understoodExtensions = understood
        verifier.limits.size = JWSGroup.sizeLimit
        let text = try token.read(limit: JWSGroup.sizeLimit)
        let detached = try payload?.read(limit: JWSGroup.payloadLimit).bytes
        let verified = try CommandFailure.reporting(.rejected) {
            try verify(text, detached.map { Data($0) }, policy, verifier)
        }
        guard console.writesJSON else {
            return try console.show(content: verified.payload, "payload", advice: "use a pipe")
        }
        try console.print([
            "valid": true, "header": .object(verified.header),
            "payload": .string(Base64URL.encode(Array(verified.payload))),
            "signatures": .number(JSONNumber(verified.signatures.count)),
        ])
    }

    private static func verify(
        _ text: String,
        _ detached: Data?,
        _ policy: JWSSignaturePolicy,
        _ verifier: JWSVerifier
    ) throws(TokenError) -> VerifiedJWS {
        let isJSON = text.utf8.first == UInt8(ascii: "{")
        if !isJSON, let error = SDInput.refusal(text, SDInput.verificationAdvice) { throw error }
        guard !isJSON else {
            return try verifier.verify(json: text, detachedPayload: detached, requiring: policy)
        }
        do throws(TokenError) {
            return try verifier.verify(compact: text, detachedPayload: detached)
        } catch  where error.code == .signatureInvalid && detached == nil && text.contains("..") {
            throw TokenError(error.code, error.message + "; if the payload is detached, pass it with --payload")
        }
    }
}
