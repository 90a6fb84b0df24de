import Foundation
import TestSupport
import Testing

@testable import jwt

@Suite("jwt completions and jwt manual", .limitedConcurrency)
struct CompletionTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.write("", to: "key.pem")
        try folder.write("", to: "keys.jwks")
    }

    @Test(
        "Completes commands, options, choices and files in bash",
        arguments: [
            ("jwt key j", "jwks"), ("jwt key jwks ", "add remove list --help"), ("jwt sign --key-e", "--key-env"),
            ("jwt sign --alg ES2", "ES256 ES256K"), ("jwt sign -k k", "key.pem keys.jwks"), ("jwt sign --sub ", ""),
            ("jwt key inspect key.", "key.pem"), ("jwt completions f", "fish"),
            ("jwt sign --sub key --for", "--format"),
            ("jwt dec", "decode decrypt"), ("jwt sd ", "issue present verify show --help"),
            ("jwt sd issue --hash sha-2", "sha-256"), ("jwt sd present --holder", ""),
            ("jwt keygen --out key.", "key.pem"), ("jwt http v", "verify"),
            ("jwt http verify key", "key.pem keys.jwks"),
            ("jwt request --signature-profile web", "web-bot-auth"), ("jwt request --http-signature key.", "key.pem"),
        ]
    )
    func bash(line: String, expected: String) throws {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        let script = """
            source <(jwt completions bash)
            COMP_WORDS=(\(words.map { "'\($0)'" }.joined(separator: " ")))
            COMP_CWORD=\(words.count - 1)
            _jwt
            IFS=' '; echo "${COMPREPLY[*]}"
            """
        try folder.write(script, to: ".complete")
        let result = try BuiltProgram.shell("bash .complete", in: folder)
        #expect(result.errors == "")
        #expect(result.output.split(whereSeparator: \.isWhitespace).sorted() == expected.split(separator: " ").sorted())
    }

    @Test("Includes every command and option in the scripts for all shells", arguments: ["bash", "zsh", "fish"])
    func complete(shell: String) throws {
        let result = try BuiltProgram.jwt.run("completions", shell)
        #expect(result.status == 0 && result.errors == "", "\(result)")
        for node in CommandNode.all(in: Program.definition) {
            let name = shell == "zsh" ? "_" + node.path.joined(separator: "_") + "()" : node.words
            #expect(result.output.contains(name))
            for option in node.command.allOptions {
                #expect(result.output.contains(shell == "fish" ? "-l \(option.longName)" : option.spelling))
            }
        }
    }

    @Test("Quotes text correctly for zsh and fish", arguments: ["zsh", "fish"])
    func quotes(shell: String) throws {
        let definition = CommandDefinition(
            name: "try",
            summary: "It's [odd]: a \\ b",
            options: [Option<String>("name", short: "n", value: "A:B", "It's [odd]: a \\ b")]
        )
        let root = CommandDefinition(name: "jwt", summary: "Do", subcommands: [definition])
        let script = shell == "zsh" ? ZshCompletion(root: root).script : FishCompletion(root: root).script
        let expected =
            shell == "zsh"
            ? #"'(-n --name)'{-n+,--name=}'[It'\''s \[odd\]\: a \\ b]:A\:B: '"#
            : #"-l name -s n -x -d 'It\'s [odd]: a \\ b'"#
        #expect(script.contains(expected), "\(script)")
    }

    @Test("Rejects an unknown shell and names the supported ones")
    func otherShell() throws {
        let result = try BuiltProgram.jwt.run("completions", "tcsh")
        let message = "jwt completions: SHELL must be one of bash, zsh, fish (see jwt completions --help)\n"
        #expect(result == .failure(64, message))
    }

    @Test("Includes every command, option and exit code in the manual, and escapes text for the formatter")
    func manual() throws {
        let result = try BuiltProgram.jwt.run("manual")
        #expect(result.status == 0)
        #expect(
            result.output.hasPrefix(
                ".TH JWT 1 \"\" \"jwt \(Program.version)\" \"User Commands\"\n.SH NAME\njwt \\- Create, verify"
            )
        )
        let requests: Set = [".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".I", ".nf", ".fi"]
        for line in result.output.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
            #expect(requests.contains(String(line.prefix { $0 != " " })), "\(line)")
        }
        #expect(result.output.utf8.allSatisfy { $0 < 0x80 })
        for node in CommandNode.all(in: Program.definition) where node.command.action != nil {
            #expect(result.output.contains("\n.SS \"\(node.words)"))
            for option in node.command.allOptions {
                #expect(result.output.contains("\\fB" + option.spelling.replacing("-", with: "\\-") + "\\fR"))
            }
        }
        for status in ["0", "1", "2", "64"] { #expect(result.output.contains("\n.TP\n.B \(status)\n")) }
    }

    @Test(
        "Formats the manual with groff without warnings",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/groff"))
    )
    func formatted() throws {
        // groff doesn't work with the runtime that the gate preloads to find leaks.
        let result = try BuiltProgram.shell("jwt manual | LD_PRELOAD= groff -man -Tascii -ww -P-c -P-b -P-u")
        #expect(result.errors == "")
        #expect(result.output.contains("jwt key convert [OPTIONS] [KEY]"))
    }
}
