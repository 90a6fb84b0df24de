/// A command with the names down to it, as completions and manual pages go through them.
struct CommandNode {
    /// `["jwt", "key", "convert"]`.
    let path: [String]
    let command: CommandDefinition

    /// A command and all below it, each before its own subcommands.
    static func all(in command: CommandDefinition, path: [String] = []) -> [CommandNode] {
        let node = CommandNode(path: path + [command.name], command: command)
        return [node] + command.subcommands.flatMap { all(in: $0, path: node.path) }
    }

    var words: String { path.joined(separator: " ") }

    /// What can be typed in the place of an operand, apart from the names of subcommands.
    var operandKinds: [OptionDefinition.ValueKind] { command.operands.map(\.kind) }
}
