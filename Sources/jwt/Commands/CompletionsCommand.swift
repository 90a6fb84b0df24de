import TokenGeneration

struct CompletionsCommand {
    private static let shells = ["bash", "zsh", "fish"]

    static let definition = CommandDefinition(
        name: "completions",
        summary: "Print the completion script for a shell",
        discussion: ["Generated from the same definitions as the help, so it always matches this version."],
        operands: [
            OperandDefinition(name: "SHELL", isRequired: true, kind: .choice(shells), summary: "bash, zsh or fish")
        ],
        examples: [
            "In this bash": "source <(jwt completions bash)",
            "In zsh": "jwt completions zsh > ~/.zfunc/_jwt  # with ~/.zfunc in fpath",
            "In every fish": "jwt completions fish > ~/.config/fish/completions/jwt.fish",
        ],
        exitCodes: [
            0: "The script is printed",
            2: "Standard output is closed",
        ],
        action: { try run($0, $1) }
    )

    private static func run(_ arguments: ParsedArguments, _ console: Console) throws {
        let script: String
        switch arguments.operands.first {
        case "bash": script = BashCompletion(root: Program.definition).script
        case "zsh": script = ZshCompletion(root: Program.definition).script
        case "fish": script = FishCompletion(root: Program.definition).script
        default: throw arguments.usageError("SHELL \(ValueError(expecting: shells).message)")
        }
        try console.print(script, terminator: "", as: "script")
    }
}

struct CommandNode {
    let path: [String]
    let command: CommandDefinition

    static func all(in command: CommandDefinition, path: [String] = []) -> [CommandNode] {
        let node = CommandNode(path: path + [command.name], command: command)
        return [node] + command.subcommands.flatMap { all(in: $0, path: node.path) }
    }

    var words: String { path.joined(separator: " ") }
}

struct BashCompletion {
    let root: CommandDefinition

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

struct ZshCompletion {
    let root: CommandDefinition

    /// The script, for a file named `_jwt` in a folder of `fpath`.
    var script: String {
        let functions = CommandNode.all(in: root).map { node in
            node.command.subcommands.isEmpty ? leaf(node) : group(node)
        }
        return """
            #compdef \(root.name)
            # Completions of \(root.name) for zsh: save this file as _\(root.name) in a folder of $fpath
            \(functions.joined(separator: "\n"))
            _\(root.name) "$@"

            """
    }

    private func group(_ node: CommandNode) -> String {
        let commands = node.command.subcommands.map { Self.quoted("\($0.name):\(Self.plain($0.summary))") }
        let cases = node.command.subcommands.map { "        \($0.name)) \(Self.function(node.path + [$0.name])) ;;" }
        return """
            \(Self.function(node.path))() {
                local context state state_descr line
                typeset -A opt_args
                _arguments -C \\
                    \(options(node).joined(separator: " \\\n        ")) \\
                    '1: :->command' '*:: :->arguments'
                case $state in
                command)
                    local -a commands
                    commands=(\(commands.joined(separator: " ")))
                    _describe -t commands '\(node.words) command' commands
                    ;;
                arguments)
                    case $line[1] in
            \(cases.joined(separator: "\n"))
                    esac
                    ;;
                esac
            }
            """
    }

    private func leaf(_ node: CommandNode) -> String {
        let operands = node.command.operands.enumerated().map { index, operand in
            let colon = operand.isRequired ? ":" : "::"
            return Self.quoted("\(index + 1)\(colon)\(Self.plain(operand.name)):\(Self.action(operand.kind))")
        }
        return """
            \(Self.function(node.path))() {
                _arguments -s \\
                    \((options(node) + operands).joined(separator: " \\\n        "))
            }
            """
    }

    private func options(_ node: CommandNode) -> [String] {
        node.command.allOptions.map { option in
            let repetition = option.isRepeatable ? "*" : ""
            let help = "[\(Self.plain(option.summary))]"
            let value = option.value.map { ":\(Self.plain($0.name)):\(Self.action($0.kind))" } ?? ""
            let equals = option.value == nil ? "" : "="
            let long = Self.quoted("\(option.spelling)\(equals)\(help)\(value)")
            guard let short = option.shortSpelling else {
                return repetition.isEmpty ? long : Self.quoted("*\(option.spelling)\(equals)\(help)\(value)")
            }
            let plus = option.value == nil ? "" : "+"
            let exclusion = option.isRepeatable ? "'*'" : Self.quoted("(\(short) \(option.spelling))")
            return "\(exclusion){\(short)\(plus),\(option.spelling)\(equals)}\(Self.quoted(help + value))"
        }
    }

    private static func action(_ kind: OptionDefinition.ValueKind) -> String {
        switch kind {
        case .text: " "
        case .file: "_files"
        case .choice(let choices): "(\(choices.joined(separator: " ")))"
        }
    }

    private static func function(_ path: [String]) -> String { "_" + path.joined(separator: "_") }

    private static func plain(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("[", with: "\\[").replacing("]", with: "\\]")
            .replacing(":", with: "\\:")
    }

    private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }
}

struct FishCompletion {
    let root: CommandDefinition

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
