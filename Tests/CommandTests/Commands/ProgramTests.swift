import Testing

@testable import jwt

@Suite("jwt")
struct ProgramTests {
    private static let help = """
        Usage: jwt COMMAND [OPTIONS]

        Make, sign, check and read JSON Web Tokens.

        Results go to standard output and everything else to standard error, so the
        commands work in pipes. Where a FILE is asked for, - means standard input.

        Commands:
          keygen                Make a private key
          sign                  Make a signed token
          verify                Check a token and print its claims
          decode                Show what is in a token, UNVERIFIED
          pin                   Print the pins of a server or a certificate

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
          1   The token or the server was rejected
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

    @Test("every command has help, however it is asked for", arguments: ["keygen", "sign", "verify", "decode", "pin"])
    func commandHelp(name: String) throws {
        let command = try #require(Program.definition.subcommands.first { $0.name == name })
        let expected = HelpText(path: ["jwt", name], command: command).text
        #expect(expected.contains("\nExamples:\n"))
        #expect(expected.contains("\nExit codes:\n"))
        for arguments in [[name, "--help"], [name, "-h"], [name, "help"], ["help", name]] {
            let result = try BuiltProgram.jwt.run(arguments[0], arguments[1])
            #expect(result == ProcessResult(status: 0, output: expected, errors: ""))
        }
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
                == "jwt: the first argument is not a command; commands: keygen, sign, verify, decode, pin (see jwt --help)\n"
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
