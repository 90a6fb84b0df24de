/// The source of a key: a file, standard input or an environment variable.
///
/// A key is never an argument, because every user of the machine can see the command line.
struct KeySource: Equatable {
    static let section = "Key"

    /// The option for the key file of commands that require a key.
    static let file = Option<InputFile>(
        "key",
        aliases: ["key-file"],
        short: "k",
        value: "FILE",
        section: section,
        "The private key: PEM, DER or JWK"
    )
    static let algorithm = Option<KeyAlgorithm>(
        "alg",
        value: "ALG",
        section: section,
        "The algorithm, for a key that doesn't state it, such as an RSA key in PEM"
    )
    static let environment = Option<EnvironmentVariable>(
        "key-env",
        value: "NAME",
        section: section,
        "The environment variable with the key, instead of --key"
    )
    static let secret = Option<SecretEncoding>(
        "secret",
        value: "text|base64|base64url|hex",
        section: section,
        "Read the key as a raw secret in this encoding; signatures require --alg"
    )
    static let passwordFile = Option<InputFile>(
        "password-file",
        value: "FILE",
        section: section,
        "The file with the password of an encrypted private key"
    )
    static let passwordEnvironment = Option<EnvironmentVariable>(
        "password-env",
        value: "NAME",
        section: section,
        "The environment variable with the password"
    )

    /// The flag for typing the password, in the commands that have it.
    static let passwordPrompt = Flag(
        "password",
        section: section,
        "Type the password on the terminal, which doesn't show it"
    )

    /// The options of every command with a key, without the option for its file.
    static let options = [
        environment.definition, secret.definition, passwordFile.definition, passwordEnvironment.definition,
    ]

    /// The options of commands whose key can't be a shared secret.
    static let keyPairOptions = options.filter { $0.longName != secret.definition.longName }

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
    ///
    /// - Parameters:
    ///   - arguments: The command line.
    ///   - key: The option for the key file.
    /// - Throws: ``UsageError`` if the command line has several keys, or a password or an
    ///   encoding without a key.
    init?(_ arguments: ParsedArguments, key: Option<InputFile>) throws(UsageError) {
        try self.init(arguments, file: arguments.value(of: key), named: key.definition.spelling)
    }

    /// Creates the source for a command whose key is an operand or in an environment variable.
    init?(_ arguments: ParsedArguments, operand: String?) throws(UsageError) {
        var file: InputFile?
        if let operand {
            do throws(ValueError) {
                file = try InputFile(argument: operand)
            } catch {
                throw arguments.usageError("KEY \(error.message)")
            }
        }
        try self.init(arguments, file: file, named: "KEY")
    }

    /// Creates the source of a key in a file.
    ///
    /// - Throws: ``UsageError`` if the key and its password both come from standard input.
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

    private init?(_ arguments: ParsedArguments, file: InputFile?, named name: String) throws(UsageError) {
        secretEncoding = try arguments.value(of: Self.secret)
        password = try PasswordSource(
            arguments,
            file: Self.passwordFile,
            environment: Self.passwordEnvironment,
            prompt: Self.passwordPrompt
        )
        let variable = try arguments.value(of: Self.environment)
        switch (file, variable) {
        case (let file?, nil): place = .file(file)
        case (nil, let variable?): place = .environment(variable)
        case (_?, _?):
            throw arguments.usageError("\(name) and \(Self.environment.definition.spelling) can't be combined")
        case (nil, nil):
            for option in [Self.secret.definition, Self.passwordFile.definition, Self.passwordEnvironment.definition]
            where arguments.contains(option) {
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

    /// Reads the key, and warns if other users can read its password.
    ///
    /// - Throws: ``CommandFailure`` if the key can't be read.
    func read(warningOn console: Console) throws(CommandFailure) -> KeyFile {
        switch place {
        case .file(let file):
            return try keyFile(file.name, file.read(), console)
        case .environment(let variable):
            let option = Self.environment.definition.spelling
            let content = InputFile.Content(bytes: Array(try variable.value(for: option).utf8), status: nil)
            return try keyFile(option, content, console)
        }
    }

    private func keyFile(
        _ name: String,
        _ content: InputFile.Content,
        _ console: Console
    ) throws(CommandFailure) -> KeyFile {
        try KeyFile(
            name,
            content,
            secretEncoding,
            password: try password?.read(warningOn: console),
            algorithmOption: algorithmOption
        )
    }
}
