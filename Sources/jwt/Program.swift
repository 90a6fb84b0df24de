import Glibc

/// The `jwt` command.
@main
enum Program {
    /// The version that `jwt --version` prints.
    static let version = "0.1.0"

    /// The exit code for a command line that cannot be run, as in `sysexits.h`.
    static let usageStatus: Int32 = 64

    static let definition = CommandDefinition(
        name: "jwt",
        summary: "Make, sign, check and read JSON Web Tokens",
        discussion: [
            """
            Results go to standard output and everything else to standard error, so the commands work in pipes. Where \
            a FILE is asked for, - means standard input. Secrets come from files, standard input and environment \
            variables, never from the command line, which every user of the machine can see.
            """
        ],
        options: [
            OptionDefinition(longName: "version", section: OptionDefinition.defaultSection, summary: "Show the version")
        ],
        examples: [
            .init(purpose: "Make a key", line: "jwt keygen --alg ES256 --out key.pem"),
            .init(purpose: "Sign a token with it", line: "jwt sign --key key.pem --sub alice --expires-in 1h > token"),
            .init(purpose: "Check the token and show its claims", line: "jwt verify --key key.pem < token"),
            .init(purpose: "Show what is in a token without checking it", line: "jwt decode < token"),
        ],
        exitStatuses: [
            .init(code: 0, meaning: "Success"),
            .init(code: 1, meaning: "A token, a signature or a server was rejected; --json says why, in error.code"),
            .init(code: 2, meaning: "Something else failed: a file, a key, a closed pipe"),
            .usage,
        ],
        subcommands: [
            KeygenCommand.definition, SignCommand.definition, VerifyCommand.definition, DecodeCommand.definition,
            KeyGroup.definition, TokenCommand.definition, RequestCommand.definition, DPoPCommand.definition,
            JWSGroup.definition, PinCommand.definition,
            CompletionsCommand.definition, ManualCommand.definition,
        ]
    )

    static func main() {
        ProcessProtection.begin()
        FileDescriptor.reserveStandardNumbers()
        TemporaryFiles.removeOnSignals()
        exit(run(arguments()))
    }

    /// The arguments; `nil` stands for one that is not UTF-8.
    ///
    /// `CommandLine.arguments` repairs such an argument, and the command would work on another text or file than the one it was given.
    private static func arguments() -> [String?] {
        (0..<Int(CommandLine.argc)).dropFirst().map { index in
            unsafe CommandLine.unsafeArgv[index].flatMap { unsafe String(validatingCString: $0) }
        }
    }

    /// Runs a command line.
    ///
    /// - Returns: The exit code.
    private static func run(_ texts: [String?]) -> Int32 {
        // The wish for JSON counts however wrong the rest of the line is.
        let arguments = texts.compactMap(\.self)
        let writesJSON = arguments.prefix { $0 != "--" }.contains(OptionDefinition.json.spelling)
        var console = Console(prefix: definition.name, writesJSON: writesJSON)
        do {
            if let index = texts.firstIndex(of: nil) {
                throw UsageError(
                    path: [definition.name],
                    message: "argument \(index + 1) is not text in UTF-8; a file of such a name can be standard input"
                )
            }
            switch try Invocation(arguments, root: definition) {
            case .help(let command, let path):
                try console.print(HelpText(path: path, command: command).text, terminator: "")
            case .version:
                try console.print("\(definition.name) \(version)")
            case .missingCommand(let command, let path):
                console.explain(HelpText(path: path, command: command).text)
                return usageStatus
            case .run(let action, let arguments):
                console = Console(
                    prefix: arguments.path.joined(separator: " "),
                    writesJSON: arguments.contains(.json)
                )
                try action(arguments, console)
            }
            return 0
        } catch let error as UsageError {
            console.fail(error)
            return usageStatus
        } catch let error as CommandFailure {
            console.fail(error)
            return error.code.exitStatus
        } catch {
            let failure = CommandFailure(.failed, "\(error)", cause: error)
            console.fail(failure)
            return failure.code.exitStatus
        }
    }
}
