/// A parsed command line.
enum Invocation {
    /// Help on the command at the path.
    case help(CommandDefinition, path: [String])
    case version
    /// A command group without a subcommand.
    case missingCommand(CommandDefinition, path: [String])
    case run(CommandDefinition.Action, ParsedArguments)

    /// Finds the command and parses its arguments, without the program's name.
    init(_ arguments: [String], root: CommandDefinition) throws(UsageError) {
        self = try Self.resolve(arguments[...], in: root, path: [root.name])
    }

    private static func resolve(
        _ arguments: ArraySlice<String>,
        in command: CommandDefinition,
        path: [String]
    ) throws(UsageError) -> Invocation {
        if let action = command.action {
            let parser = ArgumentParser(path: path, definition: command)
            if parser.asksForHelp(Array(arguments)) { return .help(command, path: path) }
            let parsed = try parser.parse(Array(arguments))
            return parsed.contains(OptionDefinition.help) ? .help(command, path: path) : .run(action, parsed)
        }
        guard let first = arguments.first else { return .missingCommand(command, path: path) }
        let rest = arguments.dropFirst()
        switch first {
        case "--help", "-h":
            return .help(command, path: path)
        case "help":
            return try help(on: rest, in: command, path: path)
        case "--version" where path.count == 1:
            return .version
        default:
            let subcommand = try find(first, in: command, path: path)
            return try resolve(rest, in: subcommand, path: path + [subcommand.name])
        }
    }

    private static func help(
        on names: ArraySlice<String>,
        in command: CommandDefinition,
        path: [String]
    ) throws(UsageError) -> Invocation {
        guard let name = names.first, !name.hasPrefix("-") else { return .help(command, path: path) }
        let subcommand = try find(name, in: command, path: path)
        return try help(on: names.dropFirst(), in: subcommand, path: path + [subcommand.name])
    }

    private static func find(
        _ name: String,
        in command: CommandDefinition,
        path: [String]
    ) throws(UsageError) -> CommandDefinition {
        let commands = command.subcommands + command.hiddenSubcommands
        if let found = commands.first(where: { $0.name == name }) { return found }
        let kind = name.hasPrefix("-") ? "an option" : "a command"
        guard name.count <= 24, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !name.contains("=") else {
            // The message doesn't repeat the argument: it may be a pasted token or secret.
            throw UsageError(path: path, message: "the first argument is not \(kind)" + list(command))
        }
        let nearest = Suggestion.nearest(to: name, in: command.subcommands.map(\.name))
        let advice = nearest.map { ", did you mean \($0)?" } ?? list(command)
        throw UsageError(path: path, message: "unknown \(kind.split(separator: " ").last ?? "") \(name)" + advice)
    }

    private static func list(_ command: CommandDefinition) -> String {
        command.subcommands.isEmpty ? "" : "; commands: " + command.subcommands.map(\.name).joined(separator: ", ")
    }
}
