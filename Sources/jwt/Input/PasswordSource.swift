import OAuth2

/// Where a password or another secret is: in a file or a variable, never on the command line.
struct PasswordSource: Equatable {
    private enum Place: Equatable {
        case file(InputFile)
        case environment(EnvironmentVariable, option: String)
    }

    private let place: Place
    private let noun: String

    /// Finds the password's place, or is `nil` if neither option is given.
    ///
    /// - Parameters:
    ///   - arguments: The command line.
    ///   - file: The option that names a file.
    ///   - environment: The option that names a variable.
    ///   - noun: How messages call what is there.
    /// - Throws: ``UsageError`` if both are.
    init?(
        _ arguments: ParsedArguments,
        file: Option<InputFile>,
        environment: Option<EnvironmentVariable>,
        noun: String = "password"
    ) throws(UsageError) {
        self.noun = noun
        let option = environment.definition.spelling
        switch (try arguments.value(of: file), try arguments.value(of: environment)) {
        case (let file?, nil): place = .file(file)
        case (nil, let variable?): place = .environment(variable, option: option)
        case (nil, nil): return nil
        case (_?, _?): throw arguments.usageError("\(file.definition.spelling) and \(option) exclude each other")
        }
    }

    var isStandardInput: Bool { place == .file(.standardInput) }

    /// Reads the password, with a warning if others may read it, too; a line break at the end of a file does not belong to it.
    ///
    /// - Parameter console: Where the warning goes.
    /// - Returns: The password.
    /// - Throws: ``CommandFailure`` if there is none.
    func read(warningOn console: Console) throws(CommandFailure) -> String {
        switch place {
        case .environment(let variable, let option): return try variable.value(for: option)
        case .file(let file):
            let content = try file.read()
            let line = SecretEncoding.withoutLineBreak(content.bytes)
            guard !line.isEmpty else { throw CommandFailure(.failed, "\(file.name): no \(noun) in it") }
            guard let text = String(validating: line, as: UTF8.self) else {
                throw CommandFailure(.failed, "\(file.name): no \(noun) in it: it is not text in UTF-8")
            }
            if let warning = content.status?.secretWarning(file.name, noun) { console.warn(warning) }
            return text
        }
    }

    /// Reads a secret, with a warning if others may read it, too.
    ///
    /// - Parameter console: Where the warning goes.
    /// - Returns: The secret.
    /// - Throws: ``CommandFailure`` if there is none.
    func readSecret(warningOn console: Console) throws(CommandFailure) -> Secret {
        Secret(try read(warningOn: console))
    }
}
