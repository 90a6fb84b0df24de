import TokenGeneration

struct RecipientOptions {
    private static let key = KeySource.key(isRepeatable: true)
    private static let secret = Option<SecretEncoding>("secret")
    private static let algorithm = Option<JWEAlgorithm>("alg")
    private static let encryption = Option<JWEEncryption>("enc")
    private static let password = SecretOptions("password", "a password to encrypt with")
    private static let prompt = Flag("password")
    private static let iterations = Option<Int>("iterations", in: 1_000...10_000_000)

    static let options =
        OptionDefinition.table([
            key: """
            The recipient's key: a public key or certificate in PEM or DER, a JWK or a JWK Set; a private key encrypts \
            with its public part
            """,
            KeySource.environment: nil,
            secret: "Read the key as a raw secret in this encoding",
            algorithm: """
            The algorithm, for a key that doesn't state it (default: ECDH-ES+A256KW, RSA-OAEP-256, AES key wrap or dir for \
            a secret by its size, PBES2-HS512+A256KW for a password)
            """,
            encryption: "The content encryption: \(JWEEncryption.names.joined(separator: ", ")) (default: A256GCM)",
        ]).section(KeySource.section)
        + KeySetSource.recipientOptions
        + OptionDefinition.table([
            password: nil,
            prompt: "Encrypt with a password that you type twice on the terminal, which doesn't show it",
            iterations:
                "The number of PBKDF2 iterations for a password (default: 210000, or 600000 for PBES2-HS256+A128KW)",
        ]).section(KeySource.section)

    let encryption: JWEEncryption?
    private let keys: [KeySource]
    private let set: KeySetSource?
    private let password: PasswordSource?
    private let algorithm: JWEAlgorithm?
    private let iterations: Int?
    private let keyID: String?

    init(_ arguments: ParsedArguments, keyID: String?) throws(UsageError) {
        encryption = arguments.value(of: Self.encryption)
        algorithm = arguments.value(of: Self.algorithm)
        iterations = arguments.value(of: Self.iterations)
        self.keyID = keyID
        keys = try Self.keys(arguments)
        set = try KeySetSource(arguments)
        password = try PasswordSource(arguments, Self.password, prompt: Self.prompt)
        let keyCount = keys.count + (set == nil ? 0 : 1)
        let name = algorithm.map { "\($0)" } ?? ""
        try arguments.reject([
            "missing key; pass --key FILE, --key-env NAME, --jwks FILE|URL, --password-file FILE or --password":
                keyCount == 0 && password == nil,
            "--alg \(name) needs --password-file, --password-env or --password":
                algorithm?.usesPassword == true && password == nil,
            "--alg \(name) needs --key, --key-env or --jwks": algorithm?.usesPassword == false && keyCount == 0,
            "--iterations applies only to a password": iterations != nil && password == nil,
            "--kid applies to one recipient; several JWKs state their own kid":
                keyID != nil && count > 1 && set == nil,
            "only one of the keys and the password can come from standard input": standardInputCount > 1,
        ])
    }

    var count: Int { keys.count + (set == nil ? 0 : 1) + (password == nil ? 0 : 1) }
    var takesStandardInput: Bool { standardInputCount > 0 }

    private var standardInputCount: Int {
        keys.count(where: \.takesStandardInput) + (set?.takesStandardInput == true ? 1 : 0)
            + (password?.isStandardInput == true ? 1 : 0)
    }

    private static func keys(_ arguments: ParsedArguments) throws(UsageError) -> [KeySource] {
        let secretEncoding = arguments.value(of: secret)
        var keys: [KeySource] = []
        for file in arguments.values(of: key) {
            keys.append(try KeySource(arguments, file: file, secretEncoding: secretEncoding))
        }
        if let variable = arguments.value(of: KeySource.environment) {
            keys.append(KeySource(variable, secretEncoding: secretEncoding))
        }
        if secretEncoding != nil, keys.isEmpty { throw arguments.usageError("--secret requires a key") }
        return keys
    }

    func recipients(_ console: Console) throws(CommandFailure) -> [JWERecipient] {
        let keyAlgorithm = algorithm.flatMap { $0.usesPassword ? nil : $0 }
        var recipients: [EncryptionKey] = []
        for source in keys {
            let file = try source.read(warningOn: console)
            file.warn(on: console)
            let key = try file.encryptionKey(for: keyAlgorithm, encryption, keyID: file.keySet == nil ? nil : keyID)
            recipients.append(file.keySet == nil ? try identified(key, in: file.name) : key)
        }
        if let set {
            let recipient = KeySetRecipient(set: try set.keySet(warningOn: console), name: set.name, keyID: keyID)
            recipients.append(try recipient.key(keyAlgorithm, encryption))
        }
        if let password {
            let text = try password.read(warningOn: console, isNew: true)
            recipients.append(
                try KeyFile.describing("the password") {
                    try EncryptionKey(
                        password: EncryptionPassword(text),
                        algorithm: algorithm.flatMap { $0.usesPassword ? $0 : nil } ?? .pbes2HS512A256KW,
                        iterations: iterations
                    ).identified(by: count == 1 ? keyID : nil)
                }
            )
        }
        return recipients.map { JWERecipient(key: $0) }
    }

    private func identified(_ key: EncryptionKey, in name: String) throws(CommandFailure) -> EncryptionKey {
        guard set == nil, keyID == "auto" else { return key.identified(by: set == nil ? keyID : nil) }
        return try KeyFile.describing(name) { key.identified(by: try key.jwk.thumbprint) }
    }
}
