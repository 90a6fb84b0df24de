/// Where a password is: in a file or a variable, never on the command line.
struct PasswordSource: Equatable {
    private enum Place: Equatable {
        case file(InputFile)
        case environment(EnvironmentVariable, option: String)
    }

    private let place: Place

    /// Finds the password's place.
    ///
    /// - Returns: `nil` if neither option is given.
    /// - Throws: ``UsageError`` if both are.
    init?(
        _ arguments: ParsedArguments,
        file: Option<InputFile>,
        environment: Option<EnvironmentVariable>
    ) throws(UsageError) {
        let option = environment.definition.spelling
        switch (try arguments.value(of: file), try arguments.value(of: environment)) {
        case (let file?, nil): place = .file(file)
        case (nil, let variable?): place = .environment(variable, option: option)
        case (nil, nil): return nil
        case (_?, _?): throw arguments.usageError("\(file.definition.spelling) and \(option) exclude each other")
        }
    }

    var isStandardInput: Bool { place == .file(.standardInput) }

    /// Reads the password; a line break at the end of a file does not belong to it.
    ///
    /// - Throws: ``CommandFailure`` if there is none.
    func read() throws(CommandFailure) -> String {
        switch place {
        case .environment(let variable, let option): return try variable.value(for: option)
        case .file(let file):
            let line = SecretEncoding.withoutLineBreak(try file.read().bytes)
            guard let password = String(validating: line, as: UTF8.self), !password.isEmpty else {
                throw CommandFailure(.failed, "\(file.name): no password in it")
            }
            return password
        }
    }
}
