/// The parsed command line.
struct Arguments {
    enum Suite: String {
        case tokens, scaling, memory, profile, http, oauth, transfers, cli, hostile, charts, engines
    }

    static let usage = """
        usage: bench tokens  [--json] [--only NAME] [--rounds N]
               bench scaling [--json] [--only NAME] [--rounds N]
               bench memory  [--json] [--only NAME] [--seconds N]
               bench http    [--json] [--only NAME] [--rounds N]
               bench oauth   [--json] [--only NAME] [--rounds N]
               bench transfers [--json] [--only download|upload] [--rounds N] [--mebibytes N]
               bench cli     [--json] [--only NAME] [--rounds N] [--tokens N] [--jwt PROGRAM]
               bench engines [--json] [--rounds N]
               bench hostile [--json] [--only NAME]
               bench charts  --from FILE [--into FOLDER]
               bench profile --only "ES256 sign" --seconds N
        NAME is a case or its prefix: "ES256 sign", ES256, RS, "plain 32"; profile also has
        "http transport", "http TLS" and "http client"
        """

    let suite: Suite
    var isJSON = false
    var only: String?
    var rounds = 31
    var seconds = 60
    var mebibytes = 2048
    /// The number of tokens in a batch of the command.
    var tokens = 100_000
    /// The file with the JSON lines that `bench charts` draws.
    var source: String?
    /// The folder into which `bench charts` writes.
    var folder = "Docs/Images"
    /// The path of the `jwt` command, or `nil` to build it.
    var program: String?

    init(_ arguments: [String]) throws {
        guard let first = arguments.first, let suite = Suite(rawValue: first) else {
            throw UsageError(text: "bench: Missing or unknown suite.")
        }
        self.suite = suite
        // A round of the command takes ten seconds.
        if suite == .cli { rounds = 5 }
        var rest = arguments.dropFirst()
        while let option = rest.popFirst() {
            switch option {
            case "--json": isJSON = true
            case "--only": only = try Self.value(of: option, &rest)
            case "--rounds": rounds = try Self.number(of: option, atLeast: 3, &rest)
            case "--mebibytes": mebibytes = try Self.number(of: option, atLeast: 1, &rest)
            case "--tokens": tokens = try Self.number(of: option, atLeast: 1, &rest)
            case "--from": source = try Self.value(of: option, &rest)
            case "--into": folder = try Self.value(of: option, &rest)
            case "--jwt": program = try Self.value(of: option, &rest)
            case "--seconds": seconds = try Self.number(of: option, atLeast: 1, &rest)
            default: throw UsageError(text: "bench: Unknown option \(option).")
            }
        }
    }

    /// Returns a Boolean value that indicates whether a case is selected.
    func wants(_ name: String) -> Bool {
        only.map { name.hasPrefix($0) } ?? true
    }

    private static func value(of option: String, _ rest: inout ArraySlice<String>) throws -> String {
        guard let value = rest.popFirst() else { throw UsageError(text: "bench: \(option) requires a value.") }
        return value
    }

    private static func number(of option: String, atLeast least: Int, _ rest: inout ArraySlice<String>) throws -> Int {
        guard let number = Int(try value(of: option, &rest)), number >= least else {
            throw UsageError(text: "bench: \(option) requires a number of at least \(least).")
        }
        return number
    }
}

/// An error that the program prints with its usage.
struct UsageError: Error {
    let text: String
}
