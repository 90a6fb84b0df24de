/// A command and its path, for generating completions and manual pages.
struct CommandNode {
    /// The path of the command, such as `["jwt", "key", "convert"]`.
    let path: [String]
    let command: CommandDefinition

    /// Returns a command and all of its descendants, in depth-first order.
    static func all(in command: CommandDefinition, path: [String] = []) -> [CommandNode] {
        let node = CommandNode(path: path + [command.name], command: command)
        return [node] + command.subcommands.flatMap { all(in: $0, path: node.path) }
    }

    var words: String { path.joined(separator: " ") }
}
