import Foundation
import TokenGeneration

struct DecryptCommand {
    private static let out = OutputFile.option()

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
        options: [
            OptionDefinition.table([
                out: "The file for the content, readable only by you (default: standard output)",
                OutputFile.force: nil,
                DecryptionOptions.options: nil,
                NestedVerification.options: nil,
            ])
        ],
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

    private let arguments: ParsedArguments
    private let options: DecryptionOptions
    private let nested: NestedVerification?
    private let token: TokenInput

    private var out: OutputFile { arguments.value(of: Self.out) ?? .standardOutput }

    private init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        options = try DecryptionOptions(arguments)
        nested = try NestedVerification(arguments)
        token = try TokenInput(arguments, name: "JWE")
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
        let replaces = arguments.contains(OutputFile.force)
        try StagedFile(path: out.path, mode: 0o600, octets: Array(content), replaces: replaces).commit()
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

struct DecryptionOptions {
    private static let key = KeySource.key()
    private static let secret = Option<SecretEncoding>("secret")
    private static let password = SecretOptions(
        "password",
        file: "The file with the password of the token or, with a key, of the encrypted private key",
        environment: "The environment variable with the password"
    )
    private static let algorithm = Option<JWEAlgorithm>("alg", isRepeatable: true)
    private static let encryption = Option<JWEEncryption>("enc", isRepeatable: true)
    private static let maximumIterations = Option<Int>("max-iterations", in: 1_000...10_000_000)
    private static let understood = Option<String>("crit", value: "NAME", isRepeatable: true)

    static let options =
        OptionDefinition.table([
            key: "The private key or the secret: PEM, DER, JWK or JWK Set; without a key, the token needs a password",
            KeySource.environment: nil,
            secret: "Read the key as a raw secret in this encoding",
            password: nil,
            KeySource.passwordPrompt: nil,
        ]).section(KeySource.section)
        + OptionDefinition.table([
            algorithm: """
            An accepted algorithm (default: the one that the JWK states, or all for the key's type; with a password, all \
            of PBES2); RSA1_5 is never accepted
            """,
            encryption:
                "An accepted content encryption: \(JWEEncryption.names.joined(separator: ", ")) (default: all of them)",
            maximumIterations:
                "The maximum number of PBKDF2 iterations for a password, which the sender chooses (default: 1000000)",
            understood: "A critical header parameter that you process",
        ]).section("Accepted algorithms")

    private let arguments: ParsedArguments
    private let key: KeySource?
    private let password: PasswordSource?
    private let algorithms: [JWEAlgorithm]?
    private let encryptions: [JWEEncryption]

    init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        let algorithms = arguments.values(of: Self.algorithm)
        let encryptions = arguments.values(of: Self.encryption)
        self.algorithms = algorithms.isEmpty ? nil : algorithms
        self.encryptions = encryptions.isEmpty ? JWEEncryption.implemented : encryptions
        let hasKey = arguments.contains(Self.key) || arguments.contains(KeySource.environment)
        key = hasKey ? try KeySource(arguments, key: Self.key) : nil
        password = hasKey ? nil : try PasswordSource(arguments, Self.password, prompt: KeySource.passwordPrompt)
        try arguments.reject([
            "missing key; pass --key FILE, --key-env NAME, --password-file FILE or --password":
                !hasKey && password == nil,
            "--secret requires a key": !hasKey && arguments.contains(Self.secret),
            "--max-iterations applies only to a password without a key":
                hasKey && arguments.contains(Self.maximumIterations),
        ])
        if let unfit = algorithms.first(where: { $0.usesPassword == hasKey }) {
            throw arguments.usageError("--alg \(unfit) needs a " + (hasKey ? "password without a key" : "key"))
        }
    }

    var takesStandardInput: Bool { key?.takesStandardInput ?? password?.isStandardInput ?? false }

    func decrypter(
        for token: UnverifiedJWE,
        _ limits: JWELimits,
        _ console: Console
    ) throws(CommandFailure) -> JWEDecrypter {
        let keys = try keys(console)
        var policy = DecryptionPolicy(
            algorithms: Set(algorithms ?? keys.map(\.algorithm)),
            encryptions: Set(encryptions),
            maximumPasswordIterations: password == nil ? 0 : arguments.value(of: Self.maximumIterations) ?? 1_000_000
        )
        policy.understoodExtensions = Set(arguments.values(of: Self.understood))
        policy.limits = limits
        // A single remaining key is used even if its kid differs, as for verification.
        let headers = [token.unverifiedProtectedHeader, token.unprotectedHeader] + token.recipientHeaders
        let stated = { (name: String) in headers.compactMap { $0[name]?.string } }
        let (algorithms, encryptions) = (stated("alg"), stated("enc"))
        let fitting = keys.filter { key in
            algorithms.contains(key.algorithm.rawValue)
                && key.encryption.map { encryptions.contains($0.rawValue) } ?? true
        }
        return JWEDecrypter(keys: fitting.isEmpty ? keys : fitting, policy: policy)
    }

    private func keys(_ console: Console) throws(CommandFailure) -> [DecryptionKey] {
        if let key {
            let file = try key.read(warningOn: console)
            file.warn(on: console)
            return try file.decryptionKeys(for: algorithms, encryptions)
        }
        let text = try password?.read(warningOn: console) ?? ""
        return try KeyFile.describing("the password") {
            let password = try EncryptionPassword(text)
            return try (algorithms ?? JWEAlgorithm.implemented).filter(\.usesPassword).map {
                try DecryptionKey(password: password, algorithm: $0)
            }
        }
    }

    func explained(_ error: TokenError, _ token: UnverifiedJWE, _ policy: DecryptionPolicy) -> TokenError {
        let isPolicy = error.message.contains("which the policy doesn't allow")
        let stated = token.unverifiedProtectedHeader["alg"]?.string ?? ""
        let advice =
            switch error.code {
            case .tooLarge where password != nil && error.message.contains("p2c"):
                "; raise it with --max-iterations if you trust the sender"
            case .algorithmMismatch where password == nil && stated.hasPrefix("PBES2-"):
                "; it needs a password, so replace the key with --password"
            case .algorithmMismatch where isPolicy && error.message.hasPrefix("“enc”"):
                "; --enc \(encryptions.map(\.rawValue).joined(separator: " --enc ")) excludes it"
            case .algorithmMismatch where isPolicy:
                "; the key is for \(policy.algorithms.map(\.rawValue).sorted().joined(separator: ", "))"
                    + (algorithms == nil ? "" : ", according to --alg")
            default: ""
            }
        return advice.isEmpty ? error : TokenError(error.code, error.message + advice, cause: error)
    }
}

struct NestedVerification {
    private static let nested = Flag("nested")
    static let options =
        OptionDefinition.table([
            nested: "Require a signed token inside (a nested JWT), verify it, and print its claims",
            SignerKeys.options: nil,
        ]).section("Nested token") + PolicyOptions.options

    private let keys: VerificationKeys
    private let policy: PolicyOptions

    init?(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.contains(Self.nested) else {
            for option in Self.options where arguments.contains(option) {
                throw arguments.usageError("\(option.spelling) requires --nested")
            }
            return nil
        }
        keys = try SignerKeys.keys(
            arguments,
            advice: "--nested needs --verify-key FILE, --jwks FILE|URL or --discover ISSUER"
        )
        policy = try PolicyOptions(arguments, keyIssuer: keys.issuer)
    }

    var takesStandardInput: Bool { keys.takesStandardInput }

    func verifier(_ console: Console) throws(CommandFailure) -> JWTVerifier {
        try keys.verifier(policy.policy, console)
    }

    func verified(_ jwe: DecryptedJWE, _ verifier: JWTVerifier) throws(CommandFailure) -> VerifiedToken {
        do throws(TokenError) {
            return try verifier.verify(contentOf: jwe)
        } catch {
            throw policy.rejection(error, of: String(decoding: jwe.plaintext, as: UTF8.self))
        }
    }
}
