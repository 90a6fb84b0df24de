import TokenGeneration

/// The source of a key, which is never an argument, because every user of the machine can see
/// those.
struct KeySource: Equatable {
    static let section = "Key"

    static let file = key("The private key: PEM, DER or JWK")
    static let algorithm = algorithm("The algorithm, for a key that doesn't state it, such as an RSA key in PEM")
    static let environment = Option<EnvironmentVariable>(
        "key-env",
        "The environment variable with the key, instead of --key"
    )
    static let secret = Option<SecretEncoding>(
        "secret",
        "Read the key as a raw secret in this encoding; signatures require --alg"
    )
    static let password = SecretOptions(
        "password",
        file: "The file with the password of an encrypted private key",
        environment: "The environment variable with the password"
    )
    static let passwordPrompt = Flag("password", "Type the password on the terminal, which doesn't show it")

    static let options = OptionDefinition.section(section, [environment, secret, password])

    static let signingOptions = OptionDefinition.section(section, [file, algorithm]) + options

    static func key(isRepeatable: Bool = false, _ summary: String = "") -> Option<InputFile> {
        Option("key", aliases: ["key-file"], short: "k", isRepeatable: isRepeatable, summary)
    }

    static func algorithm(_ summary: String = "") -> Option<JWSAlgorithm> { Option("alg", summary) }

    static func keyID(_ summary: String = "") -> Option<String> {
        Option("kid", aliases: ["keyid", "key-id"], value: "ID", summary)
    }

    private enum Place: Equatable {
        case file(InputFile)
        case environment(EnvironmentVariable)
    }

    private let place: Place
    private let secretEncoding: SecretEncoding?
    private let password: PasswordSource?
    private var algorithmOption = "--alg"
    private var readsSecrets = false

    init?(_ arguments: ParsedArguments, key: Option<InputFile>) throws(UsageError) {
        try self.init(arguments, file: arguments.value(of: key), named: key.spelling)
    }

    init(
        _ arguments: ParsedArguments,
        file: InputFile,
        secretEncoding: SecretEncoding? = nil,
        password: PasswordSource? = nil,
        algorithmOption: String = "--alg"
    ) throws(UsageError) {
        self.algorithmOption = algorithmOption
        place = .file(file)
        self.secretEncoding = secretEncoding
        self.password = password
        try checkStandardInput(arguments)
    }

    init(_ variable: EnvironmentVariable, secretEncoding: SecretEncoding?) {
        place = .environment(variable)
        self.secretEncoding = secretEncoding
        password = nil
    }

    static func required(_ arguments: ParsedArguments) throws(UsageError) -> KeySource {
        guard let source = try KeySource(arguments, key: file) else {
            throw arguments.usageError("missing key; pass --key FILE or --key-env NAME")
        }
        return source
    }

    init?(_ arguments: ParsedArguments, file: InputFile?, named name: String) throws(UsageError) {
        secretEncoding = arguments.value(of: Self.secret)
        readsSecrets = arguments.accepts(Self.secret.definition)
        password = try PasswordSource(arguments, Self.password, prompt: Self.passwordPrompt)
        let variable = arguments.value(of: Self.environment)
        switch (file, variable) {
        case (let file?, nil): place = .file(file)
        case (nil, let variable?): place = .environment(variable)
        case (_?, _?):
            throw arguments.usageError("\(name) and \(Self.environment.spelling) can't be combined")
        case (nil, nil):
            let others = [Self.secret.definition] + Self.password.definitions
            if let option = others.first(where: arguments.contains) {
                throw arguments.usageError("\(option.spelling) requires a key")
            }
            return nil
        }
        try checkStandardInput(arguments)
    }

    private func checkStandardInput(_ arguments: ParsedArguments) throws(UsageError) {
        if case .file(.standardInput) = place, password?.isStandardInput ?? false {
            throw arguments.usageError("the key and its password can't both come from standard input")
        }
    }

    var takesStandardInput: Bool { place == .file(.standardInput) || password?.isStandardInput ?? false }

    var name: String {
        switch place {
        case .file(let file): file.name
        case .environment: Self.environment.spelling
        }
    }

    func read(warningOn console: Console) throws(CommandFailure) -> KeyFile {
        let content =
            switch place {
            case .file(let file): try file.read()
            case .environment(let variable): InputFile.Content(bytes: Array(try variable.value(for: name).utf8))
            }
        return try KeyFile(
            name,
            content,
            secretEncoding,
            password: password?.read(warningOn: console),
            algorithmOption: algorithmOption,
            readsSecrets: readsSecrets
        )
    }

    func signingKey(
        for algorithm: JWSAlgorithm?,
        _ console: Console
    ) throws(CommandFailure) -> (key: SigningKey, keyID: String?) {
        let file = try read(warningOn: console)
        let signing = try file.signingKey(for: algorithm)
        file.warn(on: console)
        return signing
    }
}
