import Glibc
import TokenGeneration

struct KeygenCommand {
    enum Format: String, CaseIterable, NamedValue {
        case pem
        case jwk
    }

    enum Use: String, CaseIterable, NamedValue {
        case sig
        case enc
    }

    private static let algorithm = Option<GeneratedAlgorithm>("alg", value: "ALG")
    private static let use = Option<Use>("use")
    private static let curve = Option<KeyAgreementCurve>("curve", value: "CURVE")
    private static let encryption = Option<JWEEncryption>("enc")
    private static let out = OutputFile.option()
    private static let publicOut = Option<OutputFile>("public-out")
    private static let format = Option<Format>("format")
    private static let keyID = KeySource.keyID()
    private static let rsaBits = Option<Int>("rsa-bits", value: "BITS", noun: "number of bits", in: 2_048...8_192)
    private static let password = SecretOptions(
        "password",
        file: "Encrypt the private key (PEM) with the password in this file",
        environment: "Encrypt the private key with the password in this environment variable"
    )
    private static let force = Flag("force", short: "f")

    static let definition = CommandDefinition(
        name: "keygen",
        summary: "Generate a private key",
        discussion: [
            """
            Prints the private key or writes it to a new file. Existing files are replaced only with --force, and \
            files are never partially written.
            """,
            """
            With --json, prints {"privateKey":…,"publicKey":…,"kid":"…","thumbprint":"…"} without the keys that are \
            written to files.
            """,
            """
            EdDSA is Ed25519 under the name that every implementation accepts. Only a JWK states the name: keys in PEM \
            sign as EdDSA, unless jwt sign has --alg Ed25519.
            """,
        ],
        options: [
            OptionDefinition.table([
                algorithm: """
                The algorithm of the key, for signatures: \(JWSAlgorithm.names.joined(separator: ", ")); for encryption: \
                \(GeneratedAlgorithm.encryptionNames.joined(separator: ", ")) (default with --use enc: ECDH-ES+A256KW)
                """,
                use: "The use of the key, which a JWK states: signatures or encryption (default: that of --alg)",
                curve:
                    "The curve of a key for ECDH-ES: \(KeyAgreementCurve.names.joined(separator: ", ")) (default: P-256)",
                encryption: """
                The content encryption of a secret for dir: \(JWEEncryption.names.joined(separator: ", ")) \
                (default: A256GCM)
                """,
                out: "The file for the private key, readable only by you (default: standard output)",
                publicOut: "The file for the public key, for verifiers or senders",
                format:
                    "PKCS #8 and SPKI in PEM (default), or JWK with the RFC 7638 thumbprint as kid (always for secrets)",
                keyID: "The kid of the JWKs instead of the thumbprint",
                rsaBits: "The size of an RSA key: 2048 (default) to 8192",
                password: nil,
                force: "Replace existing files",
            ])
        ],
        examples: [
            "Generate a private key and its public key": "jwt keygen --alg ES256 --out key.pem --public-out public.pem",
            "Generate a private key as a JWK": "jwt keygen --alg ES256 --format jwk --out key.jwk",
            "Generate a key for receiving encrypted tokens":
                "jwt keygen --use enc --curve X25519 --format jwk --out key.jwk --public-out public.jwk",
            "Generate an encrypted private key": "jwt keygen --alg EdDSA --out key.pem --password-file password.txt",
        ],
        exitCodes: [
            0: "The key was generated",
            2: "A file exists or can't be written, or standard output is closed",
        ],
        action: { try KeygenCommand($0).run(on: $1) }
    )

    private let arguments: ParsedArguments
    private let algorithm: GeneratedAlgorithm
    private let format: Format
    private let password: PasswordSource?

    private var use: Use? { arguments.value(of: Self.use) }
    private var curve: KeyAgreementCurve? { arguments.value(of: Self.curve) }
    private var encryption: JWEEncryption? { arguments.value(of: Self.encryption) }
    private var out: OutputFile { arguments.value(of: Self.out) ?? .standardOutput }
    private var publicOut: OutputFile? { arguments.value(of: Self.publicOut) }
    private var keyID: String? { arguments.value(of: Self.keyID) }
    private var rsaKeySize: Int? { arguments.value(of: Self.rsaBits) }

    private init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        let usual: GeneratedAlgorithm? =
            arguments.value(of: Self.use) == .enc ? .encryption(.ecdhESA256KW) : nil
        guard let algorithm = arguments.value(of: Self.algorithm) ?? usual else {
            throw arguments.usageError("\(Self.algorithm.synopsis) is required")
        }
        self.algorithm = algorithm
        let stated = arguments.value(of: Self.format)
        format = stated ?? (algorithm.isSymmetric ? .jwk : .pem)
        password = try PasswordSource(arguments, Self.password)
        let name = algorithm.name
        try arguments.reject([
            "\(name) uses a secret, which has no PEM form; use --format jwk": algorithm.isSymmetric && stated == .pem,
            "\(name) uses a secret and has no public key; remove --public-out":
                algorithm.isSymmetric && publicOut != nil,
            "PEM can't store a kid; use --format jwk, or pass --kid when signing": keyID != nil && format == .pem,
            "--rsa-bits applies only to RS and PS; a key for \(name) has a fixed size":
                rsaKeySize != nil && !algorithm.isRSA,
            "only PEM can be encrypted; use --format pem, or remove the password":
                password != nil && format == .jwk,
        ])
        try checkUse()
        if out == publicOut { throw arguments.usageError("the private and the public key need different output files") }
    }

    private func checkUse() throws(UsageError) {
        let actual = if case .signature = algorithm { Use.sig } else { Use.enc }
        if let use, use != actual {
            let others = use == .enc ? GeneratedAlgorithm.encryptionNames : JWSAlgorithm.names
            throw arguments.usageError(
                "--alg \(algorithm.name) doesn't fit --use \(use.rawValue); use one of \(others.joined(separator: ", "))"
            )
        }
        try arguments.reject([
            "--curve applies only to ECDH-ES, not to \(algorithm.name)": curve != nil && !algorithm.isAgreement,
            "--enc applies only to --alg dir; the sender of a token chooses it for other keys":
                encryption != nil && algorithm != .encryption(.dir),
        ])
    }

    private func run(on console: Console) throws {
        let password = try password?.read(warningOn: console)
        let key = try generate()
        let privateText = try text(of: key, password)
        // Both files are fully written before either is renamed, and neither is renamed if printing
        // fails.
        let privateFile = try stage(privateText, at: out, mode: 0o600)
        let publicFile = try publicOut.flatMap { try stage(text(of: key.withoutPrivatePart()), at: $0, mode: 0o644) }
        if out.isStandardOutput { console.warnOfReaders(of: "private key") }
        if console.writesJSON {
            try console.print(report(key, privateText))
        } else {
            if out.isStandardOutput { try console.print(privateText, terminator: "") }
            if let publicOut, publicOut.isStandardOutput {
                try console.print(text(of: key.withoutPrivatePart()), terminator: "")
            }
        }
        try publicFile?.commit()
        do {
            try privateFile?.commit()
        } catch {
            publicFile?.revoke()
            throw error
        }
    }

    private func generate() throws -> AnyKey {
        switch algorithm {
        case .signature(let algorithm):
            let key = try rsaKeySize.map { try SigningKey.generate(algorithm, rsaKeySize: $0) } ?? .generate(algorithm)
            return AnyKey(key)
        case .encryption(let algorithm):
            let key = try DecryptionKey.generate(
                algorithm,
                on: curve ?? .p256,
                rsaKeySize: rsaKeySize ?? 2_048,
                encryption: encryption ?? .a256GCM
            )
            return AnyKey(key)
        }
    }

    private func report(_ key: AnyKey, _ privateText: String) throws -> JSONObject {
        var report: JSONObject = ["kid": .string(try keyID ?? key.thumbprint)]
        if !algorithm.isSymmetric { report["thumbprint"] = .string(try key.thumbprint) }
        if out.isStandardOutput { report["privateKey"] = try value(privateText) }
        if !algorithm.isSymmetric, publicOut?.isStandardOutput ?? true {
            report["publicKey"] = try value(text(of: key.withoutPrivatePart()))
        }
        return report
    }

    private func value(_ text: String) throws -> JSONValue {
        format == .jwk ? .object(try JSONObject(parsing: text)) : .string(text)
    }

    private func stage(_ text: String, at place: OutputFile, mode: mode_t) throws(CommandFailure) -> StagedFile? {
        guard !place.isStandardOutput else { return nil }
        return try StagedFile(
            path: place.path,
            mode: mode,
            octets: Array(text.utf8),
            replaces: arguments.contains(Self.force)
        )
    }

    private func text(of key: AnyKey, _ password: String? = nil) throws -> String {
        guard format == .jwk else {
            return String(decoding: try KeyForm.pem.octets(of: key, keyID: nil, password: password), as: UTF8.self)
        }
        var jwk = try key.jwk(keyID: nil)
        jwk.keyID = try keyID ?? key.thumbprint
        if let use { jwk.use = use.rawValue }
        return VisibleText.json(jwk.members.serialized()) + "\n"
    }
}
