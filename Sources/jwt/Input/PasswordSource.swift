import Glibc
import Synchronization

struct SecretOptions: CommandOption {
    let file: Option<InputFile>
    let environment: Option<EnvironmentVariable>
    let noun: String

    var definitions: [OptionDefinition] { [file.definition, environment.definition] }

    init(_ name: String, noun: String = "password", file: String, environment: String) {
        self.file = Option("\(name)-file", file)
        self.environment = Option("\(name)-env", environment)
        self.noun = noun
    }

    /// Creates the options for a secret that the phrase names.
    init(_ name: String, noun: String = "password", _ phrase: String) {
        self.init(
            name,
            noun: noun,
            file: "The file with \(phrase)",
            environment: "The environment variable with \(phrase)"
        )
    }
}

struct PasswordSource: Equatable {
    private enum Place: Equatable {
        case file(InputFile)
        case environment(EnvironmentVariable, option: String)
        case terminal
    }

    private let place: Place
    private let noun: String

    init?(_ arguments: ParsedArguments, _ options: SecretOptions, prompt: Flag? = nil) throws(UsageError) {
        noun = options.noun
        let (file, environment) = (options.file.spelling, options.environment.spelling)
        let isTyped = prompt.map { arguments.contains($0) } ?? false
        switch (arguments.value(of: options.file), arguments.value(of: options.environment), isTyped) {
        case (let file?, nil, false): place = .file(file)
        case (nil, let variable?, false): place = .environment(variable, option: environment)
        case (nil, nil, true): place = .terminal
        case (nil, nil, false): return nil
        case (_?, _?, _): throw arguments.usageError("\(file) and \(environment) can't be combined")
        case (_, _, true): throw arguments.usageError("--password can't be combined with \(file) or \(environment)")
        }
    }

    var isStandardInput: Bool { place == .file(.standardInput) }

    /// Reads the password without a line break at its end; a new one must be typed twice.
    func read(warningOn console: Console, isNew: Bool = false) throws(CommandFailure) -> String {
        switch place {
        case .terminal: return try PasswordPrompt.read(noun, twice: isNew)
        case .environment(let variable, let option): return try variable.value(for: option)
        case .file(let file):
            let content = try file.read()
            let line = SecretEncoding.withoutLineBreak(content.bytes.withoutByteOrderMark)
            guard !line.isEmpty else { throw CommandFailure(.failed, "\(file.name): contains no \(noun)") }
            guard let text = String(validating: line, as: UTF8.self) else {
                throw CommandFailure(.failed, "\(file.name): the \(noun) isn't valid UTF-8")
            }
            if let warning = content.status?.secretWarning(file.name, noun) { console.warn(warning) }
            return text
        }
    }
}

/// A prompt for a password on the controlling terminal, even if the standard streams are
/// redirected.
enum PasswordPrompt {
    private static let previousSettings = Mutex<termios?>(nil)

    private static let sizeLimit = 4_096

    static func read(_ noun: String, twice: Bool) throws(CommandFailure) -> String {
        let password = try line("\(noun.prefix(1).uppercased())\(noun.dropFirst()): ", noun)
        guard !password.isEmpty else { throw CommandFailure(.failed, "the \(noun) is empty") }
        if twice, try line("Repeat the \(noun): ", noun) != password {
            throw CommandFailure(.failed, "the \(noun)s differ; try again")
        }
        guard let text = String(validating: password, as: UTF8.self) else {
            throw CommandFailure(.failed, "the \(noun) isn't valid UTF-8")
        }
        return text
    }

    /// Shows what the user types again, if a prompt has hidden it.
    static func restoreTerminal() {
        previousSettings.withLock { settings in
            guard let previous = settings else { return }
            settings = nil
            try? FileDescriptor.controllingTerminal().setTerminalSettings(previous, discardsInput: false)
        }
    }

    private static func line(_ prompt: String, _ noun: String) throws(CommandFailure) -> [UInt8] {
        do throws(FileDescriptor.Failure) {
            let terminal = try FileDescriptor.controllingTerminal()
            try hideInput(of: terminal)
            defer { restoreTerminal() }
            try terminal.writeAll(Array(prompt.utf8))
            let line = try readLine(from: terminal)
            // The terminal doesn't show the user's line break, either.
            try terminal.writeAll([0x0A])
            return line
        } catch {
            let advice = "pass it with --password-file FILE or --password-env NAME"
            let message = "no terminal to type the \(noun) on (\(error.message)); \(advice)"
            throw CommandFailure(.failed, message, cause: error)
        }
    }

    private static func hideInput(of terminal: borrowing FileDescriptor) throws(FileDescriptor.Failure) {
        let settings = try terminal.terminalSettings()
        var hidden = settings
        hidden.c_lflag &= ~tcflag_t(ECHO)
        // Set this first, so that any signal after the change restores the terminal.
        previousSettings.withLock { $0 = settings }
        try terminal.setTerminalSettings(hidden, discardsInput: true)
    }

    private static func readLine(from terminal: borrowing FileDescriptor) throws(FileDescriptor.Failure) -> [UInt8] {
        var line: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: sizeLimit)
        while line.count < sizeLimit {
            let count = try terminal.read(into: &chunk)
            line += chunk.prefix(count)
            if count == 0 || line.last == 0x0A { break }
        }
        return Array(SecretEncoding.withoutLineBreak(line))
    }
}
