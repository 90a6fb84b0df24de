import OAuth2

/// The options for a secret: one for a file, and one for an environment variable.
struct SecretOptions: CommandOption {
    let file: Option<InputFile>
    let environment: Option<EnvironmentVariable>
    /// The kind of secret, for messages.
    let noun: String

    var definitions: [OptionDefinition] { [file.definition, environment.definition] }

    /// Creates the options, whose names begin with a name such as `password`.
    init(_ name: String, noun: String = "password", file: String, environment: String) {
        self.file = Option("\(name)-file", file)
        self.environment = Option("\(name)-env", environment)
        self.noun = noun
    }
}

/// The source of a password or another secret: a file, an environment variable or the terminal.
struct PasswordSource: Equatable {
    private enum Place: Equatable {
        case file(InputFile)
        case environment(EnvironmentVariable, option: String)
        case terminal
    }

    private let place: Place
    private let noun: String

    /// Creates the source, or returns `nil` if no option is present.
    ///
    /// The prompt is the flag for typing the secret.
    init?(_ arguments: ParsedArguments, _ options: SecretOptions, prompt: Flag? = nil) throws(UsageError) {
        noun = options.noun
        let (file, environment) = (options.file.definition.spelling, options.environment.definition.spelling)
        let isTyped = prompt.map { arguments.contains($0) } ?? false
        switch (try arguments.value(of: options.file), try arguments.value(of: options.environment), isTyped) {
        case (let file?, nil, false): place = .file(file)
        case (nil, let variable?, false): place = .environment(variable, option: environment)
        case (nil, nil, true): place = .terminal
        case (nil, nil, false): return nil
        case (_?, _?, _): throw arguments.usageError("\(file) and \(environment) can't be combined")
        case (_, _, true): throw arguments.usageError("--password can't be combined with \(file) or \(environment)")
        }
    }

    var isStandardInput: Bool { place == .file(.standardInput) }

    /// Reads the password without a line break at its end, and warns if other users can read the
    /// file.
    ///
    /// The user must type a new password twice.
    func read(warningOn console: Console, isNew: Bool = false) throws(CommandFailure) -> String {
        switch place {
        case .terminal: return try PasswordPrompt.read(noun, twice: isNew)
        case .environment(let variable, let option): return try variable.value(for: option)
        case .file(let file):
            let content = try file.read()
            let line = SecretEncoding.withoutLineBreak(content.bytes)
            guard !line.isEmpty else { throw CommandFailure(.failed, "\(file.name): contains no \(noun)") }
            guard let text = String(validating: line, as: UTF8.self) else {
                throw CommandFailure(.failed, "\(file.name): the \(noun) isn't valid UTF-8")
            }
            if let warning = content.status?.secretWarning(file.name, noun) { console.warn(warning) }
            return text
        }
    }

    /// Reads a secret as ``read(warningOn:)`` does.
    func readSecret(warningOn console: Console) throws(CommandFailure) -> Secret {
        Secret(try read(warningOn: console))
    }
}
