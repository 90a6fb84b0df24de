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
        let options = command.options.flatMap(\.definitions)
        words += options.filter(\.isRequired).map(\.synopsis)
        if options.contains(where: { !$0.isRequired }) { words.append("[OPTIONS]") }
        words += command.operands.map(\.synopsis)
        return words.joined(separator: " ")
    }

    private var optionSections: [String] {
        var headings: [String] = []
        for option in command.allOptions where !headings.contains(option.section) { headings.append(option.section) }
        return headings.map { heading in
            let options = command.allOptions.filter { $0.section == heading }
            return Self.section(
                heading,
                options.map { option in
                    let short = option.shortSpelling.map { $0 + ", " } ?? ""
                    return (short + option.synopsis, option.summary + (option.isRepeatable ? " (repeatable)" : ""))
                }
            )
        }
    }

    private var examples: String {
        guard !command.examples.isEmpty else { return "" }
        let lines = command.examples.map { "  # \($0.key)\n  \($0.value)" }
        return "Examples:\n" + lines.joined(separator: "\n")
    }

    private var footer: String {
        guard !command.subcommands.isEmpty else { return "" }
        return "Use “\(path.joined(separator: " ")) COMMAND --help” for more about a command."
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
