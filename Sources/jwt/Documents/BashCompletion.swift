/// The completion script for bash.
struct BashCompletion {
    let root: CommandDefinition

    /// The script, for use with `source`.
    var script: String {
        let nodes = CommandNode.all(in: root)
        let paths = nodes.dropFirst().map { "\"\($0.words)\"" }.joined(separator: " | ")
        return """
            # Completions of \(root.name) for bash: source this file, or save it as
            # ~/.local/share/bash-completion/completions/\(root.name)
            _\(root.name)() {
                local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} path=\(root.name) index words=
                COMPREPLY=()
                for ((index = 1; index < COMP_CWORD; index++)); do
                    case "$path ${COMP_WORDS[index]}" in
                        \(paths)) path="$path ${COMP_WORDS[index]}" ;;
                    esac
                done
                case "$path $previous" in
            \(nodes.flatMap(valueCases).joined(separator: "\n"))
                esac
                case "$path" in
            \(nodes.map(wordCase).joined(separator: "\n"))
                esac
                if [[ $current != -* && $words == *@files* ]]; then
                    compopt -o filenames 2>/dev/null
                    COMPREPLY=($(compgen -f -- "$current"))
                    return
                fi
                COMPREPLY=($(compgen -W "${words/@files/}" -- "$current"))
            }
            complete -F _\(root.name) \(root.name)

            """
    }

    private func valueCases(of node: CommandNode) -> [String] {
        node.command.allOptions.compactMap { option in
            guard let value = option.value else { return nil }
            let names = ([option.spelling] + [option.shortSpelling].compactMap(\.self)).map {
                "\"\(node.words) \($0)\""
            }
            let action =
                switch value.kind {
                case .text: "return"
                case .file: "compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$current\")); return"
                case .choice(let choices):
                    "COMPREPLY=($(compgen -W \"\(choices.joined(separator: " "))\" -- \"$current\")); return"
                }
            return "        \(names.joined(separator: " | "))) \(action) ;;"
        }
    }

    private func wordCase(of node: CommandNode) -> String {
        var words = node.command.subcommands.map(\.name)
        for kind in node.command.operands.map(\.kind) {
            switch kind {
            case .choice(let choices): words += choices
            case .file where !words.contains("@files"): words.append("@files")
            case .file, .text: break
            }
        }
        words += node.command.allOptions.map(\.spelling)
        return "        \"\(node.words)\") words=\"\(words.joined(separator: " "))\" ;;"
    }
}
