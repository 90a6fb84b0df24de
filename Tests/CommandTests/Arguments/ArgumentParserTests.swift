import TestSupport
import Testing

@testable import jwt

@Suite("ArgumentParser", .limitedConcurrency)
struct ArgumentParserTests {
    private static let name = Option<NonEmptyText>("name", short: "n", "A name")
    private static let file = Option<InputFile>("file", isRepeatable: true, "A file")
    private static let span = Option<TimeSpan>("span", isRequired: true, "A span")
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

    private func message(_ arguments: String...) -> String? {
        do throws(UsageError) {
            _ = try ArgumentParser(path: ["jwt", "try"], definition: Self.definition).parse(arguments)
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
        #expect(try before.value(of: Self.name)?.text == "x")
        #expect(try after.value(of: Self.name)?.text == "x")
        #expect(after.operands == ["first"])
    }

    @Test("Accepts an attached value that contains = or looks like an option")
    func attachedValues() throws {
        #expect(try parse("--file=-", "a").value(of: Self.file) == .standardInput)
        #expect(try parse("--name=a=b", "a").value(of: Self.name)?.text == "a=b")
        #expect(try parse("--name=--verbose", "a").value(of: Self.name)?.text == "--verbose")
    }

    @Test("Accepts a value that starts with a dash and isn't an option")
    func dashedValues() throws {
        #expect(try parse("--name", "-", "a").value(of: Self.name)?.text == "-")
        #expect(try parse("--name", "-5", "a").value(of: Self.name)?.text == "-5")
    }

    @Test(
        "Reports a missing value if an option follows",
        arguments: ["--verbose", "-v", "--file=x"]
    )
    func forgottenValues(next: String) {
        let name = next == "--file=x" ? "--file" : "--verbose"
        #expect(message("--name", next, "a") == "--name needs a value, but \(name) follows")
    }

    @Test("Reports a missing value at the end and before --")
    func missingValues() {
        #expect(message("a", "--name") == "--name needs a value: --name TEXT")
        #expect(message("--name", "--", "a") == "--name needs a value: --name TEXT")
        #expect(message("a", "-n") == "--name needs a value: --name TEXT")
    }

    @Test("Accepts combined flags, with an option and its value at the end")
    func joinedFlags() throws {
        let arguments = try parse("-vqnx", "a")
        #expect(arguments.contains(Self.verbose))
        #expect(arguments.contains(Self.quiet))
        #expect(try arguments.value(of: Self.name)?.text == "x")
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

    @Test("Keeps the order of repeated options, and rejects other repetitions")
    func repetition() throws {
        #expect(try parse("--file", "x", "--file=y", "a").values(of: Self.file).map(\.path) == ["x", "y"])
        #expect(message("--name", "x", "-n", "y", "a") == "--name can be given only once")
        #expect(message("-v", "--verbose", "a") == "--verbose can be given only once")
    }

    @Test("Rejects a value for a flag")
    func flagWithValue() {
        #expect(message("--verbose=yes", "a") == "--verbose doesn't take a value")
    }

    @Test("Names an unknown option and the most similar one, unless the text could be a secret")
    func unknownOptions() {
        #expect(message("--nmae", "x") == "unknown option --nmae, did you mean --name?")
        #expect(message("--verb") == "unknown option --verb, did you mean --verbose?")
        #expect(message("--zzzzzz") == "unknown option --zzzzzz")
        #expect(message("--zzzzzz=secret") == "unknown option --zzzzzz")
        #expect(message("--se.cr.et") == "unknown option")
        #expect(message("--" + String(repeating: "a", count: 33)) == "unknown option")
        #expect(message("--na\u{1B}me") == "unknown option")
        #expect(message("-vz") == "unknown option -z")
        #expect(message("-\u{1B}") == "unknown option -?")
    }

    @Test("Reports missing and extra operands without repeating them")
    func operandCount() {
        #expect(message() == "FIRST is missing")
        #expect(message("a", "b", "secret") == "unexpected argument: expected only FIRST SECOND")
        let optionsOnly = ArgumentParser(path: ["jwt"], definition: CommandDefinition(name: "x", summary: "X"))
        #expect(throws: UsageError(path: ["jwt"], message: "unexpected argument: this command takes only options")) {
            try optionsOnly.parse(["secret"])
        }
    }

    @Test("Reports a missing required option and an invalid value")
    func typedValues() throws {
        let arguments = try parse("a")
        #expect(throws: UsageError(path: ["jwt", "try"], message: "--span DURATION is required")) {
            try arguments.requiredValue(of: Self.span)
        }
        let wrong = try parse("--span", "secret", "a")
        #expect(
            throws: UsageError(
                path: ["jwt", "try"],
                message: "--span must be a duration of at most 100 years, such as 90, 90s, 5m, 2h, 7d, 1w or 1h30m"
            )
        ) {
            try wrong.requiredValue(of: Self.span)
        }
        #expect(try parse("--span", "5m", "a").requiredValue(of: Self.span).seconds == 300)
    }

    @Test("Recognizes --help and -h as options, and the single word help")
    func help() {
        let parser = ArgumentParser(path: ["jwt"], definition: Self.definition)
        #expect(parser.asksForHelp(["--help"]))
        #expect(parser.asksForHelp(["--nonsense", "-h"]))
        #expect(parser.asksForHelp(["--name=x", "-nx", "-v", "--help"]))
        #expect(parser.asksForHelp(["help"]))
        #expect(!parser.asksForHelp(["--", "--help"]))
        #expect(!parser.asksForHelp(["token", "help"]))
        #expect(!parser.asksForHelp(["--name", "--help"]))
        #expect(!parser.asksForHelp(["-vn", "-h"]))
    }
}
