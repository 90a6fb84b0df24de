import TokenGeneration

struct ManualCommand {
    static let definition = CommandDefinition(
        name: "manual",
        summary: "Print the manual page",
        discussion: ["The page is generated from the same definitions as the help, in the format of man."],
        examples: [
            "Read the manual": "jwt manual | man -l -",
            "Install the manual": "jwt manual > /usr/local/share/man/man1/jwt.1",
        ],
        exitCodes: [
            0: "The page was printed",
            2: "Standard output is closed",
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let page = ManualPage(root: Program.definition, version: Program.version).text
        try console.print(page, terminator: "", as: "page")
    }
}

struct ManualPage {
    let root: CommandDefinition
    let version: String

    var text: String {
        let name = root.name
        var lines = [
            ".TH \(name.uppercased()) 1 \"\" \"\(name) \(version)\" \"User Commands\"", ".SH NAME",
            "\(name) \\- \(Self.text(root.summary))", ".SH SYNOPSIS", ".B \(name)", "COMMAND [OPTIONS]",
            ".SH DESCRIPTION",
        ]
        lines += root.discussion.flatMap { [".PP", Self.text($0)] }
        lines += [".SH OPTIONS"] + root.allOptions.flatMap(Self.option)
        lines.append(".SH COMMANDS")
        for node in CommandNode.all(in: root).dropFirst() { lines += Self.section(node) }
        lines += [".SH EXAMPLES"] + Self.examples(root)
        lines += [".SH EXIT STATUS"] + Self.exitStatuses(root)
        lines += [".SH ENVIRONMENT"] + Self.terms(Self.variables)
        lines += [".SH FILES"] + Self.terms(Self.files)
        return lines.joined(separator: "\n") + "\n"
    }

    private static let variables: KeyValuePairs = [
        "https_proxy, http_proxy, all_proxy, no_proxy":
            "The proxies for requests, and the hosts without one, as for curl. HTTPS_PROXY, ALL_PROXY and NO_PROXY have the same meanings.",
        "HOME": "The home folder, for the files below.",
        "XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME":
            "The folders instead of ~/.config, ~/.local/state and ~/.cache, if they are absolute paths.",
        "NO_COLOR, TERM": "Output on a terminal has no colors if NO_COLOR isn't empty, or if TERM is dumb.",
        "TZ": "The time zone of the dates that jwt decode and jwt sd show print.",
        "BROWSER": "The program that opens the address for signing in, instead of xdg-open.",
        "VAULT_ADDR, VAULT_NAMESPACE, VAULT_CACERT": "The server for --from vault, as for Vault's own command.",
        "OPENSSL_CONF": "The configuration file of OpenSSL, for providers such as FIPS.",
    ]

    private static let files: KeyValuePairs = [
        "~/.config/jwt/config.json":
            "The profiles of jwt token and jwt request. Other users must not be able to change it.",
        "~/.local/state/jwt/tokens": "The folder of cached tokens, accessible only to you.",
        "~/.cache/jwt/servers": "The metadata of authorization servers, kept for a day.",
        ".jwt-*.tmp": """
        A file that isn't complete yet, in the folder of its final name and accessible only to you until it is. \
        Only SIGKILL, a crash or a power failure leaves one, which can be deleted.
        """,
    ]

    private static func terms(_ terms: KeyValuePairs<String, String>) -> [String] {
        terms.flatMap { [".TP", ".B \(text($0.key))", text($0.value)] }
    }

    private static func section(_ node: CommandNode) -> [String] {
        let command = node.command
        var lines = [
            ".SS \"\(text(HelpText(path: node.path, command: command).usage.dropFirst("Usage: ".count).description))\""
        ]
        lines += [text(command.summary) + "."]
        lines += (command.discussion + command.details).flatMap { [".PP", text($0)] }
        lines += command.operands.flatMap { [".TP", ".I \(text($0.name))", text($0.summary)] }
        if command.action != nil { lines += command.allOptions.flatMap(option) }
        if !command.examples.isEmpty, command.action != nil { lines += [".PP", "Examples:"] + examples(command) }
        return lines
    }

    private static func option(_ option: OptionDefinition) -> [String] {
        let short = option.shortSpelling.map { "\\fB\(text($0))\\fR, " } ?? ""
        let value = option.value.map { " \\fI\(text($0.name))\\fR" } ?? ""
        let repeatable = option.isRepeatable ? " (repeatable)" : ""
        return [".TP", "\(short)\\fB\(text(option.spelling))\\fR\(value)", text(option.summary + repeatable)]
    }

    private static func examples(_ command: CommandDefinition) -> [String] {
        let all = command.examples.map { ($0, $1) } + command.manualExamples.map { ($0, $1) }
        return all.flatMap { title, line in
            let lines = HelpText.commandLine(line).split(separator: "\n").map { text(String($0)) }
            return [".TP", text(title), ".nf"] + lines + [".fi"]
        }
    }

    private static func exitStatuses(_ command: CommandDefinition) -> [String] {
        command.exitStatuses.flatMap { [".TP", ".B \($0.code)", text($0.meaning)] }
    }

    private static func text(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("\"", with: "\\(dq")
            .replacing("'", with: "\\(aq").replacing("`", with: "\\(ga").replacing("^", with: "\\(ha")
            .replacing("~", with: "\\(ti")
            .replacing("…", with: "...").replacing("“", with: "\\(lq").replacing("”", with: "\\(rq")
        let ascii = escaped.unicodeScalars.reduce(into: "") { result, scalar in
            if scalar.isASCII {
                result.unicodeScalars.append(scalar)
            } else {
                let digits = String(scalar.value, radix: 16, uppercase: true)
                result += "\\[u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "]"
            }
        }
        return ascii.hasPrefix(".") ? "\\&" + ascii : ascii
    }
}
