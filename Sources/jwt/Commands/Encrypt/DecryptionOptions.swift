import TokenGeneration

/// The key or the password that decrypts, and the accepted algorithms.
struct DecryptionOptions {
    private static let key = KeySource.key(
        "The private key or the secret: PEM, DER, JWK or JWK Set; without a key, the token needs a password"
    )
    private static let secret = Option<SecretEncoding>("secret", "Read the key as a raw secret in this encoding")
    private static let password = SecretOptions(
        "password",
        file: "The file with the password of the token or, with a key, of the encrypted private key",
        environment: "The environment variable with the password"
    )
    private static let algorithm = Option<JWEAlgorithm>(
        "alg",
        isRepeatable: true,
        """
        An accepted algorithm (default: the one that the JWK states, or all for the key's type; with a password, all \
        of PBES2); RSA1_5 is never accepted
        """
    )
    private static let encryption = Option<JWEEncryption>(
        "enc",
        isRepeatable: true,
        "An accepted content encryption: \(JWEEncryption.names.joined(separator: ", ")) (default: all of them)"
    )
    private static let maximumIterations = Option<IterationCount>(
        "max-iterations",
        value: "NUMBER",
        "The maximum number of PBKDF2 iterations for a password, which the sender chooses (default: 1000000)"
    )
    private static let understood = Option<NonEmptyText>(
        "crit",
        value: "NAME",
        isRepeatable: true,
        "A critical header parameter that you process"
    )

    static let options =
        OptionDefinition.section(
            KeySource.section,
            [key, KeySource.environment, secret, password, KeySource.passwordPrompt]
        )
        + OptionDefinition.section("Accepted algorithms", [algorithm, encryption, maximumIterations, understood])

    private let key: KeySource?
    /// The password of the token, if there's no key.
    private let password: PasswordSource?
    private let algorithms: [JWEAlgorithm]?
    private let encryptions: [JWEEncryption]
    private let maximumIterations: Int
    private let understood: Set<String>

    /// - Throws: ``UsageError`` unless the command line has a key or a password.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        let algorithms = try arguments.values(of: Self.algorithm)
        let encryptions = try arguments.values(of: Self.encryption)
        self.algorithms = algorithms.isEmpty ? nil : algorithms
        self.encryptions = encryptions.isEmpty ? JWEEncryption.implemented : encryptions
        maximumIterations = try arguments.value(of: Self.maximumIterations)?.number ?? 1_000_000
        understood = Set(try arguments.values(of: Self.understood).map(\.text))
        let hasKey = [Self.key.definition, KeySource.environment.definition].contains { arguments.contains($0) }
        key = hasKey ? try KeySource(arguments, key: Self.key) : nil
        password =
            hasKey
            ? nil
            : try PasswordSource(arguments, Self.password, prompt: KeySource.passwordPrompt)
        guard hasKey || password != nil else {
            throw arguments.usageError(
                "missing key; pass --key FILE, --key-env NAME, --password-file FILE or --password"
            )
        }
        if !hasKey, arguments.contains(Self.secret.definition) { throw arguments.usageError("--secret requires a key") }
        if hasKey, arguments.contains(Self.maximumIterations.definition) {
            throw arguments.usageError("--max-iterations applies only to a password without a key")
        }
        if let unfit = algorithms.first(where: { $0.usesPassword == hasKey }) {
            throw arguments.usageError(
                hasKey ? "--alg \(unfit) needs a password without a key" : "--alg \(unfit) needs a key"
            )
        }
    }

    /// A Boolean value that indicates whether the key or its password is read from standard input.
    var takesStandardInput: Bool { key?.takesStandardInput ?? password?.isStandardInput ?? false }

    /// Reads the key or the password for a token, whose headers select among the algorithms of one
    /// key.
    func decrypter(
        for token: UnverifiedJWE,
        _ limits: JWELimits,
        _ console: Console
    ) throws(CommandFailure) -> JWEDecrypter {
        let keys = try keys(console)
        var policy = DecryptionPolicy(
            algorithms: Set(algorithms ?? keys.map(\.algorithm)),
            encryptions: Set(encryptions),
            maximumPasswordIterations: password == nil ? 0 : maximumIterations
        )
        policy.understoodExtensions = understood
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

    /// Adds advice about the command's options to a decrypter's error.
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
