internal import CProcess
import Glibc

@main
enum Program {
    static let name = "jwt"
    static let version = "0.1.0"

    static let usageStatus: Int32 = 64

    /// The commands by name.
    ///
    /// Each definition takes a while to create, so only the one that the first argument names is
    /// created, unless all are listed.
    private static let commands: KeyValuePairs<String, @Sendable () -> CommandDefinition> = [
        "keygen": { KeygenCommand.definition }, "sign": { SignCommand.definition },
        "verify": { VerifyCommand.definition }, "decode": { DecodeCommand.definition },
        "encrypt": { EncryptCommand.definition }, "decrypt": { DecryptCommand.definition },
        "key": { KeyGroup.definition }, "token": { TokenCommand.definition }, "request": { RequestCommand.definition },
        "dpop": { DPoPCommand.definition }, "jws": { JWSGroup.definition }, "sd": { SDGroup.definition },
        "http": { HTTPGroup.definition }, "pin": { PinCommand.definition }, "whoami": { WhoamiCommand.definition },
        "completions": { CompletionsCommand.definition }, "manual": { ManualCommand.definition },
    ]

    static let definition = definition(with: commands.map { $1() })

    /// Returns the definition for a command line, which has all commands if the first argument
    /// names none, and doesn't ask for the version.
    static func definition(for arguments: [String]) -> CommandDefinition {
        if let first = arguments.first, Invocation.asksForVersion(first) { return definition(with: []) }
        guard let command = commands.first(where: { $0.key == arguments.first }) else { return definition }
        return definition(with: [command.value()])
    }

    private static func definition(with subcommands: [CommandDefinition]) -> CommandDefinition {
        CommandDefinition(
            name: name,
            summary: "Create, verify, encrypt and decrypt JSON Web Tokens",
            discussion: [
                """
                Results go to standard output and everything else to standard error, so the commands work in pipes. For \
                a FILE, - means standard input. Secrets come from files, standard input and environment variables, never \
                from the command line, which every user of the machine can see.
                """
            ],
            options: [Flag("version", "Print version")],
            examples: [
                "Generate a key": "jwt keygen --alg ES256 --out key.pem",
                "Sign a token with it": "jwt sign --key key.pem --sub alice --expires-in 1h > token",
                "Verify the token and print its claims": "jwt verify --key key.pem < token",
                "Print a token's contents without verifying it": "jwt decode < token",
            ],
            exitCodes: [
                0: "Success",
                1: "A token, signature or server was rejected; see error.code with --json",
                2: "Something else failed, such as a file, a key or a closed pipe",
            ],
            subcommands: subcommands
        )
    }

    static func main() {
        ProcessProtection.begin()
        FileDescriptor.reserveStandardNumbers()
        TemporaryFiles.removeOnSignals()
        exit(run(arguments()))
    }

    /// Returns the arguments, with `nil` for an argument that isn't UTF-8.
    ///
    /// `CommandLine.arguments` repairs such an argument, so the command would use a different text
    /// or file than the user specified. It's also empty without /proc.
    private static func arguments() -> [String?] {
        (0..<cprocess_argument_count()).dropFirst().map { index in
            unsafe cprocess_argument(index).flatMap { unsafe String(validatingCString: $0) }
        }
    }

    private static func run(_ texts: [String?]) -> Int32 {
        // Honor --json even if the rest of the command line is invalid.
        let arguments = texts.compactMap(\.self)
        let writesJSON = arguments.prefix { $0 != "--" }.contains(OptionDefinition.json.spelling)
        var console = Console(prefix: name, writesJSON: writesJSON)
        do {
            if let index = texts.firstIndex(of: nil) {
                throw UsageError(
                    path: [name],
                    message: "argument \(index + 1) isn't valid UTF-8; pass a file with such a name on standard input"
                )
            }
            switch try Invocation(arguments, root: definition(for: arguments)) {
            case .help(let command, let path):
                try console.print(HelpText(path: path, command: command).text, terminator: "")
            case .version:
                try console.print("\(name) \(version)")
            case .missingCommand(let command, let path):
                console.explain(HelpText(path: path, command: command).text)
                return usageStatus
            case .run(let action, let arguments):
                console = Console(
                    prefix: arguments.path.joined(separator: " "),
                    writesJSON: arguments.contains(OptionDefinition.json)
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
            console.fail(CommandFailure(.failed, (error as? any DescribedError)?.message ?? "\(error)", cause: error))
            return CommandFailure.Code.failed.exitStatus
        }
    }
}

enum ProcessProtection {
    /// Protects the process, and must be called before the process reads secrets.
    ///
    /// Core dumps would contain keys and tokens. The limit stops the kernel from writing one.
    /// Because the process isn't dumpable, the kernel doesn't pass it to a crash reporter either,
    /// which the limit alone doesn't prevent. Other processes of the same user can't attach to it
    /// or read its memory.
    static func begin() {
        _ = cprocess_forbid_dumps()
        // Swift's backtraces print registers and the memory around them, which can contain parts of
        // keys and tokens.
        for number in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGTRAP] where !isIgnored(number) {
            signal(number, SIG_DFL)
        }
        // Ignore these signals, so that write(2) fails instead and the command can clean up and
        // report the error.
        for number in [SIGPIPE, SIGXFSZ] { signal(number, SIG_IGN) }
        var limit = rlimit(rlim_cur: 0, rlim_max: 0)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
    }

    static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard unsafe sigaction(number, nil, &action) == 0 else { return false }
        let handler = unsafe action.__sigaction_handler.sa_handler
        return unsafe unsafeBitCast(handler, to: Int.self) == 1  // reason: a pointer, and SIG_IGN is 1
    }
}
