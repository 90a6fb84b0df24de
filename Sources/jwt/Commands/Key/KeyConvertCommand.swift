import Foundation
import TokenGeneration

struct KeyConvertCommand {
    private static let form = Option<KeyForm>(
        "to",
        value: "FORM",
        """
        pem (PKCS #8 or SPKI, default), der, jwk, traditional (PKCS #1 or SEC1 in PEM), traditional-der, or raw (the \
        bytes of a secret)
        """
    )
    private static let isPublic = Flag("public", "Write only the public part")
    private static let algorithm = KeySource.algorithm(
        "The algorithm to state in the JWK, for a key that doesn't state it, such as an RSA key in PEM"
    )
    private static let keyID = KeySource.keyID(
        "The kid of the JWK; auto is the RFC 7638 thumbprint (default: the current kid)"
    )
    private static let out = OutputFile.option(
        "The output file; a private key is readable only by you (default: standard output)"
    )
    private static let newPassword = SecretOptions(
        "new-password",
        file: "Encrypt the private key (PEM or DER) with the password in this file",
        environment: "Encrypt the private key with the password in this environment variable"
    )

    private static let exitCodes: KeyValuePairs<Int32, String> = [
        0: "The key was written",
        2: "The key is unusable or doesn't have that form, or a file can't be read or written",
    ]

    static let definition = CommandDefinition(
        name: "convert",
        summary: "Convert a key to another form",
        discussion: [
            """
            Reads PEM, DER, a JWK, a certificate (its public key) or a raw secret, and detects the form from the \
            content. Validates the key before writing it: its numbers, its size, and that its parts belong together.
            """
        ],
        options: [form, isPublic, algorithm, keyID, out, newPassword, OutputFile.force, KeySource.options],
        operands: [KeyGroup.operand],
        examples: [
            "Convert PEM to JWK": "jwt key convert key.pem --to jwk --kid auto",
            "Convert JWK to PEM": "jwt key convert key.jwk --to pem --out key.pem",
            "Encrypt a private key": "jwt key convert key.pem --new-password-file password.txt --out safe.pem",
        ],
        exitCodes: exitCodes,
        action: { try KeyConvertCommand($0, isPublic: $0.contains(isPublic)).run(on: $1) }
    )

    static let publicDefinition = CommandDefinition(
        name: "public",
        summary: "Write the public part of a key",
        discussion: ["Equivalent to jwt key convert --public. The result is safe to share with anyone."],
        options: [form, algorithm, keyID, out, OutputFile.force, KeySource.options],
        operands: [KeyGroup.operand],
        examples: [
            "Write the public key for verifiers": "jwt key public key.pem --out public.pem",
            "Write a public JWK": "jwt key public key.pem --to jwk --kid auto",
        ],
        exitCodes: exitCodes,
        action: { try KeyConvertCommand($0, isPublic: true).run(on: $1) }
    )

    private let arguments: ParsedArguments
    private let source: KeySource
    private let form: KeyForm
    private let isPublic: Bool
    private let keyID: String?
    private let out: OutputFile
    private let newPassword: PasswordSource?

    private init(_ arguments: ParsedArguments, isPublic: Bool) throws(UsageError) {
        self.arguments = arguments
        source = try KeyGroup.source(arguments)
        form = arguments.value(of: Self.form) ?? .pem
        self.isPublic = isPublic
        keyID = arguments.value(of: Self.keyID)
        out = arguments.value(of: Self.out) ?? .standardOutput
        newPassword = try PasswordSource(arguments, Self.newPassword)
        try arguments.reject([
            "--kid requires --to jwk": keyID != nil && form != .jwk,
            "only PKCS #8 can be encrypted; use --to pem or --to der":
                newPassword != nil && form != .pem && form != .der,
            "public keys are never encrypted": newPassword != nil && isPublic,
            "the key and the new password can't both come from standard input":
                source.takesStandardInput && newPassword?.isStandardInput == true,
        ])
        if form.isBinary, out.isStandardOutput, !arguments.contains(OptionDefinition.json),
            FileDescriptor.standard(1).isTerminal
        {
            throw arguments.usageError("--to \(form.rawValue) is binary, which a terminal can't show; use --out FILE")
        }
    }

    private func run(on console: Console) throws {
        let file = try source.read(warningOn: console)
        file.warn(on: console)
        let password = try newPassword?.read(warningOn: console)
        let (key, octets) = try CommandFailure.reporting(at: file.name) {
            let whole = try AnyKey(file, algorithm: arguments.value(of: Self.algorithm))
            let key = isPublic ? try whole.withoutPrivatePart() : whole
            if password != nil, !key.isPrivate {
                throw TokenError(.privateKeyRequired, "public keys are never encrypted")
            }
            return (key, try form.octets(of: key, keyID: keyID, password: password))
        }
        var report: JSONObject = [:]
        if !key.isSymmetric { report["thumbprint"] = .string(try key.thumbprint) }
        let isSecret = key.isPrivate
        if out.isStandardOutput {
            if isSecret { console.warnOfReaders(of: "private key") }
            guard console.writesJSON else { return try console.write(octets) }
            report["key"] = try value(octets)
            return try console.print(report)
        }
        let staged = try StagedFile(
            path: out.path,
            mode: isSecret ? 0o600 : 0o644,
            octets: octets,
            replaces: arguments.contains(OutputFile.force)
        )
        if console.writesJSON { try console.print(report) }
        try staged.commit()
    }

    /// Returns a JWK as an object, PEM as a string, and bytes as base64.
    private func value(_ octets: [UInt8]) throws -> JSONValue {
        switch form {
        case .jwk: .object(try JSONObject(parsing: Data(octets)))
        case .pem, .traditional: .string(String(decoding: octets, as: UTF8.self))
        case .der, .traditionalDER, .raw: .string(Data(octets).base64EncodedString())
        }
    }
}
