import TokenGeneration

/// The source of a key: a file, standard input or an environment variable.
///
/// A key is never an argument, because every user of the machine can see the command line.
struct KeySource: Equatable {
    static let section = "Key"

    /// The option for the private key of a command that signs.
    static let file = key("The private key: PEM, DER or JWK")
    static let algorithm = Option<JWSAlgorithm>(
        "alg",
        "The algorithm, for a key that doesn't state it, such as an RSA key in PEM"
    )
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

    /// The flag for typing the password, in the commands that have it.
    static let passwordPrompt = Flag("password", "Type the password on the terminal, which doesn't show it")

    /// The options of every command with a key, without the option for its file.
    static let options = OptionDefinition.section(section, [environment, secret, password])

    /// The options of a command that signs.
    static let signingOptions = OptionDefinition.section(section, [file, algorithm]) + options

    /// Returns the `--key` option of a command.
    static func key(isRepeatable: Bool = false, _ summary: String) -> Option<InputFile> {
        Option("key", aliases: ["key-file"], short: "k", isRepeatable: isRepeatable, summary)
    }

    private enum Place: Equatable {
        case file(InputFile)
        case environment(EnvironmentVariable)
    }

    private let place: Place
    private let secretEncoding: SecretEncoding?
    private let password: PasswordSource?
    /// The option that names the key's algorithm, for messages.
    private var algorithmOption = "--alg"

    /// Creates the source, or returns `nil` if the command line has no key.
    init?(_ arguments: ParsedArguments, key: Option<InputFile>) throws(UsageError) {
        try self.init(arguments, file: arguments.value(of: key), named: key.definition.spelling)
    }

    /// Creates the source for a command whose key is an operand or in an environment variable.
    init?(_ arguments: ParsedArguments, operand: Int) throws(UsageError) {
        try self.init(arguments, file: arguments.operand(operand, named: "KEY"), named: "KEY")
    }

    /// Creates the source of a key in a file.
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

    /// Creates the source of a key without a password in an environment variable.
    init(_ variable: EnvironmentVariable, secretEncoding: SecretEncoding?) {
        place = .environment(variable)
        self.secretEncoding = secretEncoding
        password = nil
    }

    /// Returns the source for a command that requires a key.
    static func required(_ arguments: ParsedArguments, key: Option<InputFile> = file) throws(UsageError) -> KeySource {
        guard let source = try KeySource(arguments, key: key) else {
            throw arguments.usageError("missing key; pass --key FILE or --key-env NAME")
        }
        return source
    }

    private init?(_ arguments: ParsedArguments, file: InputFile?, named name: String) throws(UsageError) {
        secretEncoding = try arguments.value(of: Self.secret)
        password = try PasswordSource(arguments, Self.password, prompt: Self.passwordPrompt)
        let variable = try arguments.value(of: Self.environment)
        switch (file, variable) {
        case (let file?, nil): place = .file(file)
        case (nil, let variable?): place = .environment(variable)
        case (_?, _?):
            throw arguments.usageError("\(name) and \(Self.environment.definition.spelling) can't be combined")
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

    /// A Boolean value that indicates whether the key or its password is read from standard input.
    var takesStandardInput: Bool { place == .file(.standardInput) || password?.isStandardInput ?? false }

    /// The name of the source in messages.
    var name: String {
        switch place {
        case .file(let file): file.name
        case .environment: Self.environment.definition.spelling
        }
    }

    /// Reads the key, and warns if other users can read its password.
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
            algorithmOption: algorithmOption
        )
    }

    /// Reads the private key for signing, and the key ID of a JWK, and warns about the file.
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
