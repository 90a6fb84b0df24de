import TestSupport
import Testing

@testable import jwt

@Suite("Invocation", .limitedConcurrency)
struct InvocationTests {
    private static let leaf = CommandDefinition(
        name: "leaf",
        summary: "Grow",
        options: [Option<NonEmptyText>("name", "A name"), Flag("quiet", short: "q", "Say less")],
        action: { _, _ in }
    )
    private static let root = CommandDefinition(
        name: "jwt",
        summary: "A tree",
        subcommands: [CommandDefinition(name: "branch", summary: "A branch", subcommands: [leaf]), leaf]
    )

    /// Describes the invocation.
    private func resolve(_ arguments: String...) -> String {
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

    @Test("Finds commands at every depth")
    func commands() {
        #expect(resolve("leaf") == "run jwt leaf")
        #expect(resolve("branch", "leaf", "--name=x") == "run jwt branch leaf")
        #expect(resolve() == "missing in jwt: jwt")
        #expect(resolve("branch") == "missing in branch: jwt branch")
    }

    @Test("Shows help for --help, -h and help at every depth")
    func help() {
        #expect(resolve("--help") == "help on jwt: jwt")
        #expect(resolve("-h") == "help on jwt: jwt")
        #expect(resolve("help") == "help on jwt: jwt")
        #expect(resolve("help", "leaf") == "help on leaf: jwt leaf")
        #expect(resolve("help", "branch", "leaf") == "help on leaf: jwt branch leaf")
        #expect(resolve("help", "--help") == "help on jwt: jwt")
        #expect(resolve("branch", "help", "leaf") == "help on leaf: jwt branch leaf")
        #expect(resolve("branch", "--help") == "help on branch: jwt branch")
        #expect(resolve("leaf", "help") == "help on leaf: jwt leaf")
        #expect(resolve("leaf", "--nonsense", "--help") == "help on leaf: jwt leaf")
        #expect(resolve("leaf", "-qh") == "help on leaf: jwt leaf")
    }

    @Test("Doesn't take an option's value for a help request")
    func helpAsValue() {
        let error = "jwt leaf: --name needs a value, but --help follows (see jwt leaf --help)"
        #expect(resolve("leaf", "--name", "--help") == error)
        #expect(resolve("leaf", "--name", "-h") == error)
        #expect(resolve("leaf", "--name=--help") == "run jwt leaf")
    }

    @Test("Accepts --version only without a command")
    func version() {
        #expect(resolve("--version") == "version")
        #expect(
            resolve("branch", "--version")
                == "jwt branch: unknown option --version; commands: leaf (see jwt branch --help)"
        )
    }

    @Test("Names an unknown command and the most similar one, unless the text could be a secret")
    func unknownCommands() {
        #expect(resolve("laef") == "jwt: unknown command laef, did you mean leaf? (see jwt --help)")
        #expect(resolve("zzz") == "jwt: unknown command zzz; commands: branch, leaf (see jwt --help)")
        #expect(
            resolve("branch", "laef") == "jwt branch: unknown command laef, did you mean leaf? (see jwt branch --help)"
        )
        #expect(resolve("help", "laef") == "jwt: unknown command laef, did you mean leaf? (see jwt --help)")
        #expect(resolve("--zzz") == "jwt: unknown option --zzz; commands: branch, leaf (see jwt --help)")
        let secret = String(repeating: "eyJ", count: 30)
        #expect(resolve(secret) == "jwt: the first argument is not a command; commands: branch, leaf (see jwt --help)")
        #expect(
            resolve("--key=x") == "jwt: the first argument is not an option; commands: branch, leaf (see jwt --help)"
        )
    }
}
