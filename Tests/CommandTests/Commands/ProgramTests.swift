import TestSupport
import Testing

@testable import jwt

@Suite("jwt", .limitedConcurrency)
struct ProgramTests {
    private static let help = """
        Usage: jwt COMMAND [OPTIONS]

        Create, verify, encrypt and decrypt JSON Web Tokens.

        Results go to standard output and everything else to standard error, so the
        commands work in pipes. For a FILE, - means standard input. Secrets come from
        files, standard input and environment variables, never from the command line,
        which every user of the machine can see.

        Commands:
          keygen                Generate a private key
          sign                  Create a signed token
          verify                Verify a token and print its claims
          decode                Print a token's contents, UNVERIFIED
          encrypt               Encrypt claims, a signed token or any content
          decrypt               Decrypt a token, and verify the signed token inside
          key                   Convert, inspect and publish keys
          token                 Get an access token from an authorization server
          request               Send an HTTP request with an access token
          dpop                  Create a DPoP proof for one request
          jws                   Sign and verify arbitrary payloads
          sd                    Issue, present and verify SD-JWTs
          http                  Verify signed HTTP messages
          pin                   Print the pins of a server or a certificate
          whoami                Show the identities that the platform offers
          completions           Print the completion script for a shell
          manual                Print the manual page

        Options:
          --version             Print version
          -h, --help            Show this help

        Examples:
          # Generate a key
          jwt keygen --alg ES256 --out key.pem
          # Sign a token with it
          jwt sign --key key.pem --sub alice --expires-in 1h > token
          # Verify the token and print its claims
          jwt verify --key key.pem < token
          # Print a token's contents without verifying it
          jwt decode < token

        Exit codes:
          0   Success
          1   A token, signature or server was rejected; see error.code with --json
          2   Something else failed, such as a file, a key or a closed pipe
          64  The command line is invalid

        Use “jwt COMMAND --help” for more about a command.

        """

    @Test("Prints help on standard output", arguments: ["--help", "-h", "help"])
    func help(word: String) throws {
        #expect(try BuiltProgram.jwt.run(word) == .success(Self.help))
    }

    @Test("Prints help on standard error and exits with 64 without a command")
    func noCommand() throws {
        #expect(try BuiltProgram.jwt.run() == .failure(64, Self.help))
    }

    @Test("Prints the version")
    func version() throws {
        let expected = ProcessResult.success("jwt \(Program.version)\n")
        #expect(try BuiltProgram.jwt.run("--version") == expected)
    }

    @Test(
        "Prints help with examples and exit codes for every command",
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
            #expect(try BuiltProgram.jwt.run(arguments) == .success(expected))
        }
    }

    @Test(
        "Uses only existing options in the examples of the help",
        arguments: CommandNode.all(in: Program.definition).map(\.words)
    )
    func examples(words: String) throws {
        let nodes = CommandNode.all(in: Program.definition)
        let node = try #require(nodes.first { $0.words == words })
        for (_, line) in node.command.examples {
            // Check the options of each call in a pipe.
            for call in line.split(separator: "jwt ").dropFirst(line.hasPrefix("jwt ") ? 0 : 1) {
                let tokens = call.prefix { !"|)&<>;#".contains($0) }.split(separator: " ").map(String.init)
                let commands = nodes.filter { Array($0.path.dropFirst()) == Array(tokens.prefix($0.path.count - 1)) }
                let command = try #require(commands.max { $0.path.count < $1.path.count }).command
                for token in tokens where token.hasPrefix("--") {
                    let name = token.dropFirst(2).prefix { $0 != "=" }
                    #expect(command.allOptions.contains { $0.isNamed(name) }, "\(line): \(token)")
                }
            }
        }
    }

    @Test("Suggests a command of a group, and prints the group's help without a command")
    func groups() throws {
        let mistyped = try BuiltProgram.jwt.run("key", "convrt", "x")
        let message = "jwt key: unknown command convrt, did you mean convert? (see jwt key --help)\n"
        #expect(mistyped == .failure(64, message))
        let missing = try BuiltProgram.jwt.run("key", "jwks")
        let node = try #require(CommandNode.all(in: Program.definition).first { $0.words == "jwt key jwks" })
        let help = HelpText(path: node.path, command: node.command).text
        #expect(missing == .failure(64, help))
    }

    @Test(
        "Rejects an argument that isn't UTF-8 in any position",
        .shows("X5"),
        arguments: [
            (#"sign --key key --sub "$(printf 'a\377')""#, 5), (#"sign --key key --sub="$(printf '\303')""#, 4),
            (#"verify --key "$(printf 'k\351y')" x"#, 3), (#"decode "$(printf 'a.b.\377')""#, 2),
            (#""$(printf '\300\200')""#, 1), (#"sign --help "$(printf '\355\240\200')""#, 3),
            (#"keygen --alg ES256 --out "$(printf '\377')""#, 5), (#"decode -- "$(printf '\364\220\200\200')""#, 3),
        ]
    )
    func notUTF8(line: String, position: Int) throws {
        let folder = try TemporaryFolder()
        let message = "argument \(position) isn't valid UTF-8; pass a file with such a name on standard input"
        let plain = try BuiltProgram.shell("jwt \(line)", in: folder)
        #expect(plain == .failure(64, "jwt: \(message) (see jwt --help)\n"))
        let json = try BuiltProgram.shell(
            "set -- \(line); command=$1; shift; jwt \"$command\" --json \"$@\"",
            in: folder
        )
        #expect(json.fails(64, #"{"error":{"code":"usage","message":"argument "#), "\(json)")
        #expect(try folder.names() == [])
    }

    @Test("Suggests a command")
    func mistypedCommand() throws {
        let result = try BuiltProgram.jwt.run("verfiy", "--key", "x")
        #expect(result == .failure(64, "jwt: unknown command verfiy, did you mean verify? (see jwt --help)\n"))
    }

    @Test("Doesn't repeat a token in place of a command")
    func tokenAsCommand() throws {
        let result = try BuiltProgram.jwt.run(try SampleTokens.es256Token())
        #expect(result.status == 64)
        #expect(
            result.errors
                == "jwt: the first argument is not a command; commands: keygen, sign, verify, decode, encrypt, decrypt, key, token, request, dpop, jws, sd, http, pin, whoami, completions, manual (see jwt --help)\n"
        )
    }

    @Test(
        "Suggests an option",
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
