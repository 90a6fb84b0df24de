/// Where a command gets a key: a file, standard input or an environment variable, but never the command line, which every
/// user of the machine can see.
struct KeySource: Equatable {
    static let section = "Key"

    /// The file of a key without which a command can do nothing.
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
        "The algorithm, for a key that does not state it, such as an RSA key in PEM"
    )
    static let environment = Option<EnvironmentVariable>(
        "key-env",
        value: "NAME",
        section: section,
        "The environment variable that holds the key, instead of --key"
    )
    static let secret = Option<SecretEncoding>(
        "secret",
        value: "text|base64|base64url|hex",
        section: section,
        "The key is the bare secret of an HMAC algorithm, written so; needs --alg"
    )
    static let passwordFile = Option<InputFile>(
        "password-file",
        value: "FILE",
        section: section,
        "The password of an encrypted private key"
    )
    static let passwordEnvironment = Option<EnvironmentVariable>(
        "password-env",
        value: "NAME",
        section: section,
        "The environment variable that holds the password"
    )

    /// The options of every command that takes a key, besides the one that names its file.
    static let options = [
        environment.definition, secret.definition, passwordFile.definition, passwordEnvironment.definition,
    ]

    private enum Place: Equatable {
        case file(InputFile)
        case environment(EnvironmentVariable)
    }

    private let place: Place
    private let secretEncoding: SecretEncoding?
    private let password: PasswordSource?

    /// Finds the key's place, or is `nil` if the command line names no key.
    ///
    /// - Parameters:
    ///   - arguments: The command line.
    ///   - key: The option that names the key's file.
    /// - Throws: ``UsageError`` if it names several, or a password or an encoding of none.
    init?(_ arguments: ParsedArguments, key: Option<InputFile>) throws(UsageError) {
        try self.init(arguments, file: arguments.value(of: key), named: key.definition.spelling)
    }

    /// Finds the place of the key that a command takes as an operand, unless it is in a variable.
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

    private init?(_ arguments: ParsedArguments, file: InputFile?, named name: String) throws(UsageError) {
        secretEncoding = try arguments.value(of: Self.secret)
        password = try PasswordSource(
            arguments,
            file: Self.passwordFile,
            environment: Self.passwordEnvironment
        )
        let variable = try arguments.value(of: Self.environment)
        switch (file, variable) {
        case (let file?, nil): place = .file(file)
        case (nil, let variable?): place = .environment(variable)
        case (_?, _?):
            throw arguments.usageError("\(name) and \(Self.environment.definition.spelling) exclude each other")
        case (nil, nil):
            for option in [Self.secret.definition, Self.passwordFile.definition, Self.passwordEnvironment.definition]
            where arguments.contains(option) {
                throw arguments.usageError("\(option.spelling) says how a key is read, but there is no key")
            }
            return nil
        }
        if case .file(.standardInput) = place, password?.isStandardInput ?? false {
            throw arguments.usageError("the key and its password cannot both come from standard input")
        }
    }

    /// Whether standard input is used up by the key or its password.
    var takesStandardInput: Bool { place == .file(.standardInput) || password?.isStandardInput ?? false }

    /// Reads the key.
    ///
    /// - Parameter console: Where a warning goes if others may read the key's password.
    /// - Returns: The file.
    /// - Throws: ``CommandFailure`` if there is none.
    func read(warningOn console: Console) throws(CommandFailure) -> KeyFile {
        switch place {
        case .file(let file):
            let content = try file.read()
            return try KeyFile(file.name, content, secretEncoding, password: try password?.read(warningOn: console))
        case .environment(let variable):
            let option = Self.environment.definition.spelling
            let content = InputFile.Content(bytes: Array(try variable.value(for: option).utf8), status: nil)
            return try KeyFile(option, content, secretEncoding, password: try password?.read(warningOn: console))
        }
    }
}
