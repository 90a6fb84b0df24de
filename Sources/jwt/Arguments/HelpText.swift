struct HelpText {
    let path: [String]
    let command: CommandDefinition

    private static let width = 80
    private static let column = 24

    var text: String {
        var parts = [usage, Self.wrapped(command.summary + ".", indent: 0)]
        parts += command.discussion.map { Self.wrapped($0, indent: 0) }
        parts.append(Self.section("Commands", command.subcommands.map { ($0.name, $0.summary) }))
        parts.append(Self.section("Arguments", command.operands.map { ($0.name, $0.summary) }))
        parts += optionSections + [examples]
        parts.append(Self.section("Exit codes", command.exitStatuses.map { (String($0.code), $0.meaning) }, column: 6))
        parts.append(footer)
        return parts.filter { !$0.isEmpty }.joined(separator: "\n\n") + "\n"
    }

    var usage: String {
        var words = ["Usage:"] + path
        if !command.subcommands.isEmpty { words.append("COMMAND") }
        if !command.options.isEmpty { words.append("[OPTIONS]") }
        words += command.operands.map(\.synopsis)
        return words.joined(separator: " ")
    }

    private var optionSections: [String] {
        var headings: [String] = []
        let shown = command.allOptions.filter { $0.visibility == .help }
        let section = { (option: OptionDefinition) in option.brief == nil ? option.section : "Options" }
        for heading in shown.map(section) where !headings.contains(heading) { headings.append(heading) }
        return headings.map { heading in
            let options = shown.filter { section($0) == heading }
            return Self.section(
                heading,
                options.map { option in
                    let short = option.shortSpelling.map { $0 + ", " } ?? ""
                    let summary = option.brief ?? option.summary
                    return (short + option.synopsis, summary + (option.isRepeatable ? " (repeatable)" : ""))
                }
            )
        }
    }

    private var examples: String {
        guard !command.examples.isEmpty else { return "" }
        let lines = command.examples.map { "  # \($0.key)\n  \(Self.commandLine($0.value))" }
        return "Examples:\n" + lines.joined(separator: "\n")
    }

    private var footer: String {
        if command.allOptions.contains(where: { $0.visibility == .manual }) {
            return Self.wrapped("The manual has all options: jwt manual | man -l -", indent: 0)
        }
        guard !command.subcommands.isEmpty else { return "" }
        return "Use “\(path.joined(separator: " ")) COMMAND --help” for more about a command."
    }

    /// Returns a command line that continues on further lines if it's wider than the page.
    static func commandLine(_ text: String) -> String {
        var words = [""]
        var quote: Character?
        for character in text {
            if character == " ", quote == nil {
                words.append("")
                continue
            }
            if character == quote {
                quote = nil
            } else if quote == nil, "'\"".contains(character) {
                quote = character
            }
            words[words.count - 1].append(character)
        }
        var lines: [String] = []
        var line = ""
        for word in words {
            // Two spaces before the line, and a space and a backslash after it.
            if !line.isEmpty, line.count + 1 + word.count > width - 4 {
                lines.append(line + " \\")
                line = "  "
            }
            line += (line.isEmpty || line == "  " ? "" : " ") + word
        }
        return (lines + [line]).joined(separator: "\n  ")
    }

    private static func section(
        _ heading: String,
        _ rows: [(term: String, text: String)],
        column: Int = column
    ) -> String {
        guard !rows.isEmpty else { return "" }
        let lines = rows.map { row in
            let term = "  " + row.term
            let text = wrapped(row.text, indent: column)
            guard term.count + 2 <= column else { return term + "\n" + text }
            return term + text.dropFirst(term.count)
        }
        return "\(heading):\n" + lines.joined(separator: "\n")
    }

    private static func wrapped(_ text: String, indent: Int) -> String {
        let margin = String(repeating: " ", count: indent)
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, indent + line.count + 1 + word.count > width {
                lines.append(margin + line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        lines.append(margin + line)
        return lines.joined(separator: "\n")
    }
}
