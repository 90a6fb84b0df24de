import TestSupport
import Testing

@testable import jwt

@Suite("jwt", .serialized, .limitedConcurrency)
struct ProgramTests {
    private static let help = """
        Usage: jwt COMMAND [OPTIONS]

        Make, sign, check and read JSON Web Tokens.

        Results go to standard output and everything else to standard error, so the
        commands work in pipes. Where a FILE is asked for, - means standard input.
        Secrets come from files, standard input and environment variables, never from
        the command line, which every user of the machine can see.

        Commands:
          keygen                Make a private key
          sign                  Make a signed token
          verify                Check a token and print its claims
          decode                Show what is in a token, UNVERIFIED
          key                   Convert, inspect and publish keys
          token                 Get an access token from an authorization server
          request               Send an HTTP request with an access token
          dpop                  Make a DPoP proof for one request
          jws                   Sign and verify payloads that are no claims
          pin                   Print the pins of a server or a certificate
          completions           Print the completions for a shell
          manual                Print the manual page

        Options:
          --version             Show the version
          -h, --help            Show this help

        Examples:
          # Make a key
          jwt keygen --alg ES256 --out key.pem
          # Sign a token with it
          jwt sign --key key.pem --sub alice --expires-in 1h > token
          # Check the token and show its claims
          jwt verify --key key.pem < token
          # Show what is in a token without checking it
          jwt decode < token

        Exit codes:
          0   Success
          1   A token, a signature or a server was rejected; --json says why, in
              error.code
          2   Something else failed: a file, a key, a closed pipe
          64  The command line is wrong

        “jwt COMMAND --help” explains a command.

        """

    @Test("help goes to standard output", arguments: ["--help", "-h", "help"])
    func help(word: String) throws {
        #expect(try BuiltProgram.jwt.run(word) == ProcessResult(status: 0, output: Self.help, errors: ""))
    }

    @Test("without a command, help goes to standard error and the exit code is 64")
    func noCommand() throws {
        #expect(try BuiltProgram.jwt.run() == ProcessResult(status: 64, output: "", errors: Self.help))
    }

    @Test("the version is shown")
    func version() throws {
        #expect(try BuiltProgram.jwt.run("--version") == ProcessResult(status: 0, output: "jwt 0.1.0\n", errors: ""))
    }

    @Test(
        "every command has help with examples and exit codes, however it is asked for",
        arguments: CommandNode.all(in: Program.definition).dropFirst().map(\.words)
    )
    func commandHelp(words: String) throws {
        let node = try #require(CommandNode.all(in: Program.definition).first { $0.words == words })
        let expected = HelpText(path: node.path, command: node.command).text
        #expect(expected.contains("\nExamples:\n"))
        #expect(node.command.action == nil || expected.contains("\nExit codes:\n"))
        #expect(node.command.action == nil || expected.contains("\n  --json "))
        let path = Array(node.path.dropFirst())
        for arguments in [path + ["--help"], path + ["-h"], path + ["help"], ["help"] + path] {
            #expect(try BuiltProgram.jwt.run(arguments) == ProcessResult(status: 0, output: expected, errors: ""))
        }
    }

    @Test(
        "every option that an example of the help uses exists",
        arguments: CommandNode.all(in: Program.definition).map(\.words)
    )
    func examples(words: String) throws {
        let nodes = CommandNode.all(in: Program.definition)
        let node = try #require(nodes.first { $0.words == words })
        for example in node.command.examples {
            // Each call of the program is checked by itself, as far as its options go.
            for call in example.line.split(separator: "jwt ").dropFirst(example.line.hasPrefix("jwt ") ? 0 : 1) {
                let tokens = call.prefix { !"|)&<>;#".contains($0) }.split(separator: " ").map(String.init)
                let commands = nodes.filter { Array($0.path.dropFirst()) == Array(tokens.prefix($0.path.count - 1)) }
                let command = try #require(commands.max { $0.path.count < $1.path.count }).command
                for token in tokens where token.hasPrefix("--") {
                    let name = token.dropFirst(2).prefix { $0 != "=" }
                    #expect(command.allOptions.contains { $0.isNamed(name) }, "\(example.line): \(token)")
                }
            }
        }
    }

    @Test("a mistyped command of a group gets a suggestion, a missing one the group's help")
    func groups() throws {
        let mistyped = try BuiltProgram.jwt.run("key", "convrt", "x")
        let message = "jwt key: unknown command convrt, did you mean convert? (see jwt key --help)\n"
        #expect(mistyped == ProcessResult(status: 64, output: "", errors: message))
        let missing = try BuiltProgram.jwt.run("key", "jwks")
        let node = try #require(CommandNode.all(in: Program.definition).first { $0.words == "jwt key jwks" })
        let help = HelpText(path: node.path, command: node.command).text
        #expect(missing == ProcessResult(status: 64, output: "", errors: help))
    }

    @Test(
        "an argument that isn't UTF-8 is refused, wherever it stands",
        arguments: [
            (#"sign --key key --sub "$(printf 'a\377')""#, 5), (#"sign --key key --sub="$(printf '\303')""#, 4),
            (#"verify --key "$(printf 'k\351y')" x"#, 3), (#"decode "$(printf 'a.b.\377')""#, 2),
            (#""$(printf '\300\200')""#, 1), (#"sign --help "$(printf '\355\240\200')""#, 3),
            (#"keygen --alg ES256 --out "$(printf '\377')""#, 5), (#"decode -- "$(printf '\364\220\200\200')""#, 3),
        ]
    )
    func notUTF8(line: String, position: Int) throws {
        let folder = try TemporaryFolder()
        let message = "argument \(position) is not text in UTF-8; a file of such a name can be standard input"
        let plain = try BuiltProgram.shell("jwt \(line)", in: folder)
        #expect(plain == ProcessResult(status: 64, output: "", errors: "jwt: \(message) (see jwt --help)\n"))
        let json = try BuiltProgram.shell(
            "set -- \(line); command=$1; shift; jwt \"$command\" --json \"$@\"",
            in: folder
        )
        #expect(json.status == 64 && json.output == "")
        #expect(json.errors.hasPrefix(#"{"error":{"code":"usage","message":"argument "#))
        #expect(try folder.names() == [])
    }

    @Test("a mistyped command gets a suggestion")
    func mistypedCommand() throws {
        let result = try BuiltProgram.jwt.run("verfiy", "--key", "x")
        #expect(result.status == 64)
        #expect(result.output == "")
        #expect(result.errors == "jwt: unknown command verfiy, did you mean verify? (see jwt --help)\n")
    }

    @Test("a token in place of a command is not repeated")
    func tokenAsCommand() throws {
        let result = try BuiltProgram.jwt.run(try SampleTokens.es256Token())
        #expect(result.status == 64)
        #expect(
            result.errors
                == "jwt: the first argument is not a command; commands: keygen, sign, verify, decode, key, token, request, dpop, jws, pin, completions, manual (see jwt --help)\n"
        )
    }

    @Test(
        "a mistyped option gets a suggestion",
        arguments: [
            ("keygen", "--aIg", "alg"), ("sign", "--expire-in", "expires-in"), ("verify", "--leway", "leeway"),
            ("decode", "--hepl", "help"),
        ]
    )
    func mistypedOption(command: String, option: String, meant: String) throws {
        let result = try BuiltProgram.jwt.run(command, option, "secret")
        #expect(result.status == 64)
        #expect(result.output == "")
        #expect(
            result.errors
                == "jwt \(command): unknown option \(option), did you mean --\(meant)? (see jwt \(command) --help)\n"
        )
    }
}
