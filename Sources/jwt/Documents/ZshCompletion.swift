/// The completion script for zsh.
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

    /// Escapes the special characters of `_arguments`.
    private static func plain(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("[", with: "\\[").replacing("]", with: "\\]")
            .replacing(":", with: "\\:")
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: "'\\''") + "'"
    }
}
