import TestSupport
import Testing

@testable import jwt

@Suite("ArgumentParser", .limitedConcurrency)
struct ArgumentParserTests {
    private static let name = Option<String>("name", short: "n", "A name")
    private static let file = Option<InputFile>("file", isRepeatable: true, "A file")
    private static let span = Option<TimeSpan>("span", "A span")
    private static let verbose = Flag("verbose", short: "v", "Say more")
    private static let quiet = Flag("quiet", short: "q", "Say less")

    private static let definition = CommandDefinition(
        name: "try",
        summary: "Try it",
        options: [name, file, span, verbose, quiet],
        operands: [
            OperandDefinition(name: "FIRST", isRequired: true, summary: "The first"),
            OperandDefinition(name: "SECOND", summary: "The second"),
        ]
    )

    private func parse(_ arguments: String...) throws(UsageError) -> ParsedArguments {
        try ArgumentParser(path: ["jwt", "try"], definition: Self.definition).parse(arguments)
    }

    private static func message(_ arguments: [String]) -> String? {
        do throws(UsageError) {
            _ = try ArgumentParser(path: ["jwt", "try"], definition: definition).parse(arguments)
            return nil
        } catch {
            return error.message
        }
    }

    @Test(
        "Accepts a value after its option or attached to it",
        arguments: [
            ["--name", "x"], ["--name=x"], ["-n", "x"], ["-nx"], ["-n=x"],
        ]
    )
    func values(option: [String]) throws {
        let parser = ArgumentParser(path: ["jwt"], definition: Self.definition)
        let before = try parser.parse(option + ["first"])
        let after = try parser.parse(["first"] + option)
        #expect(before.value(of: Self.name) == "x")
        #expect(after.value(of: Self.name) == "x")
        #expect(after.operands == ["first"])
    }

    @Test("Accepts an attached value that contains = or looks like an option")
    func attachedValues() throws {
        #expect(try parse("--file=-", "a").value(of: Self.file) == .standardInput)
        #expect(try parse("--name=a=b", "a").value(of: Self.name) == "a=b")
        #expect(try parse("--name=\u{301}b", "a").value(of: Self.name) == "\u{301}b")
        #expect(try parse("--name=--verbose", "a").value(of: Self.name) == "--verbose")
    }

    @Test("Accepts a value that starts with a dash and isn't an option")
    func dashedValues() throws {
        #expect(try parse("--name", "-", "a").value(of: Self.name) == "-")
        #expect(try parse("--name", "-5", "a").value(of: Self.name) == "-5")
    }

    @Test("Accepts combined flags, with an option and its value at the end")
    func joinedFlags() throws {
        let arguments = try parse("-vqnx", "a")
        #expect(arguments.contains(Self.verbose))
        #expect(arguments.contains(Self.quiet))
        #expect(arguments.value(of: Self.name) == "x")
    }

    @Test("Treats all arguments after -- as operands")
    func endOfOptions() throws {
        let arguments = try parse("--", "--name", "-v")
        #expect(arguments.operands == ["--name", "-v"])
        #expect(!arguments.contains(Self.verbose))
    }

    @Test("Treats a single dash as an operand")
    func dash() throws {
        #expect(try parse("-").operands == ["-"])
    }

    @Test("Keeps the order of repeated options")
    func repetition() throws {
        #expect(try parse("--file", "x", "--file=y", "a").values(of: Self.file).map(\.path) == ["x", "y"])
    }

    @Test(
        "Names a mistake and the most similar option, unless the text could be a secret",
        arguments: [
            ("--name --verbose a", "--name needs a value, but --verbose follows"),
            ("--name -v a", "--name needs a value, but --verbose follows"),
            ("--name --file=x a", "--name needs a value, but --file follows"),
            ("a --name", "--name needs a value: --name TEXT"), ("a -n", "--name needs a value: --name TEXT"),
            ("--name -- a", "--name needs a value: --name TEXT"),
            ("-v --verbose a", "--verbose can be given only once"),
            ("--name x -n y a", "--name can be given only once"), ("--verbose=yes a", "--verbose doesn't take a value"),
            ("--nmae x", "unknown option --nmae, did you mean --name?"),
            ("--verb", "unknown option --verb, did you mean --verbose?"), ("--zzzzzz", "unknown option --zzzzzz"),
            ("--zzzzzz=secret", "unknown option --zzzzzz"), ("--se.cr.et", "unknown option"),
            ("--" + String(repeating: "a", count: 33), "unknown option"), ("--na\u{1B}me", "unknown option"),
            ("-vz", "unknown option -z"), ("-\u{1B}", "unknown option -?"), ("", "FIRST is missing"),
            ("a b secret", "unexpected argument: expected only FIRST SECOND"),
        ]
    )
    func mistakes(line: String, message: String) {
        #expect(Self.message(line.split(separator: " ").map(String.init)) == message)
    }

    @Test("Reports operands of a command that takes only options")
    func optionsOnly() {
        let optionsOnly = ArgumentParser(path: ["jwt"], definition: CommandDefinition(name: "x", summary: "X"))
        #expect(throws: UsageError(path: ["jwt"], message: "unexpected argument: this command takes only options")) {
            try optionsOnly.parse(["secret"])
        }
    }

    @Test("Reports an invalid value")
    func typedValues() throws {
        #expect(
            throws: UsageError(
                path: ["jwt", "try"],
                message: "--span must be a duration of at most 100 years, such as 90, 90s, 5m, 2h, 7d, 1w or 1h30m"
            )
        ) {
            try parse("--span", "secret", "a")
        }
        #expect(try parse("a").value(of: Self.span) == nil)
        #expect(try parse("--span", "5m", "a").value(of: Self.span)?.seconds == 300)
    }

    @Test(
        "Recognizes --help and -h as options, and the single word help",
        arguments: [
            ("--help", true), ("--nonsense -h", true), ("--name=x -nx -v --help", true), ("help", true),
            ("-- --help", false), ("token help", false), ("--name --help", false), ("-vn -h", false),
            ("--span x -h", true), ("--name -- --help", false),
        ]
    )
    func help(line: String, asksForHelp: Bool) {
        let parser = ArgumentParser(path: ["jwt"], definition: Self.definition)
        let parsed = try? parser.parse(line.split(separator: " ").map(String.init))
        #expect(parsed?.contains(OptionDefinition.help) ?? false == asksForHelp)
    }
}

@Suite("HelpText", .limitedConcurrency)
struct HelpTextTests {
    private static let definition = CommandDefinition(
        name: "try",
        summary: "Try something",
        discussion: [String(repeating: "word ", count: 20) + "end."],
        options: [
            Option<String>("name", short: "n", "A name"),
            Option<String>("a-rather-long-name", isRepeatable: true, "Another name"),
            OptionDefinition.section("Depth", [Flag("deep", String(repeating: "word ", count: 12) + "end")]),
        ],
        operands: [OperandDefinition(name: "FILE", isRequired: true, summary: "A file")],
        examples: ["Try it": "jwt try -n x file"],
        exitCodes: [0: "Fine", 1: "Not fine"]
    )

    @Test("Shows every part of the definition")
    func wholeText() {
        #expect(
            HelpText(path: ["jwt", "try"], command: Self.definition).text == """
                Usage: jwt try [OPTIONS] FILE

                Try something.

                word word word word word word word word word word word word word word word word
                word word word word end.

                Arguments:
                  FILE                  A file

                Options:
                  -n, --name TEXT       A name
                  --a-rather-long-name TEXT
                                        Another name (repeatable)
                  -h, --help            Show this help

                Depth:
                  --deep                word word word word word word word word word word word
                                        word end

                Examples:
                  # Try it
                  jwt try -n x file

                Exit codes:
                  0   Fine
                  1   Not fine
                  64  The command line is invalid

                """
        )
    }

    @Test("Lists the commands of a group")
    func group() {
        let group = CommandDefinition(name: "jwt", summary: "Do things", subcommands: [Self.definition])
        #expect(
            HelpText(path: ["jwt"], command: group).text == """
                Usage: jwt COMMAND

                Do things.

                Commands:
                  try                   Try something

                Options:
                  -h, --help            Show this help

                Use “jwt COMMAND --help” for more about a command.

                """
        )
    }

    @Test(
        "Keeps the help of every command within 80 columns",
        arguments: CommandNode.all(in: Program.definition).map(\.words)
    )
    func width(words: String) throws {
        let node = try #require(CommandNode.all(in: Program.definition).first { $0.words == words })
        let lines = HelpText(path: node.path, command: node.command).text.split(separator: "\n")
        // Examples aren't wrapped.
        let examples = Set(node.command.examples.map { "  \($0.value)" })
        #expect(lines.filter { $0.count > 80 && !examples.contains(String($0)) } == [])
    }
}

@Suite("Invocation", .limitedConcurrency)
struct InvocationTests {
    private static let leaf = CommandDefinition(
        name: "leaf",
        summary: "Grow",
        options: [Option<String>("name", "A name"), Flag("quiet", short: "q", "Say less")],
        action: { _, _ in }
    )
    private static let root = CommandDefinition(
        name: "jwt",
        summary: "A tree",
        subcommands: [CommandDefinition(name: "branch", summary: "A branch", subcommands: [leaf]), leaf]
    )

    /// Describes the invocation.
    private func resolve(_ arguments: [String]) -> String {
        do throws(UsageError) {
            switch try Invocation(arguments, root: Self.root) {
            case .help(let command, let path): return "help on \(command.name): \(path.joined(separator: " "))"
            case .version: return "version"
            case .missingCommand(let command, let path):
                return "missing in \(command.name): \(path.joined(separator: " "))"
            case .run(_, let arguments): return "run \(arguments.path.joined(separator: " "))"
            }
        } catch {
            return error.line
        }
    }

    private static let help = "(see jwt --help)"
    private static let unknownLeaf = "jwt: unknown command laef, did you mean leaf? \(help)"
    private static let secret = String(repeating: "eyJ", count: 30)

    @Test(
        "Finds commands, help and the version at every depth, and names mistakes unless they could be secrets",
        arguments: [
            ("leaf", "run jwt leaf"), ("branch leaf --name=x", "run jwt branch leaf"), ("", "missing in jwt: jwt"),
            ("branch", "missing in branch: jwt branch"),
            // Help
            ("--help", "help on jwt: jwt"), ("-h", "help on jwt: jwt"), ("help", "help on jwt: jwt"),
            ("help leaf", "help on leaf: jwt leaf"), ("help branch leaf", "help on leaf: jwt branch leaf"),
            ("help --help", "help on jwt: jwt"), ("branch help leaf", "help on leaf: jwt branch leaf"),
            ("branch --help", "help on branch: jwt branch"), ("leaf help", "help on leaf: jwt leaf"),
            ("leaf --nonsense --help", "help on leaf: jwt leaf"), ("leaf -qh", "help on leaf: jwt leaf"),
            // Values of options that look like a request for help
            ("leaf --name --help", "jwt leaf: --name needs a value, but --help follows (see jwt leaf --help)"),
            ("leaf --name -h", "jwt leaf: --name needs a value, but --help follows (see jwt leaf --help)"),
            ("leaf --name=--help", "run jwt leaf"),
            // The version, only without a command
            ("--version", "version"),
            ("branch --version", "jwt branch: unknown option --version; commands: leaf (see jwt branch --help)"),
            // Unknown commands
            ("laef", unknownLeaf), ("help laef", unknownLeaf),
            ("zzz", "jwt: unknown command zzz; commands: branch, leaf \(help)"),
            ("branch laef", "jwt branch: unknown command laef, did you mean leaf? (see jwt branch --help)"),
            ("--zzz", "jwt: unknown option --zzz; commands: branch, leaf \(help)"),
            (secret, "jwt: the first argument is not a command; commands: branch, leaf \(help)"),
            ("--key=x", "jwt: the first argument is not an option; commands: branch, leaf \(help)"),
        ]
    )
    func lines(line: String, expected: String) {
        #expect(resolve(line.split(separator: " ").map(String.init)) == expected)
    }
}

@Suite("Suggestion", .limitedConcurrency)
struct SuggestionTests {
    @Test(
        "Suggests the most similar name",
        arguments: [
            ("verfiy", "verify"), ("sgin", "sign"), ("VERIFY", "verify"), ("dec", "decode"), ("keygne", "keygen"),
            ("deocde", "decode"),
        ]
    )
    func nearest(typed: String, meant: String) {
        #expect(Suggestion.nearest(to: typed, in: ["keygen", "sign", "verify", "decode"]) == meant)
    }

    @Test("Suggests nothing for a dissimilar name", arguments: ["", "x", "banana", "resign-all-tokens"])
    func far(typed: String) {
        #expect(Suggestion.nearest(to: typed, in: ["keygen", "sign", "verify", "decode"]) == nil)
    }

    @Test(
        "Counts insertions, deletions, replacements and swaps",
        arguments: [
            ("", "", 0), ("", "abc", 3), ("abc", "", 3), ("abc", "abc", 0), ("abc", "abd", 1), ("abc", "acb", 1),
            ("ab", "ba", 1),
            ("kitten", "sitting", 3),
        ]
    )
    func distance(first: String, second: String, expected: Int) {
        #expect(Suggestion.distance(Array(first), Array(second)) == expected)
    }
}
