/// The completion script for fish.
struct FishCompletion {
    let root: CommandDefinition

    /// The script, for a file in `~/.config/fish/completions`.
    var script: String {
        let nodes = CommandNode.all(in: root)
        let paths = nodes.dropFirst().map { "'\($0.words)'" }.joined(separator: " ")
        return """
            # Completions of \(root.name) for fish: save this file as ~/.config/fish/completions/\(root.name).fish
            function __\(root.name)_path
                set -l path \(root.name)
                for word in (commandline -opc)[2..-1]
                    switch "$path $word"
                        case \(paths)
                            set path "$path $word"
                    end
                end
                echo $path
            end
            complete -c \(root.name) -f
            \(nodes.flatMap(lines).joined(separator: "\n"))

            """
    }

    private func lines(of node: CommandNode) -> [String] {
        let start = "complete -c \(root.name) -n \(Self.quoted("test (__\(root.name)_path) = \"\(node.words)\""))"
        var lines = node.command.subcommands.map { "\(start) -a \($0.name) -d \(Self.quoted($0.summary))" }
        for kind in node.command.operands.map(\.kind) {
            switch kind {
            case .text: break
            case .file: lines.append("\(start) -F")
            case .choice(let choices): lines.append("\(start) -a \(Self.quoted(choices.joined(separator: " ")))")
            }
        }
        for option in node.command.allOptions {
            let short = option.shortName.map { " -s \($0)" } ?? ""
            let value =
                switch option.value?.kind {
                case nil: ""
                case .text: " -x"
                case .file: " -r -F"
                case .choice(let choices): " -x -a \(Self.quoted(choices.joined(separator: " ")))"
                }
            lines.append("\(start) -l \(option.longName)\(short)\(value) -d \(Self.quoted(option.summary))")
        }
        return lines
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}
