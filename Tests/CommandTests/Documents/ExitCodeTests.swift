import Foundation
import TestSupport
import Testing

@testable import jwt

/// The page of exit codes, with the lines that prepare a folder for its examples.
private struct ExitCodePage {
    struct Row: Hashable {
        let command: String
        let code: Int32
        let meaning: String
        var example = ""
    }

    let setup: String
    let rows: [Row]

    init() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Docs/CommandExitCodes.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let blocks = text.components(separatedBy: "```")
        setup = String((blocks.count > 1 ? blocks[1] : "").dropFirst("sh\n".count))
        rows = text.split(separator: "\n").filter { $0.hasPrefix("| `jwt") }.map { line in
            let cells = line.replacing("\\|", with: "\u{0}").split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.replacing("\u{0}", with: "|").trimmingCharacters(in: .whitespaces) }
            return Row(
                command: cells[1].replacing("`", with: ""),
                code: Int32(cells[2]) ?? -1,
                meaning: cells[3],
                example: cells[4].trimmingCharacters(in: ["`"])
            )
        }
    }
}

@Suite("Exit codes", .limitedConcurrency)
struct ExitCodeTests {
    @Test("The page has every exit code of each command, with its meaning in the help")
    func table() throws {
        let commands = CommandNode.all(in: Program.definition).filter { $0.command.action != nil }
        let expected = commands.flatMap { node in
            node.command.exitStatuses.map { ExitCodePage.Row(command: node.words, code: $0.code, meaning: $0.meaning) }
        }
        let rows = try ExitCodePage().rows.map {
            ExitCodePage.Row(command: $0.command, code: $0.code, meaning: $0.meaning)
        }
        #expect(rows == expected)
    }

    @Test("Each example has its exit code")
    func examples() throws {
        let page = try ExitCodePage()
        let prepared = try TemporaryFolder()
        let setup = try BuiltProgram.shell("set -e; \(page.setup)", in: prepared)
        try #require(setup.status == 0, "\(setup)")
        let rows = page.rows.filter { !$0.example.isEmpty }
        #expect(rows.count > 80)
        for row in rows {
            let folder = try TemporaryFolder()
            let script = "cp -p '\(prepared.path)'/* . && \(row.example)"
            let result = try BuiltProgram.shell(script, environment: ["HOME": folder.path], in: folder)
            #expect(result.status == row.code, "\(row.example): \(result)")
        }
    }
}

@Suite("One-liners", .limitedConcurrency)
struct OneLinerTests {
    @Test("The lines of the page work, except for those that need a server")
    func lines() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Docs/CommandFromOtherTools.md")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { line -> String? in
            let cells = line.replacing("\\|", with: "\u{0}").split(separator: "|")
            guard line.hasPrefix("| "), cells.count == 6, cells[3].contains("`jwt ") else { return nil }
            return cells[3].trimmingCharacters(in: [" ", "`"]).replacing("\u{0}", with: "|")
        }
        #expect(lines.count == 20)
        let folder = try TemporaryFolder()
        let setup = """
            jwt keygen --alg ES256 --out key.pem --public-out public.pem; echo '{"sub":"ada"}' > claims.json; echo a > file
            jwt keygen --use enc --format jwk --out enc.jwk --public-out enc.pub; jwt key jwks add keys.jwks key.pem
            jwt sign --key key.pem --kid auto --iss me --aud api --sub ada --expires-in 5m > token
            jwt jws sign --key key.pem file > file.jws; jwt encrypt --key enc.pub file > file.jwe
            """
        try #require(try BuiltProgram.shell("set -e; \(setup)", in: folder).status == 0)
        let secret = String(repeating: "s", count: 32)
        for line in lines where !line.contains("https://") {
            let result = try BuiltProgram.shell(line, environment: ["SECRET": secret], in: folder)
            #expect(result.status == 0 && !result.errors.contains("error"), "\(line): \(result)")
        }
    }
}

@Suite("The help", .limitedConcurrency)
struct HelpTests {
    @Test("Fits 80 columns", arguments: CommandNode.all(in: Program.definition).map(\.words))
    func width(words: String) throws {
        let node = try #require(CommandNode.all(in: Program.definition).first { $0.words == words })
        for line in HelpText(path: node.path, command: node.command).text.split(separator: "\n") {
            #expect(line.count <= 80, "\(line)")
        }
    }

    @Test(
        "Describes a command on two screens of 24 lines, and the rest in the manual",
        arguments: [("request", "retry"), ("token", "store-user")]
    )
    func screens(command: String, option: String) throws {
        let help = try BuiltProgram.jwt.run(command, "--help").output
        #expect(help.split(separator: "\n", omittingEmptySubsequences: false).count - 1 <= 48, "\(help)")
        #expect(help.contains("\nThe manual has all options: jwt manual | man -l -\n"))
        #expect(!help.contains("--" + option))
    }

    @Test("Describes all options, the environment and the files in the manual")
    func manual() throws {
        let manual = try BuiltProgram.jwt.run("manual").output
        for text in ["\\-\\-retry", "\\-\\-store\\-user", "SH ENVIRONMENT", "https_proxy", "SH FILES", "config.json"] {
            #expect(manual.contains(text), "\(text)")
        }
    }

    @Test(
        "Continues a wide command line on another line",
        arguments: [
            ("jwt a b", "jwt a b"),
            (
                "jwt \(String(repeating: "a", count: 60)) 'b c d e f g'",
                "jwt \(String(repeating: "a", count: 60)) \\\n    'b c d e f g'"
            ),
        ]
    )
    func commandLine(line: String, expected: String) {
        #expect(HelpText.commandLine(line) == expected)
    }

    @Test(
        "Creates the definition of each command from its name alone",
        arguments: Program.definition.subcommands.map(\.name)
    )
    func single(name: String) throws {
        let command = try #require(Program.definition(for: [name, "x"]).subcommands.first)
        let all = try #require(Program.definition.subcommands.first { $0.name == name })
        #expect(Program.definition(for: [name]).subcommands.count == 1)
        #expect(
            HelpText(path: ["jwt", name], command: command).text == HelpText(path: ["jwt", name], command: all).text
        )
        #expect(Program.definition(for: ["x", name]).subcommands.count == Program.definition.subcommands.count)
    }

    @Test(
        "Gives each option of a command a summary, and names that no other has",
        arguments: CommandNode.all(in: Program.definition).map(\.words)
    )
    func names(words: String) throws {
        let node = try #require(CommandNode.all(in: Program.definition).first { $0.words == words })
        let options = node.command.allOptions
        // A flag and an option can share a name, for a password that is typed or not.
        let names = options.flatMap { [$0.longName] + $0.aliases }
        #expect(Set(names).count == names.count, "\(names.filter { name in names.count { $0 == name } > 1 })")
        #expect(options.allSatisfy { !$0.summary.isEmpty })
        let letters = options.compactMap(\.shortName)
        #expect(Set(letters).count == letters.count)
    }

    @Test(
        "Suggests our commands for those of other tools",
        arguments: [
            ("encode", "sign"), ("inspect", "decode"), ("validate", "verify"), ("generate", "keygen"),
            ("curl", "request"), ("parse", "decode"), ("check", "verify"), ("issue", "sign"), ("jwk", "key"),
        ]
    )
    func foreignCommand(typed: String, ours: String) throws {
        let result = try BuiltProgram.jwt.run(typed, "x")
        #expect(result == .failure(64, "jwt: unknown command \(typed), did you mean \(ours)? (see jwt --help)\n"))
    }

    @Test("Prints the version", arguments: ["-V", "version", "--version"])
    func version(word: String) throws {
        #expect(try BuiltProgram.jwt.run(word) == .success("jwt \(Program.version)\n"))
    }
}
